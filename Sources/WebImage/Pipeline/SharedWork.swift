import WebImageCore

/// Work that several subscribers wait for: it runs once, at the highest priority among them, and stops when the last
/// one leaves.
///
/// ```
///  subscribe ─┐                        ┌► handler
///  subscribe ─┼► SharedWork ── step ───┼► handler      step: what it is busy with now (read, transfer, decode, or a
///  subscribe ─┘   priority = max       └► handler            subscription to work of the stage below)
/// ```
///
/// Handlers get events in order, outside every lock, on whatever thread the work runs. `finished` comes exactly once, but
/// to nobody who has left by then. One exception to the order: what ``welcome(_:)`` tells a late subscriber, on the
/// subscriber's thread, may come beside or after newer events, also the last.
///
/// A second step may run beside the first, to make a provisional result of what is there meanwhile.
final class SharedWork<Output: Sendable>: Sendable {
    enum Event: Sendable {
        case progress(LoadProgress)
        /// All attempts at a loader so far; the last one may wait or run.
        case attempts([LoadAttempt])
        /// More of a body is there, from its beginning on. One on its way to a late subscriber may come after a longer one.
        case bytes(soFar: PartialBody)
        /// What will do until the end, as a stale picture while the server is asked. Numbers rise: one on its way to a late
        /// subscriber may come after one with a higher number.
        case provisional(Output, number: Int)
        case finished(Result<Output, WebImageError>)
    }

    typealias Handler = @Sendable (Event) -> Void

    /// What it has done so far.
    let trace = TraceRecorder()
    private let state = Lock(State())
    /// Takes the work out of its table: called once, when it has ended or was abandoned.
    private let onEnd: @Sendable (SharedWork) -> Void

    private struct Subscriber {
        let id: Int
        var priority: LoadPriority
        let handler: Handler
    }

    private struct State {
        var subscribers: [Subscriber] = []
        var subscriberCount = 0
        var step: (any WorkStep)?
        var stepCount = 0
        var progress: LoadProgress?
        var attempts: [LoadAttempt] = []
        var partialBody: PartialBody?
        var provisional: (output: Output, number: Int)?
        var stepBeside: (any WorkStep)?
        var stepBesideCount = 0
        var stepBesideNumber = 0
        var isResultWanted = false
        /// Cleared by the end and by the last subscriber's leaving; from then on nobody can join.
        var isLive = true

        var priority: LoadPriority { subscribers.lazy.map(\.priority).max() ?? .veryLow }

        /// From now on nobody can join. What it held is to be let go outside the lock.
        mutating func end() -> Ending {
            defer {
                subscribers = []
                (step, stepBeside) = (nil, nil)
                (partialBody, provisional) = (nil, nil)
            }
            isLive = false
            return Ending(
                handlers: subscribers.map(\.handler), step: step, stepBeside: stepBeside,
                provisional: provisional?.output)
        }
    }

    private struct Ending {
        let handlers: [Handler]
        let step: (any WorkStep)?
        let stepBeside: (any WorkStep)?
        let provisional: Output?
    }

    init(onEnd: @escaping @Sendable (SharedWork) -> Void) {
        self.onEnd = onEnd
    }

    /// Whether anybody still waits for it.
    var isLive: Bool { state.withLock { $0.isLive } }

    /// Whether somebody has asked for the result itself, and not only for something to be made of it.
    var isResultWanted: Bool { state.withLock { $0.isResultWanted } }

    /// The highest priority among the subscribers.
    var priority: LoadPriority { state.withLock { $0.priority } }

    // MARK: For subscribers

    /// Joins; `nil` when the work is over. A late subscriber is told the progress, and given the bytes and the last
    /// provisional result, so far.
    ///
    /// - Parameter wantsResult: `false` for work of the next stage, which makes something else of the result.
    func subscribe(
        priority: LoadPriority, wantsResult: Bool = true, handler: @escaping Handler
    ) -> Subscription<Output>? {
        state.withLock { state in
            guard state.isLive else { return nil }
            if wantsResult { state.isResultWanted = true }
            state.subscriberCount += 1
            state.subscribers.append(Subscriber(id: state.subscriberCount, priority: priority, handler: handler))
            return Subscription(work: self, id: state.subscriberCount)
        }
    }

    /// Tells subscriber `id` what has happened before it came, and hurries the work if it is in more of a hurry.
    func welcome(_ id: Int) {
        let (handler, attempts, progress, partialBody, provisional) = state.withLock { state in
            (
                state.subscribers.first { $0.id == id }?.handler, state.attempts, state.progress, state.partialBody,
                state.provisional
            )
        }
        if let handler, !attempts.isEmpty { handler(.attempts(attempts)) }
        if let handler, let progress { handler(.progress(progress)) }
        if let handler, let partialBody { handler(.bytes(soFar: partialBody)) }
        if let handler, let provisional { handler(.provisional(provisional.output, number: provisional.number)) }
        applyPriority()
    }

    fileprivate func leave(_ id: Int) {
        let (isAbandoned, ending, handler) = state.withLock { state -> (Bool, Ending?, Handler?) in
            guard let index = state.subscribers.firstIndex(where: { $0.id == id }) else { return (false, nil, nil) }
            // Released outside the lock: what a handler captures may run code when it goes.
            let handler = state.subscribers.remove(at: index).handler
            guard state.isLive, state.subscribers.isEmpty else { return (false, nil, handler) }
            return (true, state.end(), handler)
        }
        _ = handler
        if isAbandoned {
            onEnd(self)
            ending?.step?.cancel()
            ending?.stepBeside?.cancel()
        } else {
            applyPriority()
        }
    }

