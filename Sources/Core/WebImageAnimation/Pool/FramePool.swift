internal import WebImageCoding
package import WebImageCore
internal import WebImageProcessing

/// The decoded frames of one animation at one size, shared by all its players.
///
/// ``FramePools`` finds the pool by the identity of the source, the size and the processor. If all frames fit in
/// memory, each is decoded once. Otherwise, a window of frames moves with each player, in its direction.
///
/// ```
///  player ── request ──▶ FramePool ── decode, scale, process ──▶ FrameCache ── frame ──▶ players that wait
///  player ── request ──▶     │            one at a time, on                      │
///                            │            the threads for decoding               └─ frames not requested are removed
///                            └─ allowance ── FramePools: a number of bytes for all pools
/// ```
///
/// Frames are decoded only while a visible player requests some.
package final class FramePool: Sendable {
    /// Before the processor, in pixels.
    package let frameSize: PixelSize

    private let group: FramePools
    let number: Int
    private let processor: ImageProcessor?
    private let scale: Double
    private let state: Lock<State>

    private struct State {
        var source: any AnimationSource
        var cache: FrameCache
        var readers: FrameReaders
        var recovery = PressureRecovery()
        /// The priorities at which work is queued.
        var queued: Set<LoadPriority> = []
        /// The frame being decoded.
        var job: (index: Int, cancellation: Cancellation)?
        var decodedFrameCount = 0
        var failedFrameCount = 0
    }

    init(
        _ source: any AnimationSource, frameSize: PixelSize, processor: ImageProcessor?, scale: Double,
        number: Int, group: FramePools
    ) {
        self.frameSize = frameSize
        self.processor = processor
        self.scale = scale
        self.number = number
        self.group = group
        state = Lock(
            State(
                source: source,
                cache: FrameCache(frameCount: source.frameCount, frameByteCount: frameSize.decodedByteCount),
                readers: FrameReaders(source)))
    }

    deinit { group.forget(number) }

    /// The state of a pool.
    package struct Statistics: Sendable, Hashable {
        package var frameCount: Int
        package var byteCount: Int
        /// Of the canvases on which frames are composed.
        var canvasByteCount: Int
        /// How often a frame was decoded, with or without success.
        package var decodedFrameCount: Int
        var failedFrameCount: Int
    }

    package var statistics: Statistics {
        state.withLock { state in
            Statistics(
                frameCount: state.cache.results.count, byteCount: state.cache.byteCount,
                canvasByteCount: state.readers.byteCount, decodedFrameCount: state.decodedFrameCount,
                failedFrameCount: state.failedFrameCount)
        }
    }

    /// The memory of frames and canvases, in bytes.
    package var byteCount: Int { state.withLock { $0.cache.byteCount + $0.readers.byteCount } }

    /// Returns a frame if it is decoded.
    package func frame(at index: Int) -> PixelBuffer? {
        if case .image(let pixels) = result(at: index) { pixels } else { nil }
    }

    /// Removes all frames; those that players request are decoded again.
    package func removeAll() {
        // Memory is released outside the lock.
        let kept = state.withLock { state in
            defer {
                for index in Array(state.cache.results.keys) { state.cache.remove(index) }
                state.readers.removeAll()
            }
            return (state.cache.results, state.readers)
        }
        withExtendedLifetime(kept) {}
        decodeIfNeeded()
    }
}

// MARK: Players

extension FramePool {
    /// Adds a player.
    ///
    /// - Parameter receive: gets frames while the player waits for one, usually that one; called on a thread for
    ///   decoding.
    /// - Returns: its number.
    func attach(_ receive: @escaping @Sendable (Int, FrameResult) -> Void) -> Int {
        state.withLock { $0.cache.addClient(receive) }
    }

    func detach(_ client: Int) {
        request(nil, client: client)
        state.withLock { $0.cache.removeClient(client) }
    }

    func result(at index: Int) -> FrameResult? { state.withLock { $0.cache.results[index] } }

