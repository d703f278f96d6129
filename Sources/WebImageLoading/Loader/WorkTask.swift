internal import WebImageCore

/// A load that consists of one work item.
final class WorkTask: LoaderTask {
    private let item: WorkItem
    private let cancellation: Cancellation

    init(item: WorkItem, cancellation: Cancellation) {
        self.item = item
        self.cancellation = cancellation
    }

    /// The work stays queued, ahead of other work, to report its end on the loader's thread as usual.
    func cancel() {
        cancellation.cancel()
        item.setPriority(.veryHigh)
    }

    func setPriority(_ priority: LoadPriority) {
        if !cancellation.isCancelled { item.setPriority(priority) }
    }
}
