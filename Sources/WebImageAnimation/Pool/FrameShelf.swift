internal import WebImageCore

/// The decoded frames of a pool, what its players want, and the choice of what to decode and what to let go.
///
/// It is a value without a lock: ``FramePool`` has that.
///
///     frames   0   1   2   3   4   5   6   7   8   9          capacity 5, one player on 3, playing forwards
///                          ▲───────────────┤                  window: kept, and decoded ahead in this order
///              let go ─────┘
///
/// - Where all frames fit, none is let go.
/// - Backwards, frames are decoded in runs, from a keyframe or a reader's canvas forwards, and a run begins only when half
///   of the window is used up: a run costs as much as its last frame alone would.
struct FrameShelf {
    /// How far frames are decoded ahead, at most, whatever the room.
    static let depthLimit = 512

    /// A player.
    struct Seat {
        var want: FrameWant?
        /// Grows with each frame that is waited for: who waits longest is served first.
        var waitingSince = 0
        let receive: @Sendable (Int, FrameResult) -> Void
    }

    private(set) var results: [Int: FrameResult] = [:]
    private var isPresent: [Bool]
    private(set) var byteCount = 0
    private(set) var frameByteCount: Int
    /// Frames that may be tried again.
    private var failuresToForget: Set<Int> = []
    private(set) var seats: [Int: Seat] = [:]
    private var lastNumber = 0

    /// - Parameter frameByteCount: a guess, until there are frames.
    init(frameCount: Int, frameByteCount: Int) {
        isPresent = [Bool](repeating: false, count: frameCount)
        self.frameByteCount = max(1, frameByteCount)
    }

    var frameCount: Int { isPresent.count }

    /// Whether anybody wants anything.
    var isActive: Bool { seats.values.contains { $0.want != nil } }

    /// Whether anybody else wants anything.
    func isWanted(besides number: Int) -> Bool { seats.contains { $0.key != number && $0.value.want != nil } }

    /// Whether it wants something, and is the first of those that do.
    func isFirstToWant(_ number: Int) -> Bool {
        seats[number]?.want != nil && !seats.contains { $0.key < number && $0.value.want != nil }
    }

