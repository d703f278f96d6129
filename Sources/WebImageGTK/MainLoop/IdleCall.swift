internal import CWebImageGTK

/// Calls a function once when the main loop has nothing more urgent to do, such as a layout or a frame; unless it is
/// released before.
@MainActor final class IdleCall {
    private let body: @MainActor () -> Void
    /// 0 once the source is gone.
    private var sourceID: guint = 0

    init(_ body: @escaping @MainActor () -> Void) {
        self.body = body
        // Unretained: `deinit` takes the source away.
        sourceID = g_idle_add_full(
            G_PRIORITY_DEFAULT_IDLE,
            { data in
                guard let data else { return gboolean(0) }
                let call = Unmanaged<IdleCall>.fromOpaque(data)
                MainActor.assumeIsolated { call.takeUnretainedValue().run() }
                return gboolean(0)
            }, Unmanaged.passUnretained(self).toOpaque(), nil)
    }

    isolated deinit { if sourceID != 0 { g_source_remove(sourceID) } }

    private func run() {
        sourceID = 0
        body()
    }
}
