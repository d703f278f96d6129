import WebImageCore
import WebImageLoading

/// Something under way that can be hurried or given up: a queued disk read, a transfer, a decode, a place among those who
/// wait for shared work.
protocol WorkStep: Sendable {
    /// Gives it up; harmless once it has ended.
    func cancel()
    /// Moves it among those that wait for the same resource.
    func setPriority(_ priority: LoadPriority)
}

extension WorkStep {
    /// Passes a priority on; again if it has changed meanwhile, so that the last value stays, whichever of several threads
    /// passes it on last. Harmless once the step has ended.
    ///
    /// - Parameter known: what the step was begun with.
    func follow(unlessStill known: LoadPriority? = nil, _ priority: () -> LoadPriority) {
        var applied = known
        while case let wanted = priority(), wanted != applied {
            setPriority(wanted)
            applied = wanted
        }
    }
}

/// Work on a ``WorkQueue``: taken out of the queue while it waits, told to stop at its next checkpoint once it runs.
struct QueuedStep: WorkStep {
    let item: WorkItem
    var cancellation: Cancellation?

    func cancel() {
        cancellation?.cancel()
        item.cancel()
    }

    func setPriority(_ priority: LoadPriority) { item.setPriority(priority) }
}

/// A loader's task.
struct LoaderStep: WorkStep {
    let task: any LoaderTask

    func cancel() { task.cancel() }
    func setPriority(_ priority: LoadPriority) { task.setPriority(priority) }
}
