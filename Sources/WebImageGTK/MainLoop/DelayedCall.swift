internal import CWebImageGTK

/// Calls a function once after some time, on the main thread; unless it is released before.
@MainActor final class DelayedCall {
    private let body: @MainActor () -> Void
    /// 0 once the source is gone.
    private var sourceID: guint = 0

    /// - Parameter milliseconds: how long to wait at least.
    init(afterMilliseconds milliseconds: UInt32, _ body: @escaping @MainActor () -> Void) {
        self.body = body
        // Unretained: `deinit` takes the source away.
        sourceID = g_timeout_add_full(
            G_PRIORITY_DEFAULT, milliseconds,
            { data in
                guard let data else { return gboolean(0) }
                let call = Unmanaged<DelayedCall>.fromOpaque(data)
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
