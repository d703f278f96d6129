internal import WebImageCore

/// A load that is one piece of work on a queue.
final class WorkTask: LoaderTask {
    private let item: WorkItem
    private let cancellation: Cancellation

    init(item: WorkItem, cancellation: Cancellation) {
        self.item = item
        self.cancellation = cancellation
    }

    /// The work stays queued, ahead of the rest, to report its end on the loader's thread like any other.
    func cancel() {
        cancellation.cancel()
        item.setPriority(.veryHigh)
    }

    func setPriority(_ priority: LoadPriority) {
        if !cancellation.isCancelled { item.setPriority(priority) }
    }
}