    /// Sets the request of a player.
    ///
    /// - Parameters:
    ///   - request: `nil` if it does not play or is invisible.
    ///   - jumps: whether its position changed unexpectedly, so that the current work may be in vain.
    /// - Returns: the frame it waits for, if it is decoded.
    @discardableResult
    func request(_ request: FrameRequest?, client: Int, jumps: Bool = false) -> FrameResult? {
        let (result, changedActivity): (FrameResult?, Bool?) = state.withLock { state in
            let wasActive = state.cache.isActive
            var request = request
            let result = request.flatMap { $0.needsFrame ? state.cache.results[$0.frame] : nil }
            if result != nil { request?.needsFrame = false }
            let formerEntry = state.cache.request(ofClient: client)?.entry
            state.cache.setRequest(request, ofClient: client)
            if let request, request.entry != formerEntry, state.cache.isFirstActive(client) {
                state.recovery.step(upTo: state.cache.frameCount)
            }
            let isActive = state.cache.isActive
            // Work without a request is cancelled; work that is slightly late is still useful.
            let isInVain = jumps && state.job?.index != request?.frame && !state.cache.isRequested(besides: client)
            if !isActive || isInVain { state.job?.cancellation.cancel() }
            // A player that is paused and seeks, or waits for more data, continues on its canvas.
            if !isActive { state.readers.keepLast() }
            if wasActive, !isActive { state.cache.trim(to: capacity(state)) }
            return (result, isActive == wasActive ? nil : isActive)
        }
        if let changedActivity { group.setActive(changedActivity, pool: number) }
        decodeIfNeeded()
        return result
    }

    /// Removes all frames unless another player requests some.
    func removeAll(unlessRequestedBesides client: Int) {
        if !state.withLock({ $0.cache.isRequested(besides: client) }) { removeAll() }
    }

    /// Adds a frame that was decoded elsewhere.
    func seed(_ pixels: PixelBuffer, at index: Int) {
        guard pixels.size == frameSize, processor == nil else { return }
        state.withLock { state in
            guard state.cache.results[index] == nil, index < state.cache.frameCount else { return }
            state.cache.store(.image(pixels), at: index)
        }
    }

    /// Continues with a longer version of the source; ignores a shorter one.
    func extend(to source: any AnimationSource) {
        let needed: Int? = state.withLock { state in
            guard source.frameCount > state.source.frameCount || source.isComplete && !state.source.isComplete else {
                return nil
            }
            state.source = source
            state.cache.extend(to: source.frameCount)
            state.readers.extend(to: source)
            return state.cache.neededByteCount
        }
        guard let needed else { return }
        group.setNeeded(needed, pool: number)
        decodeIfNeeded()
    }
}

// MARK: Decoding

extension FramePool {
    private struct Job {
        let index: Int
        /// Where composing began.
        let start: Int
        let reader: FrameReaders.Reader
        let cancellation: Cancellation
    }

    /// Queues work if there is some and none is in progress.
    private func decodeIfNeeded() {
        let priority: LoadPriority? = state.withLock { state in
            guard state.job == nil, let next = next(state) else { return nil }
            // A frame that a player waits for has the priority of new images: with a higher one, a slow animation would
            // block them. Frames for later come after them. If one becomes urgent, other work overtakes it and takes
            // the next frame.
            let priority: LoadPriority = next.isUrgent ? .normal : .low
            guard state.queued.allSatisfy({ $0 < priority }) else { return nil }
            state.queued.insert(priority)
            return priority
        }
        guard let priority else { return }
        group.submit(priority) { [weak self] in self?.decode(priority) }
    }

    private func next(_ state: borrowing State) -> (index: Int, isUrgent: Bool)? {
        guard state.cache.isActive else { return nil }
        let readers = state.readers
        return state.cache.next(capacity: capacity(state)) { readers.start(for: $0) }
    }

    /// The number of frames that fit; at least two while a player is active, one to show and the next.
    private func capacity(_ state: borrowing State) -> Int {
        max(
            state.cache.isActive ? 2 : 0,
            min(group.allowance(ofPool: number) / state.cache.frameByteCount, state.recovery.ceiling))
    }

