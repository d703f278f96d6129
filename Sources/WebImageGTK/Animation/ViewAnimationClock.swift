internal import CWebImageGTK
internal import WebImage

/// The clock of an animation in a view: calls come on the main thread, with a frame of the view's window, so that the
/// picture changes when the screen does.
///
/// ```
///  schedule(at:), any thread ──► a GSource that is ready at that time ──► the window's next frame ──► calls that are due
///                                                                └── not on screen ──► at once
/// ```
/// So between two pictures of a slow animation nothing runs, and while the view is off screen, its player schedules nothing.
final class ViewAnimationClock: TimerClock {
    private let schedule = Lock(CallSchedule())
    /// GLib's functions for it may be called on any thread.
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
            { data in if let data { Unmanaged<WeakClock>.fromOpaque(data).release() } })
        g_source_attach(source, nil)
    }

    deinit {
        g_source_destroy(source)
        g_source_unref(source)
    }

    /// The time since the machine's start, as GDK's frame clocks count it.
    var now: Duration { .microseconds(g_get_monotonic_time()) }

    func schedule(at time: Duration, _ body: @escaping @Sendable () -> Void) -> ScheduledCall {
        let due = max(0, time.nanoseconds)
        let number = schedule.withLock { $0.add(at: due, body) }
        setReadyTime()
        return ScheduledCall { [weak self] in
            guard let self else { return }
            // What the body captures is released outside the lock.
            let body = schedule.withLock { $0.remove(at: due, number: number) }
            withExtendedLifetime(body) {}
        }
    }

    /// Wakes the main loop when the next call is due: rounded up, since what comes too early would wait for one more frame.
    private func setReadyTime() {
        // Under the lock, so that the earliest of two threads' times stays.
        schedule.withLock { schedule in
            g_source_set_ready_time(source, schedule.nextTime.map { gint64(($0 + 999) / 1000) } ?? -1)
        }
    }

    /// Off screen no frame comes: what is waiting for one comes without.
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

    /// The same for all: the ready time decides, and the callback does the work.
    private static nonisolated(unsafe) let functions: UnsafeMutablePointer<GSourceFuncs> = {
        let functions = UnsafeMutablePointer<GSourceFuncs>.allocate(capacity: 1)
        functions.initialize(to: GSourceFuncs())
        functions.pointee.dispatch = { _, callback, data in callback?(data) ?? gboolean(0) }
        return functions
    }()
}

/// What the source's callback finds, also while the clock goes away on another thread.
private final class WeakClock: Sendable {
    private let reference: Lock<WeakReference>

    private struct WeakReference: Sendable {
        weak var clock: ViewAnimationClock?
    }

    init(target: ViewAnimationClock) { reference = Lock(WeakReference(clock: target)) }

    var target: ViewAnimationClock? { reference.withLock { $0.clock } }
}
