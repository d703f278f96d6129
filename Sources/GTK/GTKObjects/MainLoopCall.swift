public import CWebImageGTK

/// Calls a function once, later, on the main thread. Releasing this object cancels the call.
@MainActor public final class MainLoopCall {
    private let body: @MainActor () -> Void
    /// The ID of the source; 0 once it is removed.
    private var sourceID: guint = 0

    /// Returns a call for when the main loop has no work of higher priority, such as a layout or a frame.
    public static func whenIdle(_ body: @escaping @MainActor () -> Void) -> MainLoopCall {
        MainLoopCall(body) { g_idle_add_full(G_PRIORITY_DEFAULT_IDLE, $0, $1, nil) }
    }

    /// Returns a call after a delay.
    ///
    /// - Parameter milliseconds: the minimum delay.
    public static func after(milliseconds: UInt32, _ body: @escaping @MainActor () -> Void) -> MainLoopCall {
        MainLoopCall(body) { g_timeout_add_full(G_PRIORITY_DEFAULT, milliseconds, $0, $1, nil) }
    }

    /// Returns a call at a moment.
    ///
    /// - Parameter time: the time in microseconds, as from `g_get_monotonic_time`. Calls for the same time run in the
    ///   same turn of the loop.
    public static func at(_ time: gint64, _ body: @escaping @MainActor () -> Void) -> MainLoopCall {
        MainLoopCall(body) { function, data in
            let source = g_timeout_source_new(0)
            defer { g_source_unref(source) }
            g_source_set_callback(source, function, data, nil)
            g_source_set_ready_time(source, time)
            return g_source_attach(source, nil)
        }
    }

    /// - Parameter attach: attaches a source that calls the function with the pointer.
    private init(_ body: @escaping @MainActor () -> Void, attach: (GSourceFunc, gpointer) -> guint) {
        self.body = body
        // Unretained, because `deinit` removes the source.
        sourceID = attach(
            { data in
                guard let data else { return gboolean(0) }
                let call = Unmanaged<MainLoopCall>.fromOpaque(data)
                MainActor.assumeIsolated { call.takeUnretainedValue().run() }
                return gboolean(0)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    isolated deinit { if sourceID != 0 { g_source_remove(sourceID) } }

    private func run() {
        sourceID = 0
        body()
    }
}
