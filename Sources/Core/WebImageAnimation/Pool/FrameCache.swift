internal import WebImageCore

/// The decoded frames of a pool, the requests of its players, and the choice of what to decode and what to remove. A
/// value without a lock.
///
///     frames   0   1   2   3   4   5   6   7   8   9          capacity 5, one player on 3, playing forwards
///                          ▲───────────────┤                  window: kept, and decoded ahead in this order
///              removed ────┘
///
/// - If all frames fit, none is removed.
/// - Backwards, frames are decoded in runs, forwards from a keyframe or a reader's canvas. A run begins only when half
///   of the window is used up: it costs as much as its last frame alone would.
struct FrameCache {
    /// The maximum number of frames decoded ahead.
    static let depthLimit = 512

    /// A player.
    struct Client {
        let number: Int
        var request: FrameRequest?
        /// Grows with each awaited frame: the player that waits longest is served first.
        var waitingSince = 0
        let receive: @Sendable (Int, FrameResult) -> Void
    }

    private(set) var results: [Int: FrameResult] = [:]
    private var isPresent: [Bool]
    private(set) var byteCount = 0
    private(set) var frameByteCount: Int
    /// Failures that may be retried.
    private var failuresToForget: Set<Int> = []
    /// In the order in which they joined.
    private var clients: [Client] = []
    private var lastNumber = 0

    /// - Parameter frameByteCount: an estimate until there are frames.
    init(frameCount: Int, frameByteCount: Int) {
        isPresent = [Bool](repeating: false, count: frameCount)
        self.frameByteCount = max(1, frameByteCount)
    }

    var frameCount: Int { isPresent.count }

    /// Whether a player has a request.
    var isActive: Bool { clients.contains { $0.request != nil } }

    /// Whether another player has a request.
    func isRequested(besides number: Int) -> Bool { clients.contains { $0.number != number && $0.request != nil } }

    /// Whether the player is the first one with a request.
    func isFirstActive(_ number: Int) -> Bool { firstActive?.number == number }

    /// The first player with a request.
    private var firstActive: Client? { clients.first { $0.request != nil } }

    /// The request of a player.
    func request(ofClient number: Int) -> FrameRequest? { clients.first { $0.number == number }?.request }

    /// The size of all frames, in bytes.
    var neededByteCount: Int {
        let (product, overflow) = frameByteCount.multipliedReportingOverflow(by: frameCount)
        return overflow ? .max : product
    }

    // MARK: Frames

    mutating func store(_ result: FrameResult, at index: Int) {
        remove(index)
        results[index] = result
        isPresent[index] = true
        byteCount += result.byteCount
        frameByteCount = max(frameByteCount, result.byteCount)
        if case .failed(.outOfResources(.memory, _)) = result { failuresToForget.insert(index) }
    }

    mutating func remove(_ index: Int) {
        guard let result = results.removeValue(forKey: index) else { return }
        isPresent[index] = false
        byteCount -= result.byteCount
        failuresToForget.remove(index)
    }

    /// Removes frames beyond `capacity`, first those that are not requested. The awaited frame has been delivered.
    mutating func trim(to capacity: Int) {
        guard results.count > capacity else { return }
        let windows = windows(capacity)
        guard let request = firstActive?.request else {
            for index in results.keys.sorted().dropFirst(capacity) { remove(index) }
            return
        }
        // Then the frame that the first player will need last.
        func distance(_ index: Int) -> Int {
            let distance = request.order.entry(of: index) - request.entry
            return distance < 0 ? distance + request.order.entryCount : distance
        }
        func comesFirst(_ first: Int, _ second: Int) -> Bool {
            let (isFirstRequested, isSecondRequested) = (windows.contains(first), windows.contains(second))
            return isFirstRequested == isSecondRequested ? distance(first) > distance(second) : isSecondRequested
        }
        // After adding one frame, remove one without sorting, which would be slow with thousands of frames.
        if results.count == capacity + 1, let index = results.keys.min(by: comesFirst) { return remove(index) }
        for index in results.keys.sorted(by: comesFirst).prefix(results.count - capacity) { remove(index) }
    }

    /// Continues with a longer version of the source.
    mutating func extend(to frameCount: Int) {
        isPresent += [Bool](repeating: false, count: max(0, frameCount - isPresent.count))
    }

    // MARK: Players

    mutating func addClient(_ receive: @escaping @Sendable (Int, FrameResult) -> Void) -> Int {
        lastNumber += 1
        clients.append(Client(number: lastNumber, receive: receive))
        return lastNumber
    }

    mutating func removeClient(_ number: Int) { clients.removeAll { $0.number == number } }

    mutating func setRequest(_ request: FrameRequest?, ofClient number: Int) {
        guard let index = clients.firstIndex(where: { $0.number == number }) else { return }
        let former = clients[index].request
        if request?.needsFrame == true, former?.needsFrame != true || former?.frame != request?.frame {
            lastNumber += 1
            clients[index].waitingSince = lastNumber
        }
        clients[index].request = request
        for index in failuresToForget where index != request?.frame { remove(index) }
    }

