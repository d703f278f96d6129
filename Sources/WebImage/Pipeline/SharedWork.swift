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
        /// A loader is asked.
        case loading(LoaderActivity)
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
    /// Returns why a subscriber wants no loader to be asked; `nil` if it has no objection.
    typealias Objection = @Sendable () -> WebImageError?

    /// What it has done so far.
    let trace = TraceRecorder()
    private let state = Lock(State())
    /// Takes the work out of its table: called once, when it has ended or was abandoned.
    private let onEnd: @Sendable (SharedWork) -> Void

    private struct Subscriber {
        let id: Int
        var priority: LoadPriority
        let handler: Handler
        let objection: Objection?
    }

    private struct State {
        /// In the order in which they came.
        private(set) var subscribers: [Subscriber] = []
        /// The highest among them.
        private(set) var priority = LoadPriority.veryLow
        private var subscriberCount = 0
        var step: (any WorkStep)?
        var stepCount = 0
        var progress: LoadProgress?
        var activity: LoaderActivity?
        var attempts: [LoadAttempt] = []
        var partialBody: PartialBody?
        var provisional: (output: Output, number: Int)?
        var stepBeside: (any WorkStep)?
        var stepBesideCount = 0
        var isResultWanted = false
        /// Whether a subscriber has allowed to ask a loader.
        var mayLoad = false
        /// Cleared by the end and by the last subscriber's leaving; from then on nobody can join.
        var isLive = true
        /// Set when every subscriber objects to the loader; then nobody can join, unless a loader is asked all the same, for
        /// others who want the same bytes.
        var isRefused = false

        mutating func add(_ handler: @escaping Handler, _ objection: Objection?, at priority: LoadPriority) -> Int {
            subscriberCount += 1
            subscribers.append(
                Subscriber(id: subscriberCount, priority: priority, handler: handler, objection: objection))
            self.priority = max(self.priority, priority)
            return subscriberCount
        }

        mutating func remove(_ id: Int) -> Subscriber? {
            guard let index = index(of: id) else { return nil }
            let subscriber = subscribers.remove(at: index)
            if subscriber.priority == priority { updatePriority() }
            return subscriber
        }

        mutating func setPriority(_ priority: LoadPriority, of id: Int) {
            guard let index = index(of: id) else { return }
            subscribers[index].priority = priority
            updatePriority()
        }

        /// From the end: most look for themselves when they have just come.
        func index(of id: Int) -> Int? { subscribers.lastIndex { $0.id == id } }

        // No key paths: those of a generic type are put together at run time, which takes longer than all the rest.
        private mutating func updatePriority() {
            priority = subscribers.reduce(.veryLow) { max($0, $1.priority) }
        }

        /// From now on nobody can join. What it held is to be let go outside the lock.
        mutating func end() -> Ending {
            defer {
                subscribers = []
                (step, stepBeside) = (nil, nil)
                (partialBody, provisional) = (nil, nil)
            }
            isLive = false
            return Ending(
                subscribers: subscribers, step: step, stepBeside: stepBeside,
                provisional: provisional?.output)
        }
    }

    private struct Ending {
        let subscribers: [Subscriber]
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
    /// - Parameters:
    ///   - wantsResult: `false` for work of the next stage, which makes something else of the result.
    ///   - objection: called at most once, outside every lock, right before a loader is asked; not called if another
    ///     subscriber allows it first.
    func subscribe(
        priority: LoadPriority, wantsResult: Bool = true, objection: Objection? = nil, handler: @escaping Handler
    ) -> Subscription<Output>? {
        state.withLock { state in
            guard state.isLive, !state.isRefused else { return nil }
            if wantsResult { state.isResultWanted = true }
            return Subscription(work: self, id: state.add(handler, objection, at: priority))
        }
    }

    /// Tells subscriber `id` what has happened before it came, and hurries the work if it is in more of a hurry.
    func welcome(_ id: Int) {
        let (handler, activity, attempts, progress, partialBody, provisional) = state.withLock { state in
            (
                state.index(of: id).map { state.subscribers[$0].handler }, state.activity, state.attempts,
                state.progress, state.partialBody, state.provisional
            )
        }
        if let handler, let activity { handler(.loading(activity)) }
        if let handler, !attempts.isEmpty { handler(.attempts(attempts)) }
        if let handler, let progress { handler(.progress(progress)) }
        // What is stored goes before what arrives, as it came.
        if let handler, let provisional { handler(.provisional(provisional.output, number: provisional.number)) }
        if let handler, let partialBody { handler(.bytes(soFar: partialBody)) }
        passPriorityOn()
    }

    // Called through `WorkStep`, where the compiler does not know of what kind the work is: without a version for each, types are
    // put together at run time, which takes several times as long as all the rest.
    @_specialize(where Output == WebImageResponse)
    @_specialize(where Output == LoadedBytes)
    fileprivate func leave(_ id: Int) {
        let (isAbandoned, ending, handler) = state.withLock { state -> (Bool, Ending?, Handler?) in
            // Released outside the lock: what a handler captures may run code when it goes.
            guard let handler = state.remove(id)?.handler else { return (false, nil, nil) }
            guard state.isLive, state.subscribers.isEmpty else { return (false, nil, handler) }
            return (true, state.end(), handler)
        }
        _ = handler
        if isAbandoned {
            onEnd(self)
            ending?.step?.cancel()
            ending?.stepBeside?.cancel()
        } else {
            passPriorityOn()
        }
    }

    @_specialize(where Output == WebImageResponse)
    @_specialize(where Output == LoadedBytes)
    fileprivate func setPriority(_ priority: LoadPriority, of id: Int) {
        state.withLock { $0.setPriority(priority, of: id) }
        passPriorityOn()
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
        if isLive { step.follow(unlessStill: priority) { self.priority } } else { step.cancel() }
    }

    /// Returns why no loader may be asked: the first objection, if all subscribers object; `nil` if one does not.
    ///
    /// After an objection no subscriber joins: the work must end, unless a loader is asked all the same; see ``report(_:)``.
    func objectionToLoading() -> WebImageError? {
        var (lastID, first) = (0, WebImageError?.none)
        while true {
            let news = state.withLock { state -> [Subscriber] in
                guard state.isLive, !state.mayLoad else { return [] }
                let news = state.subscribers.filter { $0.id > lastID }
                // Under the lock, so that no subscriber joins that was not asked.
                if news.isEmpty, first != nil { state.isRefused = true }
                return news
            }
            if news.isEmpty { return first }
            for subscriber in news {
                guard let objection = subscriber.objection?() else {
                    state.withLock { $0.mayLoad = true }
                    return nil
                }
                first = first ?? objection
                lastID = subscriber.id
            }
        }
    }

    /// Tells everybody how far it is.
    func report(_ progress: LoadProgress) {
        let subscribers = state.withLock { state in
            state.progress = progress
            return state.subscribers
        }
        for subscriber in subscribers { subscriber.handler(.progress(progress)) }
    }

    /// Tells all subscribers that a loader is asked.
    func report(_ activity: LoaderActivity) {
        let subscribers = state.withLock { state in
            state.activity = activity
            state.isRefused = false
            return state.subscribers
        }
        for subscriber in subscribers { subscriber.handler(.loading(activity)) }
    }

    /// Tells everybody how often it has been tried. Bytes of an attempt that has failed are forgotten.
    func report(_ attempts: [LoadAttempt]) {
        // The bytes are let go outside the lock.
        let (subscribers, partialBody) = state.withLock { state -> ([Subscriber], PartialBody?) in
            state.attempts = attempts
            return (state.subscribers, attempts.isAtStartOfAnother ? state.partialBody.take() : nil)
        }
        withExtendedLifetime(partialBody) {}
        for subscriber in subscribers { subscriber.handler(.attempts(attempts)) }
    }

    /// Gives everybody the bytes that are there.
    func report(_ partialBody: PartialBody) {
        let subscribers = state.withLock { state in
            state.partialBody = partialBody
            return state.subscribers
        }
        for subscriber in subscribers { subscriber.handler(.bytes(soFar: partialBody)) }
    }

    /// Gives everybody what will do until the end.
    func report(provisional output: Output) {
        // The last one is let go outside the lock.
        let (subscribers, number, last) = state.withLock { state -> ([Subscriber], Int, Output?) in
            guard state.isLive else { return ([], 0, nil) }
            let last = state.provisional
            let number = (last?.number ?? 0) + 1
            state.provisional = (output, number)
            return (state.subscribers, number, last?.output)
        }
        _ = last
        for subscriber in subscribers { subscriber.handler(.provisional(output, number: number)) }
    }

    /// Starts something beside the step: it is cancelled when the work ends or is given up, and when another takes its place.
    ///
    /// - Parameter start: as with ``run(_:)``.
    func runBeside(_ start: (LoadPriority) -> (any WorkStep)?) {
        let (ticket, priority, last) = state.withLock { state -> (Int, LoadPriority?, (any WorkStep)?) in
            defer { state.stepBeside = nil }
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
        if isWanted { step.follow(unlessStill: priority) { self.priority } } else { step.cancel() }
    }

    /// Ends it; only the first call counts.
    func finish(_ result: Result<Output, WebImageError>) {
        let ending = state.withLock { $0.isLive ? $0.end() : nil }
        guard let ending else { return }
        ending.stepBeside?.cancel()
        onEnd(self)
        for subscriber in ending.subscribers { subscriber.handler(.finished(result)) }
    }

    /// A step that begins meanwhile follows it by itself.
    private func passPriorityOn() {
        let (step, stepBeside) = state.withLock { ($0.step, $0.stepBeside) }
        step?.follow { priority }
        stepBeside?.follow { priority }
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
