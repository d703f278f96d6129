import Glibc
import Synchronization
import WebImageCore

/// The process's threads for decoding: shared by all managers, since they share the processors.
package enum DecodingQueue {
    private static let leavesRoomForViews = Atomic(false)

    /// Keeps one processor for the main loop, and the others polite; the view module calls it before the first load.
    package static func prepareForViews() { leavesRoomForViews.store(true, ordering: .relaxed) }

    /// All processors; with views one less, and at a lower priority than the main thread.
    package static let shared: WorkQueue = {
        let processorCount = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        let hasViews = leavesRoomForViews.load(ordering: .relaxed)
        return WorkQueue(
            label: "webimage-decode", threadCount: hasViews ? processorCount - 1 : processorCount,
            niceness: hasViews ? 5 : 0)
    }()
}
