public import WebImageCore

/// Plays an ``AnimatedImage``, for a view of any toolkit or for none: it says which frame to show, and when.
///
/// ```swift
/// let player = AnimationPlayer(image)
/// player.onEvent = { event in
///     if case .frame(_, let pixels) = event { view.show(pixels) }
/// }
/// player.play()
/// ```
///
/// Its clock decides when and where ``onEvent`` is called. Frames come from a ``FramePool`` that it shares with all players of
/// the same animation; while a frame that is due is not decoded, the last one stays, and ``LatePolicy`` says what becomes of
/// time. A frame that can't be decoded is reported and passed over in the same way.
///
/// Every function may be called from any thread. They take effect before they return, but for the calls of ``onEvent``.
public final class AnimationPlayer: Sendable {
    /// How a player plays. All of it can be changed while it does.
    public struct Configuration: Sendable {
        /// The order of frames; ``PlaybackMode/normal`` by default.
        public var mode: PlaybackMode
        /// How fast, 1 for as fast as the image says, which is the default, and 100 at most. 0 and less, or no number, hold
        /// the frame.
        public var rate: Double
        /// How often; as often as the image says by default.
        public var loopLimit: LoopLimit
        /// What to do when it can't keep up; by default, to drop frames.
        public var latePolicy: LatePolicy
        /// The size to decode frames at, in pixels; `nil`, the default, for the image's own. They are never scaled up.
        public var thumbnail: Thumbnail?
        /// What is done to each frame; `nil`, the default, for nothing.
        public var processor: FrameProcessor?
        /// Whether all frames are decoded as soon as it is visible, if they fit in memory; `false` by default.
        public var preloadsAllFrames = false
        /// Whether it goes back to where the mode begins when it is stopped; if not, the default, it stays where it is.
        public var resetsWhenStopped = false
        /// Whether it gives decoded frames back when it is stopped, unless another player needs them; if not, the default, the
        /// pool keeps them as long as the player lives.
        public var releasesFramesWhenStopped = false
        /// Whether it shows the first frame and does not move; `false` by default.
        public var showsFirstFrameOnly = false

        /// Makes a configuration.
        public init(
            mode: PlaybackMode = .normal, rate: Double = 1, loopLimit: LoopLimit = .image,
            latePolicy: LatePolicy = .dropFrames, thumbnail: Thumbnail? = nil, processor: FrameProcessor? = nil
        ) {
            self.mode = mode
            self.rate = rate
            self.loopLimit = loopLimit
            self.latePolicy = latePolicy
            self.thumbnail = thumbnail
            self.processor = processor
        }
    }

    /// What a player is about.
    public enum Status: String, Sendable, Hashable {
        /// It has not begun, or was stopped.
        case stopped
        /// Time goes on while it is visible and frames are there.
        case playing
        /// It stands where it was.
        case paused
        /// The last loop is over; it stands on the frame on which its mode stops.
        case finished
    }

    /// What a player tells.
    public enum Event: Sendable {
        /// Another frame is to be shown, as it is: at the size asked for, processed. While it plays, not told where the
        /// picture on show is that already; when it begins or jumps, always.
        case frame(index: Int, pixels: PixelBuffer)
        /// A loop is over; `count` are since it began. Where it had to skip several, this comes once.
        case loopEnded(count: Int)
        /// The last loop is over, and the frame shown on which it stops.
        case finished
        /// A frame can't be decoded; the one before stays in its place. Each frame is reported once.
        case frameFailed(index: Int, error: WebImageError)
    }

    private let clock: any TimerClock
    private let state: Lock<State>

    private struct State {
        var playback: Playback
        var onEvent: (@Sendable (Event) -> Void)?
        var wake: (time: Int64, number: Int, call: ScheduledCall)?
        var lastNumber = 0
    }

