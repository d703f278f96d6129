internal import CWebImageGLib
// Links libdispatch, whose functions for main loops CWebImageGLib declares.
internal import Dispatch
internal import Glibc

/// Runs Swift's main actor under GLib's main loop, which GTK, GStreamer and others run.
///
/// GLib's loop does not drain `MainActor` and `DispatchQueue.main`. Without this, work that is sent to them never runs. Once
/// installed, both run on the main thread, as do `OperationQueue.main` and tasks that resume on the main actor.
///
/// ```swift
/// GLibMainLoop.install()
/// Task { @MainActor in print("under GLib's main loop") }
/// ```
///
/// There is no polling: libdispatch makes a descriptor readable when work waits, and a source of the loop watches it. A
/// change of threads takes some 15 µs.
///
/// `RunLoop.main` and Foundation's `Timer` do not run. The main queue is not reentrant: work that is sent from a nested
/// main loop waits until that loop has ended. An `async` main does not work, because it leaves the main thread.
@MainActor public enum GLibMainLoop {
    /// Adds the source to the default main context. Later calls do nothing.
    ///
    /// Call it on the main thread, before the loop runs. The views of `WebImageGTK` call it as well. A framework that
    /// drains the main queue too does no harm.
    public static func install() { _ = sourceID }

    private static let sourceID = g_unix_fd_add_full(
        G_PRIORITY_DEFAULT, _dispatch_get_main_queue_handle_4CF(), G_IO_IN,
        { eventDescriptor, _, _ in
            // Resets the event before draining the queue, so that work queued meanwhile sets it again.
            var count: UInt64 = 0
            _ = read(eventDescriptor, &count, MemoryLayout.size(ofValue: count))
            _dispatch_main_queue_callback_4CF(nil)
            return gboolean(1)
        }, nil, nil)
}
