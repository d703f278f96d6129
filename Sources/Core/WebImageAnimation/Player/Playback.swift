internal import WebImageCore

/// The state of a player and its consequences. ``AnimationPlayer`` has the lock and the clock. A class, since the code
/// that the compiler makes to copy a value of this size is an eighth of this module.
///
///     control, clock, frame from the pool ──▶ settle ──▶ move the playhead ──▶ show ──▶ request frames of the pool
///                                                              │                │
///                                                              ▼                ▼
///                                                        loopEnded          frame, frameFailed, finished
final class Playback {
    private(set) var image: AnimatedImage
    private(set) var configuration: AnimationPlayer.Configuration
    private(set) var playhead: Playhead
    private(set) var status = AnimationPlayer.Status.stopped
    private(set) var isVisible = true

    private(set) var shown: (frame: Int, pixels: PixelBuffer)?
    /// The ``Playhead/ordinal`` of the shown frame; `nil` after a jump, and before the first frame.
    private var shownOrdinal: Int?
    /// Whether time stands still until the frame at the playhead is decoded.
    private(set) var isWaiting = false
    /// Whether time stands still until more frames arrive.
    private(set) var waitsForSource = false
    /// Whether its position was chosen: a stopped player shows that frame, otherwise what it has.
    private var hasPlace = false
    /// Whether a seek chose its position: it can play from there before the first frame of the mode has arrived.
    private var isSought = false
    private var hasPendingFinish = false
    private var hasJumped = false
    private(set) var droppedFrameCount = 0
    private var failedFrames: Set<Int> = []

    private let pools: FramePools
    private(set) var pool: FramePool?
    private var client = 0
    private var hasRequest = false
    /// Frames from the pool, which may have removed them since.
    private var arrivals: [Int: FrameResult] = [:]
    var receive: @Sendable (Int, FrameResult) -> Void = { _, _ in }

    private(set) var events: [AnimationPlayer.Event] = []

    /// How many entries the playhead may be ahead of the shown frame while it waits.
    static let longestGap = 8

    init(_ image: AnimatedImage, configuration: AnimationPlayer.Configuration, pools: FramePools) {
        self.image = image
        self.configuration = configuration
        self.pools = pools
        let timeline = Timeline(image.source.frames, mode: configuration.mode)
        playhead = Playhead(timeline, rate: configuration.rate)
        if configuration.processor == nil { shown = (0, image.poster) }
        if configuration.showsFirstFrameOnly { playhead.seek(to: timeline.order.entry(of: 0), loop: 0) }
    }

    // MARK: Control

    func play(at now: Int64) {
        guard status != .playing else { return }
        if status != .paused {
            playhead.seek(to: status == .finished ? 0 : playhead.entry, loop: 0)
            isSought = isSought && status == .stopped
            shownOrdinal = nil
            droppedFrameCount = 0
        }
        (status, hasPendingFinish) = (.playing, false)
        waitsForSource = awaitsStart
        resume(at: now)
    }

    func pause(at now: Int64) {
        guard status == .playing else { return }
        status = .paused
        playhead.freeze(at: now)
        isWaiting = false
    }

    func stop(at now: Int64) {
        playhead.freeze(at: now)
        (status, isWaiting, waitsForSource, hasPendingFinish) = (.stopped, false, false, false)
        if configuration.resetsWhenStopped {
            jump(to: configuration.showsFirstFrameOnly ? playhead.timeline.order.entry(of: 0) : 0, loop: 0)
        } else {
            // The shown frame stays.
            let isShown = shownOrdinal == playhead.ordinal
            playhead.seek(to: playhead.entry, loop: 0)
            shownOrdinal = isShown ? playhead.ordinal : nil
            (hasPlace, isSought) = (false, false)
        }
        guard configuration.releasesFramesWhenStopped, let pool else { return }
        pool.request(nil, client: client)
        pool.removeAll(unlessRequestedBesides: client)
        leavePool()
    }

    func seek(to frame: Int, loop: Int?) {
        let frame = min(max(0, frame), playhead.timeline.order.frameCount - 1)
        let lastLoop = loopLimit.map { $0 - 1 } ?? .max
        let loop = min(max(0, loop ?? playhead.loop), lastLoop, 1 << 40)
        if status == .finished { status = .paused }
        waitsForSource = false
        jump(to: playhead.timeline.order.entry(of: frame), loop: loop)
        isSought = true
        isWaiting = status == .playing
    }

    func setVisible(_ isVisible: Bool, at now: Int64) {
        guard isVisible != self.isVisible else { return }
        self.isVisible = isVisible
        if isVisible { resume(at: now) } else { playhead.freeze(at: now) }
    }