    /// Makes a player that shows the image's poster and is stopped.
    ///
    /// - Parameters:
    ///   - clock: what it takes the time from; the system's unless told otherwise.
    ///   - pools: where it finds its frames; those of the process unless told otherwise.
    public init(
        _ image: AnimatedImage, configuration: Configuration = Configuration(),
        clock: any TimerClock = MonotonicTimerClock.shared, pools: FramePools = .shared
    ) {
        self.clock = clock
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

    /// Gets what the player tells, on the clock's thread, one call after the other, never while a lock is held.
    ///
    /// Set to `nil` on that thread, it is called no more; elsewhere, one call may still be under way.
    public var onEvent: (@Sendable (Event) -> Void)? {
        get { state.withLock { $0.onEvent } }
        set {
            let former = state.withLock { state in
                defer { state.onEvent = newValue }
                return state.onEvent
            }
            // What it captures is released outside the lock.
            withExtendedLifetime(former) {}
        }
    }

    /// Changes something, and draws the conclusions.
    private func change(_ body: (inout Playback, Int64) -> Void) {
        state.withLock { state in
            let now = clock.now.nanoseconds
            body(&state.playback, now)
            state.playback.settle(at: now)
            setWake(&state, now: now)
        }
    }

    private func read<Result>(_ body: (Playback) -> Result) -> Result { state.withLock { body($0.playback) } }

    /// Sees to it that the clock calls when there is something to tell, or a frame is due.
    private func setWake(_ state: inout State, now: Int64) {
        guard let time = state.playback.events.isEmpty ? state.playback.due : now else {
            state.wake?.call.cancel()
            state.wake = nil
            return
        }
        // One that comes too early finds nothing to do, and sets the next.
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
    /// Begins, or goes on after ``pause()``. Stopped, it begins from where it is and counts loops anew; finished, it begins
    /// anew.
    ///
    /// Time goes on from the moment when the frame is there.
    public func play() { change { $0.play(at: $1) } }

    /// Holds the frame; time and loops stay as they are.
    public func pause() { change { $0.pause(at: $1) } }

    /// Ends playing: loops are forgotten, and ``Configuration-swift.struct/resetsWhenStopped`` and
    /// ``Configuration-swift.struct/releasesFramesWhenStopped`` heeded.
    public func stop() { change { $0.stop(at: $1) } }

    /// Goes to a frame, which is shown as soon as it is decoded; in a mode that turns back, to where it comes first in a loop.
    /// Goes on playing if it did. Finished, it is paused then.
    ///
    /// - Parameters:
    ///   - index: limited to the frames there are.
    ///   - loopCount: how many loops are to count as over; `nil`, the default, for as many as now.
    public func seek(toFrame index: Int, loopCount: Int? = nil) {
        change { playback, _ in playback.seek(to: index, loop: loopCount) }
    }

    /// Goes over to a version of the image that has more frames, as they arrive, and plays on where it is. What plays
    /// waits on the last frame for the next; a mode that begins at the end waits for that, unless it was sought in. One that
    /// was never played goes over to the new poster.
    public func update(to image: AnimatedImage) { change { $0.update(to: image, at: $1) } }

    /// How it plays.
    public var configuration: Configuration {
        get { read(\.configuration) }
        set { change { $0.configure(newValue, at: $1) } }
    }

    /// Whether anybody can see it; `true` unless told otherwise. If not, time stands still for it, nothing is decoded for
    /// it, and the clock does not call.
    public var isVisible: Bool {
        get { read(\.isVisible) }
        set { change { $0.setVisible(newValue, at: $1) } }
    }
}

// MARK: Observation

extension AnimationPlayer {
    /// What it plays.
    public var image: AnimatedImage { read(\.image) }
    /// What it is about.
    public var status: Status { read(\.status) }
    /// The frame to show now: the one last told, or the poster before; `nil` while the first one is being processed.
    public var currentFrame: PixelBuffer? { read { $0.shown?.pixels } }
    /// The number of that frame.
    public var currentFrameIndex: Int { read { $0.shown?.frame ?? 0 } }
    /// How many loops are over since it began.
    public var completedLoopCount: Int { read(\.playhead.loop) }
    /// How many frames were left out to keep to the clock.
    public var droppedFrameCount: Int { read(\.droppedFrameCount) }
    /// Whether time stands still until a frame is decoded or arrives.
    public var isWaiting: Bool { read { $0.isWaiting || $0.waitsForSource } }
    /// What the pool has that it shares with others; `nil` where it needed none so far.
    public var poolStatistics: FramePool.Statistics? { read(\.pool)?.statistics }
}
