public import WebImageCore
public import WebImageProcessing

/// Plays an animated image in any view: reports which frame to show, and when.
///
/// ```swift
/// let player = AnimationPlayer(image)
/// player.onEvent = { event in
///     if case .frame(_, let pixels) = event { show(pixels) }
/// }
/// player.play()
/// ```
///
/// Players of the same animation share decoded frames, up to ``frameByteLimit``. While a frame is not decoded in time,
/// the previous one stays, and ``Configuration-swift.struct/dropsLateFrames`` decides what follows. Frames that cannot
/// be decoded are reported and skipped.
///
/// All functions may be called on any thread. They take effect before they return, except for calls of ``onEvent``.
public final class AnimationPlayer: Sendable {
    /// How a player plays. May be changed while it plays.
    ///
    /// ```swift
    /// var configuration = AnimationPlayer.Configuration(rate: 2, loopCount: 1)
    /// configuration.preloadsAllFrames = true
    /// let player = AnimationPlayer(image, configuration: configuration)
    /// ```
    public struct Configuration: Sendable {
        /// The order of frames; ``PlaybackMode/normal`` by default.
        public var mode: PlaybackMode
        /// The speed: 1 by default, at most 100. Numbers that are not above 0 hold the frame.
        public var rate: Double
        /// How often the animation plays; 0 or less for forever. `nil`, the default, uses the image's number.
        public var loopCount: Int?
        /// Whether frames that are not decoded in time are dropped to keep to the clock; `true` by default. Then the
        /// player runs ahead of the shown frame by at most 8 frames and waits. Otherwise each frame is shown for its
        /// full duration, and the animation takes longer.
        public var dropsLateFrames: Bool
        /// The size to decode frames at, in pixels; `nil`, the default, for full size. Frames are never enlarged.
        var thumbnail: Thumbnail?
        /// Processes each frame; `nil` by default. An error is reported for the frame, which is not shown.
        public var processor: ImageProcessor?
        /// Whether all frames are decoded as soon as the player is visible, if they fit in memory; `false` by default.
        public var preloadsAllFrames = false
        /// Whether stopping returns to the first frame of the mode; `false` by default.
        public var resetsWhenStopped = false
        /// Whether stopping releases decoded frames that no other player needs. `false` by default: they are kept as
        /// long as the player.
        public var releasesFramesWhenStopped = false
        /// Whether it only shows the first frame; `false` by default.
        var showsFirstFrameOnly = false

        /// Makes a configuration.
        public init(
            mode: PlaybackMode = .normal, rate: Double = 1, loopCount: Int? = nil, dropsLateFrames: Bool = true,
            thumbnail: Thumbnail? = nil, processor: ImageProcessor? = nil
        ) {
            self.mode = mode
            self.rate = rate
            self.loopCount = loopCount
            self.dropsLateFrames = dropsLateFrames
            self.thumbnail = thumbnail
            self.processor = processor
        }
    }

    /// The state of a player.
    enum Status: Sendable {
        /// Not started, or stopped.
        case stopped
        /// Playing while it is visible and frames are available.
        case playing
        case paused
        /// The last loop is completed; it stands on the frame on which its mode stops.
        case finished
    }

    /// An event of a player.
    public enum Event: Sendable {
        /// Show this frame. It has the requested size and is processed.
        case frame(index: Int, pixels: PixelBuffer)
        /// A loop is completed; `count` is the number since the start. Sent once if several loops were skipped.
        case loopEnded(count: Int)
        /// The last loop is completed, and its last frame was reported.
        case finished
        /// A frame cannot be decoded; keep showing the previous one. Sent once per frame.
        case frameFailed(index: Int, error: WebImageError)
    }

    private let clock: any TimerClock
    private let state: Lock<State>

    private struct State {
        let playback: Playback
        var onEvent: (@Sendable (Event) -> Void)?
        var wake: (time: Int64, number: Int, call: ScheduledCall)?
        var lastNumber = 0
    }

    /// Makes a stopped player that shows the image's pixels; a still is an animation of one frame.
    public convenience init(_ image: Image, configuration: Configuration = Configuration()) {
        self.init(AnimatedImage(image), configuration: configuration)
    }

    /// - Parameter clock: the system's monotonic clock by default. Its thread calls ``onEvent``.
    init(
        _ image: AnimatedImage, configuration: Configuration = Configuration(), clock: (any TimerClock)? = nil,
        pools: FramePools = .shared
    ) {
        self.clock = clock ?? SystemTimerClock.shared
        state = Lock(State(playback: Playback(image, configuration: configuration, pools: pools)))
        state.withLock { state in
            state.playback.receive = { [weak self] index, result in
                self?.change { playback, _ in playback.take(result, at: index) }
            }
        }
        change { _, _ in }
    }

    deinit {
        state.withLock { state in
            state.wake?.call.cancel()
            state.playback.leavePool()
        }
    }

    /// Called for each event on a thread of the players, in views on the main thread, one after the other, never under
    /// a lock.
    ///
    /// After it is set to `nil` on another thread, one call may still be in progress.
    public var onEvent: (@Sendable (Event) -> Void)? {
        get { state.withLock { $0.onEvent } }
        set {
            let former = state.withLock { state in
                defer { state.onEvent = newValue }
                return state.onEvent
            }
            // Captures are released outside the lock.
            withExtendedLifetime(former) {}
        }
    }

