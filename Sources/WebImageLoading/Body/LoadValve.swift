internal import WebImageCore

/// Stops and restarts the bytes of a load: the last wish stands, whichever threads the wishes come from.
///
/// Wishes may come before the load is known, as its first bytes may arrive before `load` has returned. The task is told
/// outside the lock, by one thread at a time, until it knows the last wish.
package final class LoadValve: Sendable {
    private struct State {
        var task: (any LoaderTask)?
        var isClosed = false
        var isToldClosed = false
        var isTelling = false
        var isCancelled = false
        var hasEnded = false
    }

    private let state = Lock(State())

    package init() {}

    /// Names the load.
    package func attach(_ task: any LoaderTask) {
        let isCancelled = state.withLock { state in
            if !state.hasEnded { state.task = task }
            return state.isCancelled
        }
        if isCancelled { task.cancel() } else { tell() }
    }

    /// Lets no more bytes come, or lets them come again.
    package func setClosed(_ isClosed: Bool) {
        let isNew = state.withLock { state in
            defer { state.isClosed = isClosed }
            return state.isClosed != isClosed
        }
        if isNew { tell() }
    }

    /// Cancels the load, now or once it is known.
    package func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    /// Lets go of the load, which has ended; it may well keep, through its handler, this valve.
    package func end() {
        // Released outside the lock: it may run code when it goes.
        let task = state.withLock { state in
            state.hasEnded = true
            defer { state.task = nil }
            return state.task
        }
        _ = task
    }

    private func tell() {
        while true {
            let wish = state.withLock { state -> (task: any LoaderTask, isClosed: Bool)? in
                guard !state.isTelling, let task = state.task, state.isClosed != state.isToldClosed else { return nil }
                state.isTelling = true
                state.isToldClosed = state.isClosed
                return (task, state.isClosed)
            }
            guard let wish else { return }
            if wish.isClosed { wish.task.pause() } else { wish.task.resume() }
            state.withLock { $0.isTelling = false }
        }
    }
}