    /// Returns the receivers of players that wait for a frame. Those that wait for this one stop waiting.
    mutating func receivers(of index: Int) -> [@Sendable (Int, FrameResult) -> Void] {
        var receivers: [@Sendable (Int, FrameResult) -> Void] = []
        for place in clients.indices where clients[place].request?.needsFrame == true {
            receivers.append(clients[place].receive)
            if clients[place].request?.frame == index { clients[place].request?.needsFrame = false }
        }
        return receivers
    }

    // MARK: Choice

    /// Returns the frame to decode next, and whether a player waits for it.
    ///
    /// - Parameters:
    ///   - capacity: the number of frames that fit.
    ///   - start: where composing a frame begins.
    func next(capacity: Int, start: (Int) -> Int) -> (index: Int, isUrgent: Bool)? {
        guard results.count < frameCount else { return nil }
        let windows = windows(capacity)
        let hasRoom = results.count < capacity || results.keys.contains { !windows.contains($0) }
        if let target = awaitedFrame {
            return (hasRoom ? firstMissing(in: start(target)...target, windows) : target, true)
        }
        guard hasRoom else { return nil }
        guard let target = upcomingFrame(windows.depth) ?? (windows.holdsAll ? frameToPreload : nil) else { return nil }
        return (firstMissing(in: start(target)...target, windows), false)
    }

    /// The frame that was awaited longest.
    private var awaitedFrame: Int? {
        var longest: (since: Int, frame: Int)?
        for client in clients {
            guard let request = client.request, request.needsFrame, !isPresent[request.frame] else { continue }
            if client.waitingSince < longest?.since ?? .max { longest = (client.waitingSince, request.frame) }
        }
        return longest?.frame
    }

    /// The missing frame that is needed first.
    private func upcomingFrame(_ depth: Int) -> Int? {
        var nearest: (distance: Int, frame: Int)?
        for request in clients.compactMap(\.request) where request.upcomingCount > 0 {
            var entry = request.entry
            for distance in 1...max(1, min(depth, request.upcomingCount, request.order.entryCount)) {
                if let nearest, nearest.distance <= distance { break }
                let descends = request.order.descends(after: entry)
                entry = request.order.entry(1, after: entry)
                let frame = request.order.frame(at: entry)
                guard !isPresent[frame] else { continue }
                if !descends || distance <= max(1, depth / 2) { nearest = (distance, frame) }
                break
            }
        }
        return nearest?.frame
    }

    private var frameToPreload: Int? {
        clients.contains { $0.request?.preloadsAll == true } ? isPresent.firstIndex(of: false) : nil
    }

    /// The first missing frame on the way to the last of `frames` that is worth keeping, or the last one.
    private func firstMissing(in frames: ClosedRange<Int>, _ windows: Windows) -> Int {
        frames.first { !isPresent[$0] && windows.contains($0) } ?? frames.upperBound
    }

    // MARK: Windows

    /// The requested frames.
    private struct Windows {
        let holdsAll: Bool
        let depth: Int
        var ranges: [Range<Int>] = []

        func contains(_ index: Int) -> Bool { holdsAll || ranges.contains { $0.contains(index) } }
    }

    private func windows(_ capacity: Int) -> Windows {
        let requests = clients.compactMap(\.request)
        let holdsAll = capacity >= frameCount
        // Players within two frames of each other share a window.
        let places = requests.map(\.frame).sorted()
        let groupCount = zip(places, places.dropFirst()).reduce(1) { $1.1 - $1.0 > 2 ? $0 + 1 : $0 }
        let depth = max(1, min(Self.depthLimit, capacity / groupCount))
        var windows = Windows(holdsAll: holdsAll, depth: depth)
        if !holdsAll { windows.ranges = requests.flatMap { $0.frames(depth: depth) } }
        return windows
    }
}

/// The frames that a player requests of its pool.
struct FrameRequest {
    var order: FrameOrder
    /// The entry at the playhead.
    var entry: Int
    /// Whether it waits for the frame of that entry.
    var needsFrame: Bool
    /// The number of entries that follow; 0 if it does not play, `Int.max` for no end.
    var upcomingCount: Int
    /// Whether all frames are to be decoded if they fit.
    var preloadsAll: Bool

    /// The frame of ``entry``.
    var frame: Int { order.frame(at: entry) }

    /// The next frames it needs, at most `depth`.
    func frames(depth: Int) -> [Range<Int>] {
        let ahead = min(depth - (needsFrame ? 1 : 0), upcomingCount)
        return needsFrame
            ? order.frames(from: entry, count: ahead + 1)
            : order.frames(from: order.entry(1, after: entry), count: ahead)
    }
}

enum FrameResult {
    case image(PixelBuffer)
    case failed(WebImageError)

    var byteCount: Int {
        switch self {
        case .image(let pixels): pixels.byteCount
        case .failed: 0
        }
    }
}
