internal import CWebImageGTK
internal import Glibc
internal import WebImage

/// Lets Swift's main actor run under GLib's main loop.
///
/// GTK's loop knows nothing of `MainActor` and `DispatchQueue.main`: without this, whatever is sent there waits for
/// ever. Once installed, both run on the GTK thread, as do `OperationQueue.main` and tasks that resume on the main
/// actor. `RunLoop.main` and Foundation's `Timer` stay undriven. The main queue runs one piece of work at a time: what is
/// sent there from inside a nested main loop waits until that loop has ended.
///
/// ```swift
/// MainLoop.install()
/// g_application_run(application, 0, nil)      // from a synchronous `main`: an asynchronous one gives the thread away
/// ```
@MainActor public enum MainLoop {
    /// Adds the source that drains the main queue, and from then on keeps decoders off one processor, and the `GApplication`
    /// running until loads with `WebImageOptions.continueInBackground` end; does so once, however often it is called.
    ///
    /// Call it before `g_application_run` and before any `WebImageManager` is made. The first ``WebPicture`` calls it as
    /// well.
    public static func install() { _ = sourceID }

    private static let sourceID: guint = {
        DecodingQueue.prepareForViews()
        ApplicationHold.install()
        return g_unix_fd_add_full(
            G_PRIORITY_DEFAULT, _dispatch_get_main_queue_handle_4CF(), G_IO_IN,
            { eventDescriptor, _, _ in
                // The event is reset before the queue is drained: what is queued meanwhile raises it again.
                var count: UInt64 = 0
                _ = read(eventDescriptor, &count, MemoryLayout.size(ofValue: count))
                _dispatch_main_queue_callback_4CF(nil)
                return gboolean(1)
            }, nil, nil)
    }()
}
