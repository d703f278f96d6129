internal import WebImageCoding
public import WebImageCore

/// The decoded frames of one animation at one size, shared by all players that show it.
///
/// Twenty views of one GIF decode each frame once: a ``FramePools`` gives all of them the same pool, found by the identity of
/// the source, the size and the processor. Where all frames fit, they are kept and nothing is decoded any more; else
/// there is a window of frames that moves with each player, in its direction.
///
/// ```
///  player ── wants ──▶ FramePool ── decode, scale, process ──▶ FrameShelf ── frame ──▶ players that wait
///  player ── wants ──▶     │           one at a time, on                       │
///                          │           the threads for such work               └─ those nobody wants go
///                          └─ allowance ── FramePools: so many bytes for all pools
/// ```
///
/// Frames are decoded while a visible player wants some, and only then.
public final class FramePool: Sendable {
    /// The size of its frames before the processor, in pixels.
    public let frameSize: PixelSize

    private let group: FramePools
    let number: Int
    private let processor: FrameProcessor?
    private let state: Lock<State>

    private struct State {
        var source: any AnimationSource
        var shelf: FrameShelf
        var readers: FrameReaders
        var recovery = PressureRecovery()
        /// The priorities at which a piece of work is queued.
        var queued: Set<LoadPriority> = []
        /// What is being decoded.
        var job: (index: Int, cancellation: Cancellation)?
        var decodedFrameCount = 0
        var failedFrameCount = 0
    }

    init(
        _ source: any AnimationSource, frameSize: PixelSize, processor: FrameProcessor?, number: Int, group: FramePools
    ) {
        self.frameSize = frameSize
        self.processor = processor
        self.number = number
        self.group = group
        state = Lock(
            State(
                source: source,
                shelf: FrameShelf(frameCount: source.frameCount, frameByteCount: frameSize.decodedByteCount),
                readers: FrameReaders(source)))
    }

    deinit { group.forget(number) }

    /// What a pool has and has done.
    public struct Statistics: Sendable, Hashable {
        /// How many frames it keeps.
        public var frameCount: Int
        /// What they take, in bytes.
        public var byteCount: Int
        /// What the canvases take on which frames are composed, in bytes.
        public var canvasByteCount: Int
        /// How often a frame was decoded, whole or in vain.
        public var decodedFrameCount: Int
        /// How often in vain.
        public var failedFrameCount: Int
    }

    /// What it has and has done so far.
    public var statistics: Statistics {
        state.withLock { state in
            Statistics(
                frameCount: state.shelf.results.count, byteCount: state.shelf.byteCount,
                canvasByteCount: state.readers.byteCount, decodedFrameCount: state.decodedFrameCount,
                failedFrameCount: state.failedFrameCount)
        }
    }

    /// The memory it takes, in bytes: frames and canvases.
    public var byteCount: Int { state.withLock { $0.shelf.byteCount + $0.readers.byteCount } }

    /// A frame, if it is there; it is not decoded for that.
    public func frame(at index: Int) -> PixelBuffer? {
        if case .picture(let pixels) = result(at: index) { pixels } else { nil }
    }

    /// Lets all frames go that it keeps; those that players still want are decoded again.
    public func removeAll() {
        // Memory is given back outside the lock.
        let kept = state.withLock { state in
            defer {
                for index in Array(state.shelf.results.keys) { state.shelf.remove(index) }
                state.readers.removeAll()
            }
            return (state.shelf.results, state.readers)
        }
        withExtendedLifetime(kept) {}
        decodeIfWanted()
    }
}

// MARK: Players

extension FramePool {
    /// Adds a player.
    ///
    /// - Parameter receive: gets frames while the player waits for one, mostly that one; called on a thread for decoding.
    /// - Returns: its number.
    func attach(_ receive: @escaping @Sendable (Int, FrameResult) -> Void) -> Int {
        state.withLock { $0.shelf.addSeat(receive) }
    }

    func detach(_ seat: Int) {
        want(nil, seat: seat)
        state.withLock { $0.shelf.removeSeat(seat) }
    }

    func result(at index: Int) -> FrameResult? { state.withLock { $0.shelf.results[index] } }

    /// Says what a player wants now.
    ///
    /// - Parameters:
    ///   - want: `nil` for nothing: it does not play, or cannot be seen.
    ///   - jumps: whether it stands elsewhere than it was to be expected; what is being decoded may then be in vain.
    /// - Returns: the frame it waits for, if it is there.
    @discardableResult
    func want(_ want: FrameWant?, seat: Int, jumps: Bool = false) -> FrameResult? {
        let (result, hasTurned): (FrameResult?, Bool?) = state.withLock { state in
            let wasActive = state.shelf.isActive
            var want = want
            let result = want.flatMap { $0.needsFrame ? state.shelf.results[$0.frame] : nil }
            if result != nil { want?.needsFrame = false }
            let formerEntry = state.shelf.seats[seat]?.want?.entry
            state.shelf.setWant(want, ofSeat: seat)
            if let want, want.entry != formerEntry, state.shelf.isFirstToWant(seat) {
                state.recovery.step(upTo: state.shelf.frameCount)
            }
            let isActive = state.shelf.isActive
            // A job for nobody ends; one that is late by a little is still good.
            let isInVain = jumps && state.job?.index != want?.frame && !state.shelf.isWanted(besides: seat)
            if !isActive || isInVain { state.job?.cancellation.cancel() }
            // One that is paused and sought in, or waits for more of its file, goes on from where its canvas is.
            if !isActive { state.readers.keepLast() }
            if wasActive, !isActive { state.shelf.trim(to: capacity(state)) }
            return (result, isActive == wasActive ? nil : isActive)
        }
        if let hasTurned { group.setActive(hasTurned, pool: number) }
        decodeIfWanted()
        return result
    }