    /// Decodes the most urgent frame, then yields to other pools.
    private func decode(_ priority: LoadPriority) {
        let job: Job? = state.withLock { state in
            state.queued.remove(priority)
            // The work in progress continues by itself.
            guard state.job == nil, let next = next(state) else { return nil }
            let cancellation = Cancellation()
            state.job = (next.index, cancellation)
            return Job(
                index: next.index, start: state.readers.start(for: next.index),
                reader: state.readers.take(for: next.index), cancellation: cancellation)
        }
        guard let job else { return }
        let result: FrameResult
        do throws(WebImageError) {
            result = .image(try image(of: job))
        } catch {
            result = .failed(error)
        }
        finish(job, with: result)
    }

    private func image(of job: Job) throws(WebImageError) -> PixelBuffer {
        let decoded = try job.reader.reader.frame(at: job.index, cancellation: job.cancellation)
        let scaled = try decoded.resampled(to: frameSize, cancellation: job.cancellation)
        guard let processor else { return scaled }
        return try processor.processPixels(scaled, scale: scale, cancellation: job.cancellation)
    }

    private func finish(_ job: Job, with result: FrameResult) {
        // If a source or processor throws `cancelled` by itself, the frame counts as failed, so that it is not tried
        // forever.
        let isCancelled = if case .failed(.cancelled) = result { job.cancellation.isCancelled } else { false }
        let (receivers, needed) = state.withLock { state -> ([@Sendable (Int, FrameResult) -> Void], Int?) in
            state.job = nil
            state.readers.put(job.reader, next: isCancelled ? job.start : job.index + 1)
            if !state.cache.isActive { state.readers.keepLast() }
            guard !isCancelled else { return ([], nil) }
            state.decodedFrameCount += 1
            if case .failed = result { state.failedFrameCount += 1 }
            let formerSize = state.cache.frameByteCount
            state.cache.store(result, at: job.index)
            let receivers = state.cache.receivers(of: job.index)
            state.cache.trim(to: capacity(state))
            // All frames are decoded: canvases are not needed.
            if state.source.isComplete, state.cache.results.count == state.cache.frameCount {
                state.readers.removeAll()
            }
            return (receivers, state.cache.frameByteCount == formerSize ? nil : state.cache.neededByteCount)
        }
        if let needed { group.setNeeded(needed, pool: number) }
        for receive in receivers { receive(job.index, result) }
        decodeIfNeeded()
    }
}

// MARK: Memory

extension FramePool {
    /// The size of all frames, in bytes.
    var neededByteCount: Int { state.withLock { $0.cache.neededByteCount } }

    /// Keeps to its allowance after a change.
    func trim() {
        state.withLock { $0.cache.trim(to: capacity($0)) }
        // A larger allowance may let it continue.
        decodeIfNeeded()
    }

    /// Releases memory; it is taken again gradually.
    func respond(to level: MemoryPressureLevel) {
        state.withLock { state in
            state.recovery.begin(level, frameCount: state.cache.results.count)
            state.readers.removeAll()
            state.cache.trim(to: capacity(state))
        }
    }
}

/// Limits a pool after memory pressure: it keeps the reduced number of frames for a while, then one more for each shown
/// frame.
///
/// Steps are counted, not time, so that a paused animation takes no memory back.
struct PressureRecovery {
    /// Steps without a change: some seconds of a usual animation.
    static let holdCount = 60

    /// The maximum number of frames; `Int.max` without pressure.
    private(set) var ceiling = Int.max
    private var holdsFor = 0

    /// Keeps half of the frames after a warning, and two under critical pressure.
    mutating func begin(_ level: MemoryPressureLevel, frameCount: Int) {
        ceiling = min(ceiling, level == .critical ? 2 : max(2, frameCount / 2))
        holdsFor = Self.holdCount
    }

    /// Called when the first player moves on.
    mutating func step(upTo frameCount: Int) {
        guard ceiling != .max else { return }
        guard holdsFor == 0 else { return holdsFor -= 1 }
        ceiling = ceiling + 1 >= frameCount ? .max : ceiling + 1
    }
}
