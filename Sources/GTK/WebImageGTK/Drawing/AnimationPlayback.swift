internal import CWebImageGTK
internal import WebImage

/// An animation on display: its player and the clock of its view.
@MainActor final class AnimationPlayback {
    let player: AnimationPlayer
    private let clock: ViewAnimationClock
    /// The size of all frames in points.
    private var size: PointSize
    private var identity: AnimationIdentity?

    /// - Parameter receive: gets the player's events on the main thread, and the size of frames in points.
    init(
        _ image: Image, configuration: AnimationPlayer.Configuration, host: ViewHost?,
        receive: @escaping @MainActor (AnimationPlayer.Event, PointSize) -> Void
    ) {
        clock = ViewAnimationClock(host: host)
        size = image.size
        identity = image.animation?.identity
        player = clock.player(of: image, configuration: configuration)
        player.isVisible = false
        player.onEvent = { [weak self] event in
            MainActor.assumeIsolated {
                guard let self else { return }
                receive(event, self.size)
            }
        }
    }

    /// Stops the player's events, because another image may be on display already.
    isolated deinit { player.onEvent = nil }

    /// Continues with `image` if it is the same animation with more frames. Returns whether it is.
    func continues(with image: Image) -> Bool {
        guard let source = image.animation, source.identity == identity else { return false }
        update(to: image)
        return true
    }

    /// Continues at the same frame with `image`, the same animation with more frames or other pixels.
    func update(to image: Image) {
        size = image.size
        identity = image.animation?.identity
        player.update(to: image)
    }

    func setVisible(_ isVisible: Bool) {
        player.isVisible = isVisible
        clock.visibilityDidChange()
    }
}

/// The clock of an animation in a view. It calls on the main thread with a frame of the view's window, so that the
/// image changes when the screen does.
///
/// ```
///  schedule(at:), any thread ──► a GSource that is ready at that time ──► the window's next frame ──► calls that are due
///                                                                └── not on screen ──► at once
/// ```
/// Nothing runs between two frames of a slow animation. While the view is off screen, its player schedules nothing.
final class ViewAnimationClock: TimerClock {
    private let schedule = Lock(CallSchedule())
    /// GLib's functions for sources are thread-safe.
    private nonisolated(unsafe) let source: UnsafeMutablePointer<GSource>
    @MainActor private weak var host: ViewHost?
    @MainActor private var ticker: FrameTicker?

    @MainActor init(host: ViewHost?) {
        self.host = host
        source = g_source_new(Self.functions, guint(MemoryLayout<GSource>.size))
        g_source_set_priority(source, G_PRIORITY_DEFAULT)
        let reference = Unmanaged.passRetained(WeakClock(target: self))
        g_source_set_callback(
            source,
            { data in
                guard let data else { return gboolean(0) }
                let clock = Unmanaged<WeakClock>.fromOpaque(data).takeUnretainedValue().target
                MainActor.assumeIsolated { clock?.timeHasCome() }
                return gboolean(1)
            }, reference.toOpaque(),
            // Not on the main actor: the clock may be released on any thread.
            { @Sendable data in if let data { Unmanaged<WeakClock>.fromOpaque(data).release() } })
        g_source_attach(source, nil)
    }

    deinit {
        g_source_destroy(source)
        g_source_unref(source)
    }

    /// The time of the system's monotonic clock, as in GDK's frame clocks.
    var now: Duration { .microseconds(g_get_monotonic_time()) }

    func schedule(at time: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledCall {
        let due = max(0, time.nanoseconds)
        let number = schedule.withLock { $0.add(at: due, body) }
        setReadyTime()
        return ScheduledCall { [weak self] in
            guard let self else { return }
            // The body's captures are released outside the lock.
            let body = schedule.withLock { $0.remove(at: due, number: number) }
            withExtendedLifetime(body) {}
        }
    }

    /// Wakes the main loop when the next call is due. The time is rounded up, because an early call would wait for
    /// another frame.
    private func setReadyTime() {
        // Set under the lock, so that the earlier time applies when two threads schedule calls.
        schedule.withLock { schedule in
            g_source_set_ready_time(source, schedule.nextTime.map { gint64(($0 + 999) / 1000) } ?? -1)
        }
    }

    /// Runs the calls that wait for a frame, because there are no frames off screen.
    @MainActor func visibilityDidChange() {
        ticker?.stop()
        setReadyTime()
    }

    @MainActor private func timeHasCome() {
        g_source_set_ready_time(source, -1)
        guard let host, host.isVisible, host.widget != nil else { return runDueCalls() }
        let ticker =
            self.ticker
            ?? FrameTicker(host: host) { [weak self] _ in
                self?.runDueCalls()
                return false
            }
        self.ticker = ticker
        ticker.start()
    }

    @MainActor private func runDueCalls() {
        ticker?.stop()
        while let body = schedule.withLock({ $0.removeNext(dueAt: now.nanoseconds) }) { body() }
        setReadyTime()
    }

    /// The functions shared by all clocks, which are not changed after this. The ready time triggers a source, and its callback does the work.
    private static nonisolated(unsafe) let functions: UnsafeMutablePointer<GSourceFuncs> = {
        let functions = UnsafeMutablePointer<GSourceFuncs>.allocate(capacity: 1)
        functions.initialize(to: GSourceFuncs())
        functions.pointee.dispatch = { _, callback, data in callback?(data) ?? gboolean(0) }
        return functions
    }()
}

/// A weak reference from the source to its clock, which may be released on another thread.
private final class WeakClock: Sendable {
    private let reference: Lock<WeakReference>

    private struct WeakReference: Sendable {
        weak var clock: ViewAnimationClock?
    }

    init(target: ViewAnimationClock) { reference = Lock(WeakReference(clock: target)) }

    var target: ViewAnimationClock? { reference.withLock { $0.clock } }
}