    /// Changes the playback and updates what follows.
    private func change(_ body: (Playback, Int64) -> Void) {
        state.withLock { state in
            let now = clock.now.nanoseconds
            body(state.playback, now)
            state.playback.settle(at: now)
            setWake(&state, now: now)
        }
    }

    private func read<Result>(_ body: (Playback) -> Result) -> Result { state.withLock { body($0.playback) } }

    /// Schedules a call when there is an event to send or a frame is due.
    private func setWake(_ state: inout State, now: Int64) {
        guard let time = state.playback.events.isEmpty ? state.playback.due : now else {
            state.wake?.call.cancel()
            state.wake = nil
            return
        }
        // A call that is too early sets the next.
        if let wake = state.wake, wake.time <= time { return }
        state.wake?.call.cancel()
        state.lastNumber += 1
        let number = state.lastNumber
        state.wake = (
            time, number, clock.schedule(at: .nanoseconds(time)) { [weak self] in self?.wake(number) }
        )
    }

    private func wake(_ number: Int) {
        let (events, onEvent): ([Event], (@Sendable (Event) -> Void)?) = state.withLock { state in
            // Cancelled too late.
            guard state.wake?.number == number else { return ([], nil) }
            state.wake = nil
            let now = clock.now.nanoseconds
            state.playback.settle(at: now, isCall: true)
            defer { setWake(&state, now: now) }
            return (state.playback.takeEvents(), state.onEvent)
        }
        guard let onEvent else { return }
        for event in events { onEvent(event) }
    }
}

// MARK: Control

extension AnimationPlayer {
    /// Starts, or resumes after ``pause()``. After ``stop()``, it starts at the current frame and counts loops from 0;
    /// when finished, it starts over. Time starts once the frame is decoded.
    public func play() { change { $0.play(at: $1) } }

    /// Pauses; keeps the frame, its remaining time and the loops.
    public func pause() { change { $0.pause(at: $1) } }

    /// Stops and forgets loops; see ``Configuration-swift.struct/resetsWhenStopped`` and
    /// ``Configuration-swift.struct/releasesFramesWhenStopped``.
    public func stop() { change { $0.stop(at: $1) } }

    /// Moves to a frame, which is shown once it is decoded, and keeps playing or pausing. A finished player is paused
    /// then.
    ///
    /// - Parameters:
    ///   - index: clamped. In a bouncing mode, its first position in a loop.
    ///   - loopCount: the new number of completed loops; unchanged by default.
    public func seek(toFrame index: Int, loopCount: Int? = nil) {
        change { playback, _ in playback.seek(to: index, loop: loopCount) }
    }

    /// Continues with a version of the image that has more frames, while it loads.
    ///
    /// The player waits on the last frame for the next. A mode that begins at the end waits for the last frame, except
    /// after ``seek(toFrame:loopCount:)``. A player that never played shows the new poster.
    public func update(to image: Image) { update(to: AnimatedImage(image)) }

    func update(to image: AnimatedImage) { change { $0.update(to: image, at: $1) } }

    /// The current configuration.
    public var configuration: Configuration {
        get { read(\.configuration) }
        set { change { $0.configure(newValue, at: $1) } }
    }

    /// Whether it can be seen; `true` by default. While it is `false`, time stands still and nothing is decoded.
    public var isVisible: Bool {
        get { read(\.isVisible) }
        set { change { $0.setVisible(newValue, at: $1) } }
    }
}

// MARK: Observation

extension AnimationPlayer {
    var image: AnimatedImage { read(\.image) }
    var status: Status { read(\.status) }
    /// Whether it plays: it was started, and neither paused, stopped nor at the end of its last loop.
    public var isPlaying: Bool { status == .playing }
    /// The frame to show now; at first the poster, or `nil` while that is processed.
    public var currentFrame: PixelBuffer? { read { $0.shown?.pixels } }
    /// The index of that frame.
    public var currentFrameIndex: Int { read { $0.shown?.frame ?? 0 } }
    /// The number of completed loops.
    public var completedLoopCount: Int { read(\.playhead.loop) }
    /// The number of frames dropped to keep to the clock.
    public var droppedFrameCount: Int { read(\.droppedFrameCount) }
    var isWaiting: Bool { read { $0.isWaiting || $0.waitsForSource } }
    /// The number of decoded frames in memory, shared with other players.
    public var cachedFrameCount: Int { poolStatistics?.frameCount ?? 0 }

    /// Releases the decoded frames. Those that players need are decoded again.
    public func removeCachedFrames() { read(\.pool)?.removeAll() }

    /// `nil` before it needed a pool.
    var poolStatistics: FramePool.Statistics? { read(\.pool)?.statistics }
}

extension TimerClock {
    /// Makes a stopped player whose time is this clock's, which calls ``AnimationPlayer/onEvent``.
    package func player(of image: Image, configuration: AnimationPlayer.Configuration) -> AnimationPlayer {
        AnimationPlayer(AnimatedImage(image), configuration: configuration, clock: self)
    }
}
