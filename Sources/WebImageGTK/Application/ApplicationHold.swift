internal import CWebImageGTK
internal import WebImage

/// Keeps the program's `GApplication` running, also without a window, while a load with
/// ``WebImageOptions/continueInBackground`` is under way.
@MainActor final class ApplicationHold {
    private var application: ObjectReference?

    /// Has the managers without a hook of their own hold the application.
    static func install() {
        let mainThread = UInt(bitPattern: g_thread_self())
        WebImageManager.Hooks.standardBackgroundTask.withLock { hook in
            hook = { _ in
                let hold = ApplicationHold()
                // GIO counts holds without a lock. On main it takes effect at once: the application may be about to end.
                if UInt(bitPattern: g_thread_self()) == mainThread {
                    MainActor.assumeIsolated { hold.begin() }
                } else {
                    ApplyQueue.main.enqueue { MainActor.assumeIsolated { hold.begin() } }
                }
                // In the queue, so that it never overtakes the beginning.
                return { ApplyQueue.main.enqueue { MainActor.assumeIsolated { hold.end() } } }
            }
        }
    }

    private nonisolated init() {}

    private func begin() {
        application = g_application_get_default().map { ObjectReference(retaining: ObjectPointer($0)) }
        if let application { g_application_hold(application.asApplication) }
    }

    private func end() {
        if let application { g_application_release(application.asApplication) }
        application = nil
    }
}

extension ObjectReference {
    fileprivate var asApplication: UnsafeMutablePointer<GApplication> {
        pointer.address.assumingMemoryBound(to: GApplication.self)
    }
}
