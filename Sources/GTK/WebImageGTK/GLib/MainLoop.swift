internal import CWebImageGTK
internal import GTKObjects
@_exported public import WebImage
internal import WebImageMainLoop

/// Runs Swift's main actor under GLib's main loop.
///
/// GTK's loop does not drain `MainActor` and `DispatchQueue.main`. Without this, work that is sent to them never runs. Once
/// installed, both run on the GTK thread, as do `OperationQueue.main` and tasks that resume on the main actor.
/// `RunLoop.main` and Foundation's `Timer` do not run. The main queue is not reentrant: work that is sent from a nested
/// main loop waits until that loop has ended.
///
/// ```swift
/// MainLoop.install()
/// gtk_window_present(window)
/// // From a synchronous `main`: an asynchronous one leaves the main thread.
/// while g_list_model_get_n_items(gtk_window_get_toplevels()) > 0 { g_main_context_iteration(nil, 1) }
/// ```
@MainActor public enum MainLoop {
    /// Adds the source that drains the main queue. From then on decoders leave one processor to the main thread, the
    /// `GApplication` runs until loads with `WebImageOptions.continueInBackground` have ended, and managers are in low-data mode on
    /// metered networks (`WebImageManager.isLowDataModeEnabled`). Later calls do nothing.
    ///
    /// Call it before `g_application_run` and before any `WebImageManager` is made. The first view calls it as well.
    public static func install() { installation }

    /// Runs callbacks of loads on the main thread without delaying frames: in order, for at most 4 ms per turn of the
    /// main loop. Views use it. Pass it to a load or manager as the callback queue. Any thread can add closures to it with
    /// `enqueue(_:)`.
    public nonisolated static var callbackQueue: any CallbackQueue { ApplyQueue.main }

    /// Observes a `GtkApplication` to reduce the memory of caches. The application owns the observer.
    ///
    /// - When the desktop's `GMemoryMonitor` reports low memory, the caches release half; at the critical level,
    ///   everything. The kernel's reports are handled without this call (`MemoryPressureSource.system`).
    /// - When the last window is unmapped, memory caches are emptied according to their configuration
    ///   (`MemoryCache.didEnterBackground()`), and frames of invisible animations are released.
    ///
    /// - Parameters:
    ///   - application: a `GtkApplication`. Windows that are added later count too.
    ///   - managers: the managers whose caches are trimmed. Caches of other types than `ImageCache` are not trimmed.
    ///   - onForegroundChange: called on the main thread after the first window was mapped or the last one unmapped.
    public static func observe(
        _ application: UnsafeMutableRawPointer, managers: [WebImageManager] = [.shared],
        onForegroundChange: (@MainActor (_ isInForeground: Bool) -> Void)? = nil
    ) {
        let observer = ApplicationObserver(of: application, managers: managers)
        observer.onChange = onForegroundChange
        ApplicationObserver.key.set(observer, on: ObjectPointer(application))
    }

    private static let installation: Void = {
        ViewPresence.announce()
        ApplicationHold.install()
        NetworkObserver.install()
        GLibMainLoop.install()
    }()
}