    /// Lets frames go that nobody but the caller wants, once it stops.
    func removeAll(unlessWantedBesides seat: Int) {
        if !state.withLock({ $0.shelf.isWanted(besides: seat) }) { removeAll() }
    }

    /// Takes over a frame that was decoded elsewhere.
    func seed(_ pixels: PixelBuffer, at index: Int) {
        guard pixels.size == frameSize, processor == nil else { return }
        state.withLock { state in
            guard state.shelf.results[index] == nil, index < state.shelf.frameCount else { return }
            state.shelf.store(.picture(pixels), at: index)
        }
    }

    /// Goes over to a longer version of the source; does nothing with a shorter one.
    func extend(to source: any AnimationSource) {
        let needed: Int? = state.withLock { state in
            guard source.frameCount > state.source.frameCount || source.isComplete && !state.source.isComplete else {
                return nil
            }
            state.source = source
            state.shelf.extend(to: source.frameCount)
            state.readers.extend(to: source)
            return state.shelf.neededByteCount
        }
        guard let needed else { return }
        group.setNeeded(needed, pool: number)
        decodeIfWanted()
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

    /// Queues a piece of work, unless one is on its way, or there is nothing to do.
    private func decodeIfWanted() {
        let priority: LoadPriority? = state.withLock { state in
            guard state.job == nil, let next = next(state) else { return nil }
            // A frame that somebody waits for takes its turn with new pictures: before them, an animation that takes longer
            // to decode than to play would keep them out for ever. One for later comes behind them; if it becomes urgent,
            // another piece of work overtakes it, and it finds nothing to do, or the next frame.
            let priority: LoadPriority = next.isUrgent ? .normal : .low
            guard state.queued.allSatisfy({ $0 < priority }) else { return nil }
            state.queued.insert(priority)
            return priority
        }
        guard let priority else { return }
        group.submit(priority) { [weak self] in self?.decode(priority) }
    }

    private func next(_ state: borrowing State) -> (index: Int, isUrgent: Bool)? {
        guard state.shelf.isActive else { return nil }
        let readers = state.readers
        return state.shelf.next(capacity: capacity(state)) { readers.start(for: $0) }
    }

    /// How many frames there is room for; while somebody plays, at least two: one to be shown, and the next.
    private func capacity(_ state: borrowing State) -> Int {
        max(
            state.shelf.isActive ? 2 : 0,
            min(group.allowance(ofPool: number) / state.shelf.frameByteCount, state.recovery.ceiling))
    }

    /// Decodes what is wanted most by now: one frame, so that pools take turns.
    private func decode(_ priority: LoadPriority) {
        let job: Job? = state.withLock { state in
            state.queued.remove(priority)
            // Who decodes goes on by itself.
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
            result = .picture(try picture(of: job))
        } catch {
            result = .failed(error)
        }
        finish(job, with: result)
    }

    private func picture(of job: Job) throws(WebImageError) -> PixelBuffer {
        let decoded = try job.reader.reader.frame(at: job.index, cancellation: job.cancellation)
        let scaled = try decoded.resampled(to: frameSize, cancellation: job.cancellation)
        return try processor?.process(scaled, job.cancellation) ?? scaled
    }

    private func finish(_ job: Job, with result: FrameResult) {
        // A source or a processor that says so by itself would be asked for ever.
        let isCancelled = if case .failed(.cancelled) = result { job.cancellation.isCancelled } else { false }
        let (receivers, needed) = state.withLock { state -> ([@Sendable (Int, FrameResult) -> Void], Int?) in
            state.job = nil
            state.readers.put(job.reader, next: isCancelled ? job.start : job.index + 1)
            if !state.shelf.isActive { state.readers.keepLast() }
            guard !isCancelled else { return ([], nil) }
            state.decodedFrameCount += 1
            if case .failed = result { state.failedFrameCount += 1 }
            let formerSize = state.shelf.frameByteCount
            state.shelf.store(result, at: job.index)
            let receivers = state.shelf.receivers(of: job.index)
            state.shelf.trim(to: capacity(state))
            // All there: the canvases have done their work.
            if state.source.isComplete, state.shelf.results.count == state.shelf.frameCount {
                state.readers.removeAll()
            }
            return (receivers, state.shelf.frameByteCount == formerSize ? nil : state.shelf.neededByteCount)
        }
        if let needed { group.setNeeded(needed, pool: number) }
        for receive in receivers { receive(job.index, result) }
        decodeIfWanted()
    }
}

// MARK: Memory

extension FramePool {
    /// What all its frames would take, in bytes.
    var neededByteCount: Int { state.withLock { $0.shelf.neededByteCount } }

    /// Keeps to its allowance, which may have become less.
    func trim() {
        state.withLock { $0.shelf.trim(to: capacity($0)) }
        // More room may let it go on.
        decodeIfWanted()
    }

    /// Gives memory back, and takes it again only little by little.
    func respond(to level: MemoryPressureLevel) {
        state.withLock { state in
            state.recovery.begin(level, frameCount: state.shelf.results.count)
            state.readers.removeAll()
            state.shelf.trim(to: capacity(state))
        }
    }
}