    func configure(_ new: AnimationPlayer.Configuration, at now: Int64) {
        let (old, awaitedStart) = (configuration, awaitsStart)
        configuration = new
        playhead.setRate(new.rate, at: now)
        if new.thumbnail != old.thumbnail || new.processor?.identifier != old.processor?.identifier {
            leavePool()
            (shownOrdinal, failedFrames) = (nil, [])
            // A poster serves at any size, but not unprocessed.
            hasPlace = hasPlace || status != .stopped || shown?.pixels !== image.poster || new.processor != nil
        }
        if new.showsFirstFrameOnly, !old.showsFirstFrameOnly { jump(to: playhead.timeline.order.entry(of: 0), loop: 0) }
        if new.mode != old.mode {
            let isShown = shownOrdinal == playhead.ordinal
            let frame = playhead.frame
            playhead.timeline = playhead.timeline.with(new.mode)
            let hasBegun = (status != .stopped || hasPlace) && !awaitedStart || new.showsFirstFrameOnly
            playhead.seek(to: hasBegun ? playhead.timeline.order.entry(of: frame) : 0, loop: playhead.loop)
            shownOrdinal = isShown && hasBegun ? playhead.ordinal : nil
            isSought = hasBegun
            waitsForSource = status == .playing && awaitsStart
        }
        resume(at: now)
    }

    func update(to image: AnimatedImage, at now: Int64) {
        let (former, awaitedStart) = (self.image, awaitsStart)
        let (order, frame, entry) = (playhead.timeline.order, playhead.frame, playhead.entry)
        self.image = image
        let timeline = Timeline(image.source.frames, mode: configuration.mode)
        // After a turn, the animation is complete and cannot have become longer.
        let keepsPlace = entry < order.frameCount && frame < timeline.order.frameCount
        let isSameOrder = timeline.order == order
        playhead.replaceTimeline(
            with: timeline,
            entry: isSameOrder ? entry : timeline.order.entry(of: min(frame, timeline.order.frameCount - 1)))
        if awaitedStart, !awaitsStart {
            // The last frame is known only now.
            let hadPlace = hasPlace
            jump(to: 0, loop: playhead.loop)
            hasPlace = hadPlace
        } else if !isSameOrder, !keepsPlace {
            jump(to: playhead.entry, loop: playhead.loop)
        }
        if image.source.identity != former.source.identity {
            // Another animation with other frames.
            (shownOrdinal, failedFrames) = (nil, [])
            hasPlace = hasPlace || status != .stopped || shown?.pixels !== former.poster
            playhead.freeze(at: now)
        }
        if status == .stopped, !hasPlace, shown?.pixels === former.poster, image.poster !== former.poster {
            shown = (0, image.poster)
            events.append(.frame(index: 0, pixels: image.poster))
        }
        if let pool,
            pools.pool(
                for: image.source, thumbnail: configuration.thumbnail, processor: configuration.processor,
                scale: image.scale) !== pool
        {
            leavePool()
        }
        waitsForSource = awaitsStart && status == .playing
        resume(at: now)
    }

    func take(_ result: FrameResult, at index: Int) { arrivals[index] = result }

    func takeEvents() -> [AnimationPlayer.Event] {
        defer { events = [] }
        return events
    }

    /// Leaves the pool, which is released by its last player.
    func leavePool() {
        pool?.detach(client)
        (pool, hasRequest, arrivals) = (nil, false, [:])
    }

    private func jump(to entry: Int, loop: Int) {
        playhead.seek(to: entry, loop: loop)
        (shownOrdinal, hasPlace, isSought, hasJumped, arrivals) = (nil, true, false, true, [:])
        hasPendingFinish = false
    }

    /// Starts time if possible.
    private func resume(at now: Int64) {
        guard isMoving, !waitsForSource, !playhead.isRunning else { return }
        isWaiting = shownOrdinal != playhead.ordinal
        if !isWaiting { playhead.run(from: now) }
    }

    private var isMoving: Bool { status == .playing && isVisible && !configuration.showsFirstFrameOnly }

    /// Whether the mode begins with the last frame, which has not arrived.
    private var awaitsStart: Bool {
        configuration.mode.beginsAtTheEnd && !image.source.isComplete && !isSought
    }

    /// `nil` for no limit.
    private var loopLimit: Int? {
        let count = configuration.loopCount ?? image.source.loopCount
        return count > 0 ? count : nil
    }

    /// When the clock has to call; `nil` for never.
    var due: Int64? {
        guard isMoving, !isWaiting, !waitsForSource else { return nil }
        // A still never changes.
        if playhead.timeline.order.frameCount == 1, loopLimit == nil { return nil }
        return playhead.due
    }

    // MARK: What follows

    /// Brings everything up to date.
    ///
    /// - Parameter isCall: whether the clock calls. Late frames are shown only then: several that arrive at once would
    ///   each be shown for a moment.
    func settle(at now: Int64, isCall: Bool = false) {
        if isMoving, !isWaiting, !waitsForSource { move(to: now) }
        show(at: now, isCall: isCall)
        if let result = requestFrames() {
            arrivals[playhead.frame] = result
            show(at: now, isCall: isCall)
            requestFrames()
        }
        if !configuration.dropsLateFrames, playhead.isRunning, shownOrdinal != playhead.ordinal { wait() }
        if hasPendingFinish, shownOrdinal == playhead.ordinal {
            hasPendingFinish = false
            events.append(.finished)
        }
    }