    /// What all frames take, in bytes.
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
        if case .failed(.outOfMemory) = result { failuresToForget.insert(index) }
    }

    mutating func remove(_ index: Int) {
        guard let result = results.removeValue(forKey: index) else { return }
        isPresent[index] = false
        byteCount -= result.byteCount
        failuresToForget.remove(index)
    }

    /// Removes frames until there are no more than `capacity`: first those that nobody wants. Who waited for one has it.
    mutating func trim(to capacity: Int) {
        guard results.count > capacity else { return }
        let windows = windows(capacity)
        guard let want = seats.filter({ $0.value.want != nil }).min(by: { $0.key < $1.key })?.value.want else {
            for index in results.keys.sorted().dropFirst(capacity) { remove(index) }
            return
        }
        // Of those alike, the one goes first that the first player will want last.
        func distance(_ index: Int) -> Int {
            let distance = want.order.entry(of: index) - want.entry
            return distance < 0 ? distance + want.order.entryCount : distance
        }
        func goesBefore(_ first: Int, _ second: Int) -> Bool {
            let (isFirstWanted, isSecondWanted) = (windows.contains(first), windows.contains(second))
            return isFirstWanted == isSecondWanted ? distance(first) > distance(second) : isSecondWanted
        }
        // One has come, one goes: no order is needed for that, which would take its time with thousands of frames.
        if results.count == capacity + 1, let index = results.keys.min(by: goesBefore) { return remove(index) }
        for index in results.keys.sorted(by: goesBefore).prefix(results.count - capacity) { remove(index) }
    }

    /// Goes over to a longer version of the source.
    mutating func extend(to frameCount: Int) {
        isPresent += [Bool](repeating: false, count: max(0, frameCount - isPresent.count))
    }

    // MARK: Players

    mutating func addSeat(_ receive: @escaping @Sendable (Int, FrameResult) -> Void) -> Int {
        lastNumber += 1
        seats[lastNumber] = Seat(receive: receive)
        return lastNumber
    }

    mutating func removeSeat(_ number: Int) { seats[number] = nil }

    mutating func setWant(_ want: FrameWant?, ofSeat number: Int) {
        guard var seat = seats[number] else { return }
        let isNew = want?.needsFrame == true && (seat.want?.needsFrame != true || seat.want?.frame != want?.frame)
        if isNew {
            lastNumber += 1
            seat.waitingSince = lastNumber
        }
        seat.want = want
        seats[number] = seat
        for index in failuresToForget where index != want?.frame { remove(index) }
    }

    /// Those who wait for a frame. Who gets the one it waits for waits no more.
    mutating func receivers(of index: Int) -> [@Sendable (Int, FrameResult) -> Void] {
        var receivers: [@Sendable (Int, FrameResult) -> Void] = []
        for (number, seat) in seats where seat.want?.needsFrame == true {
            receivers.append(seat.receive)
            if seat.want?.frame == index { seats[number]?.want?.needsFrame = false }
        }
        return receivers
    }

    // MARK: Choice

    /// The frame to decode next, and whether somebody waits for it; `nil` for none.
    ///
    /// - Parameters:
    ///   - capacity: how many frames there is room for.
    ///   - start: where composing begins for a frame.
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

    /// What somebody has waited for longest.
    private var awaitedFrame: Int? {
        let waiting = seats.values.filter { seat in
            guard let want = seat.want else { return false }
            return want.needsFrame && !isPresent[want.frame]
        }
        return waiting.min { $0.waitingSince < $1.waitingSince }?.want?.frame
    }

    /// The missing frame that will be wanted first.
    private func upcomingFrame(_ depth: Int) -> Int? {
        var nearest: (distance: Int, frame: Int)?
        for want in seats.values.compactMap(\.want) where want.upcomingCount > 0 {
            var entry = want.entry
            for distance in 1...max(1, min(depth, want.upcomingCount, want.order.entryCount)) {
                if let nearest, nearest.distance <= distance { break }
                let descends = want.order.descends(after: entry)
                entry = want.order.entry(1, after: entry)
                let frame = want.order.frame(at: entry)
                guard !isPresent[frame] else { continue }
                if !descends || distance <= max(1, depth / 2) { nearest = (distance, frame) }
                break
            }
        }
        return nearest?.frame
    }

    private var frameToPreload: Int? {
        seats.values.contains { $0.want?.preloadsAll == true } ? isPresent.firstIndex(of: false) : nil
    }

    /// What comes first on the way to the last frame of `frames` and is worth keeping; the last one itself in any case.
    private func firstMissing(in frames: ClosedRange<Int>, _ windows: Windows) -> Int {
        frames.first { !isPresent[$0] && windows.contains($0) } ?? frames.upperBound
    }

    // MARK: Windows

    /// The frames that are wanted.
    private struct Windows {
        let holdsAll: Bool
        let depth: Int
        var ranges: [Range<Int>] = []

        func contains(_ index: Int) -> Bool { holdsAll || ranges.contains { $0.contains(index) } }
    }

    private func windows(_ capacity: Int) -> Windows {
        let wants = seats.values.compactMap(\.want)
        let holdsAll = capacity >= frameCount
        // Players that are within two frames of each other share a window.
        let places = wants.map(\.frame).sorted()
        let groupCount = zip(places, places.dropFirst()).reduce(1) { $1.1 - $1.0 > 2 ? $0 + 1 : $0 }
        let depth = max(1, min(Self.depthLimit, capacity / groupCount))
        var windows = Windows(holdsAll: holdsAll, depth: depth)
        if !holdsAll { windows.ranges = wants.flatMap { $0.frames(depth: depth) } }
        return windows
    }
}
