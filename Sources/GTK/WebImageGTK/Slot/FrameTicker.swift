internal import CWebImageGTK
internal import GTKObjects

/// Calls a function for each frame of a view's window, until the function returns `false`.
///
/// GTK's tick callbacks continue while a widget is hidden, so the caller must call `stop` when the widget is unmapped.
@MainActor final class FrameTicker {
    private weak var host: ViewHost?
    private let body: @MainActor (gint64) -> Bool
    /// The ID of the tick callback; 0 if there is none.
    private var tickID: guint = 0
    private var timer: MainLoopCall?

    /// - Parameter body: gets the frame's time in microseconds, and returns whether to continue.
    init(host: ViewHost?, _ body: @escaping @MainActor (_ time: gint64) -> Bool) {
        self.host = host
        self.body = body
    }

    isolated deinit { stop() }

    var isRunning: Bool { tickID != 0 || timer != nil }

    func start() {
        guard !isRunning, let host else { return }
        guard let widget = host.widget else { return startTimer() }
        tickID = gtk_widget_add_tick_callback(
            widget,
            { _, clock, data in
                guard let clock, let data else { return gboolean(0) }
                let ticker = Unmanaged<WeakTicker>.fromOpaque(data)
                let time = gdk_frame_clock_get_frame_time(clock)
                return MainActor.assumeIsolated { ticker.takeUnretainedValue().target?.tick(time) ?? gboolean(0) }
            }, Unmanaged.passRetained(WeakTicker(target: self)).toOpaque(),
            { data in if let data { Unmanaged<WeakTicker>.fromOpaque(data).release() } })
    }

    func stop() {
        timer = nil
        guard tickID != 0 else { return }
        // A destroyed widget has already removed its callbacks.
        if let widget = host?.widget { gtk_widget_remove_tick_callback(widget, tickID) }
        tickID = 0
    }

    private func tick(_ time: gint64) -> gboolean {
        let id = tickID
        if body(time) { return gboolean(1) }
        // The body may have stopped this one and started another.
        if tickID == id { tickID = 0 }
        return gboolean(0)
    }

    /// Calls the body about 60 times a second without a widget.
    private func startTimer() {
        timer = MainLoopCall.after(milliseconds: 16) { [weak self] in
            guard let self else { return }
            timer = nil
            if body(g_get_monotonic_time()) { startTimer() }
        }
    }

    private final class WeakTicker {
        weak var target: FrameTicker?
        init(target: FrameTicker) { self.target = target }
    }
}