    private func move(to now: Int64) {
        // Completed loops count, although the limit may have been lowered.
        let loopLimit = loopLimit.map { max($0, playhead.loop + 1) }
        let isComplete = image.source.isComplete
        let isShown = shownOrdinal == playhead.ordinal
        let move: Playhead.Move
        if configuration.dropsLateFrames {
            if !isShown, playhead.ordinal - (shownOrdinal ?? playhead.ordinal) >= Self.longestGap { return wait() }
            move = playhead.advance(to: now, loopLimit: loopLimit, isComplete: isComplete)
        } else {
            if !isShown { return wait() }
            move = playhead.step(at: now, loopLimit: loopLimit, isComplete: isComplete)
        }
        switch move {
        case .stayed: break
        case .moved(let loopsEnded): if loopsEnded > 0 { events.append(.loopEnded(count: playhead.loop)) }
        case .ended:
            events.append(.loopEnded(count: playhead.loop))
            status = .finished
            hasPendingFinish = true
        case .starved:
            playhead.freeze(at: now)
            waitsForSource = true
        }
    }

    private func wait() {
        playhead.restartEntry()
        isWaiting = true
    }

    /// Whether the frame at the playhead should be shown, and is not.
    private var needsFrame: Bool {
        guard isVisible, shownOrdinal != playhead.ordinal else { return false }
        // The first frame of the mode is unknown.
        if awaitsStart, waitsForSource { return false }
        return status != .stopped || hasPlace || shown == nil
    }

    private func show(at now: Int64, isCall: Bool) {
        defer { arrivals.removeAll() }
        guard needsFrame else { return }
        if let result = result(at: playhead.frame) {
            show(result, frame: playhead.frame, ordinal: playhead.ordinal)
            if isWaiting {
                isWaiting = false
                if isMoving { playhead.run(from: now) }
            }
            return
        }
        // A late frame is better than an old one.
        guard isCall, configuration.dropsLateFrames, let shownOrdinal else { return }
        let order = playhead.timeline.order
        let gap = min(playhead.ordinal - shownOrdinal, Self.longestGap, order.entryCount)
        for distance in 1..<max(1, gap) {
            let entry = order.entry(order.entryCount - distance, after: playhead.entry)
            let frame = order.frame(at: entry)
            guard let result = result(at: frame) else { continue }
            return show(result, frame: frame, ordinal: playhead.ordinal - distance)
        }
    }

    private func show(_ result: FrameResult, frame: Int, ordinal: Int) {
        let isFirst = shownOrdinal == nil
        if let shownOrdinal { droppedFrameCount += max(0, ordinal - shownOrdinal - 1) }
        shownOrdinal = ordinal
        switch result {
        case .image(let pixels):
            // Nothing changes for a still in its next loop, or between frames that cannot be decoded.
            if !isFirst, let shown, shown.frame == frame, shown.pixels === pixels { return }
            shown = (frame, pixels)
            events.append(.frame(index: frame, pixels: pixels))
        case .failed(let error):
            if failedFrames.insert(frame).inserted { events.append(.frameFailed(index: frame, error: error)) }
        }
    }

    private func result(at frame: Int) -> FrameResult? {
        if frame == 0, posterIsFrame { return .image(image.poster) }
        return arrivals[frame] ?? pool?.result(at: frame)
    }

    /// Whether decoding the first frame would give the poster.
    private var posterIsFrame: Bool {
        guard image.posterIsFirstFrame, configuration.processor == nil else { return false }
        let size = image.source.frameSize
        return (configuration.thumbnail?.targetSize(of: size) ?? size) == image.poster.size
    }

    /// Requests frames of the pool. Returns the one to show, if it is decoded.
    @discardableResult
    private func requestFrames() -> FrameResult? {
        let order = playhead.timeline.order
        let isMoving = isMoving && order.frameCount > 1 && !waitsForSource
        let preloads = configuration.preloadsAllFrames && isVisible && order.frameCount > 1
        guard needsFrame || isMoving || preloads else {
            if hasRequest { pool?.request(nil, client: client) }
            hasRequest = false
            return nil
        }
        let pool = joinedPool()
        let request = FrameRequest(
            order: order, entry: playhead.entry, needsFrame: needsFrame, upcomingCount: isMoving ? upcomingCount : 0,
            preloadsAll: preloads)
        defer { hasJumped = false }
        hasRequest = true
        return pool.request(request, client: client, jumps: hasJumped)
    }

    private var upcomingCount: Int {
        let order = playhead.timeline.order
        guard image.source.isComplete else { return max(0, order.frameCount - 1 - playhead.entry) }
        guard let loopLimit else { return .max }
        let (entries, overflow) = (loopLimit - playhead.loop).multipliedReportingOverflow(by: order.entryCount)
        return overflow ? .max : max(0, entries - playhead.entry - (order.mode.turnsBack ? 0 : 1))
    }

    private func joinedPool() -> FramePool {
        if let pool { return pool }
        let pool = pools.pool(
            for: image.source, thumbnail: configuration.thumbnail, processor: configuration.processor,
            scale: image.scale)
        if posterIsFrame { pool.seed(image.poster, at: 0) }
        client = pool.attach(receive)
        self.pool = pool
        return pool
    }
}