    fileprivate func setPriority(_ priority: LoadPriority, of id: Int) {
        state.withLock { state in
            guard let index = state.subscribers.firstIndex(where: { $0.id == id }) else { return }
            state.subscribers[index].priority = priority
        }
        applyPriority()
    }

    // MARK: For the work itself

    /// Starts what the work is busy with next.
    ///
    /// - Parameter start: may end the step, or even the work, before it returns; the step it returns is then dropped.
    func run(_ start: (LoadPriority) -> (any WorkStep)?) {
        // Steps are let go outside the lock, here and at the end: one may be a client's object, whose end runs its code.
        let (ticket, priority, last) = state.withLock { state in
            defer { state.step = nil }
            state.stepCount += 1
            return (state.stepCount, state.isLive ? state.priority : nil, state.step)
        }
        withExtendedLifetime(last) {}
        guard let priority, let step = start(priority) else { return }
        let isLive = state.withLock { state in
            if state.isLive, state.stepCount == ticket { state.step = step }
            return state.isLive
        }
        if isLive { applyPriority(unlessStill: priority) } else { step.cancel() }
    }

    /// Tells everybody how far it is.
    func report(_ progress: LoadProgress) {
        let handlers = state.withLock { state in
            state.progress = progress
            return state.subscribers.map(\.handler)
        }
        for handler in handlers { handler(.progress(progress)) }
    }

    /// Tells everybody how often it has been tried. Bytes of an attempt that has failed are forgotten.
    func report(_ attempts: [LoadAttempt]) {
        // The bytes are let go outside the lock.
        let (handlers, partialBody) = state.withLock { state -> ([Handler], PartialBody?) in
            state.attempts = attempts
            return (state.subscribers.map(\.handler), attempts.isAtStartOfAnother ? state.partialBody.take() : nil)
        }
        withExtendedLifetime(partialBody) {}
        for handler in handlers { handler(.attempts(attempts)) }
    }

    /// Gives everybody the bytes that are there.
    func report(_ partialBody: PartialBody) {
        let handlers = state.withLock { state in
            state.partialBody = partialBody
            return state.subscribers.map(\.handler)
        }
        for handler in handlers { handler(.bytes(soFar: partialBody)) }
    }

    /// Gives everybody what will do until the end.
    func report(provisional output: Output) {
        // The last one is let go outside the lock.
        let (handlers, number, last) = state.withLock { state -> ([Handler], Int, Output?) in
            guard state.isLive else { return ([], 0, nil) }
            let last = state.provisional
            let number = (last?.number ?? 0) + 1
            state.provisional = (output, number)
            return (state.subscribers.map(\.handler), number, last?.output)
        }
        _ = last
        for handler in handlers { handler(.provisional(output, number: number)) }
    }

    /// Starts something beside the step: it is cancelled when the work ends or is given up, and when another takes its place.
    ///
    /// - Parameters:
    ///   - number: of the provisional result that it is about: nothing starts for one that comes after another with a higher
    ///     number.
    ///   - start: as with ``run(_:)``.
    func runBeside(about number: Int = .max, _ start: (LoadPriority) -> (any WorkStep)?) {
        let (ticket, priority, last) = state.withLock { state -> (Int, LoadPriority?, (any WorkStep)?) in
            guard number >= state.stepBesideNumber else { return (0, nil, nil) }
            defer { state.stepBeside = nil }
            state.stepBesideNumber = number
            state.stepBesideCount += 1
            return (state.stepBesideCount, state.isLive ? state.priority : nil, state.stepBeside)
        }
        last?.cancel()
        guard let priority, let step = start(priority) else { return }
        let isWanted = state.withLock { state in
            let isWanted = state.isLive && state.stepBesideCount == ticket
            if isWanted { state.stepBeside = step }
            return isWanted
        }
        if !isWanted { step.cancel() }
    }

    /// Ends it; only the first call counts.
    func finish(_ result: Result<Output, WebImageError>) {
        let ending = state.withLock { $0.isLive ? $0.end() : nil }
        guard let ending else { return }
        ending.stepBeside?.cancel()
        onEnd(self)
        for handler in ending.handlers { handler(.finished(result)) }
    }

    /// Passes the priority on to the current step; again if it has changed meanwhile, so that the last value stays.
    private func applyPriority(unlessStill known: LoadPriority? = nil) {
        var applied = known
        while true {
            let (step, stepBeside, priority) = state.withLock { ($0.step, $0.stepBeside, $0.priority) }
            guard step != nil || stepBeside != nil, priority != applied else { return }
            step?.setPriority(priority)
            stepBeside?.setPriority(priority)
            applied = priority
        }
    }
}

/// One subscriber's place at a ``SharedWork``.
struct Subscription<Output: Sendable>: WorkStep {
    fileprivate let work: SharedWork<Output>
    let id: Int

    /// Leaves; the handler is not called again, except by a call that runs already.
    func cancel() { work.leave(id) }

    func setPriority(_ priority: LoadPriority) { work.setPriority(priority, of: id) }
}
