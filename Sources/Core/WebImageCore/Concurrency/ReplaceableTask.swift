/// The current one of the tasks that make up a load, one after the other, such as its attempts.
///
/// Calls that arrive between two tasks take effect on the next one.
package final class ReplaceableTask: PausableTask {
    private struct State {
        /// The current task, or the next one if calls have arrived for it.
        var task: DeferredTask?
        var priority: LoadPriority
        var isCancelled = false

        mutating func currentTask() -> DeferredTask {
            if let task { return task }
            let next = DeferredTask()
            task = next
            return next
        }
    }

    private let state: Lock<State>

    /// - Parameter priority: of the first task, unless it is changed before.
    package init(priority: LoadPriority) { state = Lock(State(priority: priority)) }

    /// Starts the next task; the one before has ended. If the load is cancelled, the task is cancelled at once, so that it reports its
    /// own end.
    ///
    /// - Parameter start: starts the task with this priority. Its last event must call ``end()``.
    package func start(_ start: (LoadPriority) -> any LoaderTask) {
        let (task, priority, isCancelled) = state.withLock { state in
            let task = state.currentTask()
            task.setPriority(state.priority)
            return (task, state.priority, state.isCancelled)
        }
        if isCancelled { task.cancel() }
        task.attach(start(priority), priority: priority)
    }

    /// Releases the current task, which has ended. A pause of it does not apply to the next one.
    package func end() { state.withLock { $0.task.take() }?.end() }

    package var isCancelled: Bool { state.withLock { $0.isCancelled } }

    package func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    /// Cancels the current task, but not those that follow it.
    package func cancelCurrent() { state.withLock { $0.task }?.cancel() }

    package func setPriority(_ priority: LoadPriority) {
        let task = state.withLock { state in
            state.priority = priority
            return state.task
        }
        task?.setPriority(priority)
    }

    package func pause() { state.withLock { $0.currentTask() }.pause() }
    package func resume() { state.withLock { $0.task }?.resume() }
}
