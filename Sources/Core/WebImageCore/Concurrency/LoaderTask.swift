/// The urgency of a load, compared with others that wait for the same slot, thread or disk.
///
/// ```swift
/// let operation = manager.load(WebImageRequest(url, priority: .low)) { result in print(result) }
/// operation.priority = .veryHigh  // while it runs
/// ```
///
/// Priorities order queues; they never interrupt work that has started. Work shared by several requests runs at the
/// highest priority among them.
public enum LoadPriority: Sendable, Comparable, CaseIterable {
    /// Work whose result is not needed yet.
    case veryLow
    /// Prefetching, and images outside the visible part of a list.
    case low
    /// The default.
    case normal
    /// Images on screen.
    case high
    /// Images that the user has just requested.
    case veryHigh

    /// From 0, the least urgent.
    @inlinable var level: Int {
        switch self {
        case .veryLow: 0
        case .low: 1
        case .normal: 2
        case .high: 3
        case .veryHigh: 4
        }
    }
}

/// Work in progress: a load, a read, a decode, or a subscription to work that others share.
///
/// ```swift
/// let task = ImageDownloader.shared.load(LoaderRequest(url: url), priority: .low) { event in print(event) }
/// task.setPriority(.high)
/// task.cancel()
/// ```
///
/// Methods may be called from any thread, at any time and any number of times, also after the work has ended.
public protocol LoaderTask: Sendable {
    /// Stops the work. A loader then ends with ``WebImageError/cancelled``, unless its end was already on its way.
    func cancel()
    /// Moves the work to another place in the queues that it waits in.
    func setPriority(_ priority: LoadPriority)
}

/// A task whose flow of bytes can be stopped.
package protocol PausableTask: LoaderTask {
    /// Stops the flow of bytes, because the receiver cannot keep up. Bytes already on their way may still arrive.
    func pause()
    /// Restarts the flow of bytes.
    func resume()
}

extension LoaderTask {
    /// Does nothing.
    public func setPriority(_ priority: LoadPriority) {}
    /// Stops the flow of bytes, if the task can.
    func pause() { (self as? any PausableTask)?.pause() }
    /// Restarts the flow of bytes.
    func resume() { (self as? any PausableTask)?.resume() }

    /// Sets the priority until it is the wanted one, which may change on another thread meanwhile. For loaders that pass
    /// the priority of their task on to others.
    ///
    /// - Parameters:
    ///   - known: the priority that the task started with; `nil`, the default, if that is unknown.
    ///   - wanted: returns the priority that the task should have. It is called again after each change.
    public func follow(unlessStill known: LoadPriority? = nil, _ wanted: () -> LoadPriority) {
        var applied = known
        while case let priority = wanted(), priority != applied {
            setPriority(priority)
            applied = priority
        }
    }
}

/// Controls a task that may not have started yet.
///
/// Calls that arrive before ``attach(_:priority:)`` take effect then. The task is called outside the lock, by one
/// thread at a time, until it has the latest requested state.
package final class DeferredTask: PausableTask {
    private struct State {
        var task: (any LoaderTask)?
        var isPaused = false
        var wasToldToPause = false
        var priority: LoadPriority?
        var toldPriority: LoadPriority?
        var isTelling = false
        var isCancelled = false
        var hasEnded = false
    }

    private let state = Lock(State())

    package init() {}

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// - Parameter priority: the priority that the task started with.
    package func attach(_ task: any LoaderTask, priority: LoadPriority? = nil) {
        let (isCancelled, isOutdated) = state.withLock { state in
            if !state.hasEnded { state.task = task }
            if let priority, state.priority == priority { state.toldPriority = priority }
            return (state.isCancelled, state.isPaused || state.priority != state.toldPriority)
        }
        if isCancelled { task.cancel() } else if isOutdated { update() }
    }

    package func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    package func setPriority(_ priority: LoadPriority) {
        state.withLock { $0.priority = priority }
        update()
    }

    package func pause() { setPaused(true) }
    package func resume() { setPaused(false) }

    func setPaused(_ isPaused: Bool) {
        state.withLock { $0.isPaused = isPaused }
        update()
    }

    /// Releases the task, which has ended: its handler may hold this object.
    package func end() {
        // Released outside the lock: a custom task may run code when it is deallocated.
        let task = state.withLock { state in
            state.hasEnded = true
            return state.task.take()
        }
        withExtendedLifetime(task) {}
    }

    private func update() {
        while true {
            typealias Change = (task: any LoaderTask, isPaused: Bool?, priority: LoadPriority?)
            let change = state.withLock { state -> Change? in
                guard !state.isTelling, let task = state.task else { return nil }
                let pause = state.isPaused == state.wasToldToPause ? nil : state.isPaused
                let priority = state.priority == state.toldPriority ? nil : state.priority
                guard pause != nil || priority != nil else { return nil }
                state.isTelling = true
                (state.wasToldToPause, state.toldPriority) = (state.isPaused, state.priority)
                return (task, pause, priority)
            }
            guard let change else { return }
            if let priority = change.priority { change.task.setPriority(priority) }
            switch change.isPaused {
            case true?:
                change.task.pause()
                // The end came first: what the task controls next must not stay paused.
                if state.withLock({ $0.hasEnded }) { change.task.resume() }
            case false?: change.task.resume()
            case nil: break
            }
            state.withLock { $0.isTelling = false }
        }
    }
}

/// Work in a ``WorkQueue`` that stops at its next checkpoint when it is cancelled.
///
/// It has three words, so that `any LoaderTask` holds it in place.
package struct QueuedTask: LoaderTask {
    private let item: WorkItem
    private let cancellation: Cancellation?

    package init(_ item: WorkItem, cancellation: Cancellation? = nil) {
        (self.item, self.cancellation) = (item, cancellation)
    }

    package func cancel() {
        cancellation?.cancel()
        item.cancel()
    }

    package func setPriority(_ priority: LoadPriority) { item.setPriority(priority) }
}
