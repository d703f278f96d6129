/// A report of a job before it ends, such as progress. A late subscriber receives those that still matter.
@usableFromInline package protocol JobNews: Sendable {
    /// Adds the report to what a late subscriber receives, in place of older ones about the same thing.
    ///
    /// - Returns: the older one, to be released outside the lock under which this is called: it may hold bytes.
    func add(to news: inout [Self]) -> Self?
}

/// The news type of jobs that report only their result.
@usableFromInline package enum NoNews: JobNews {
    @inlinable package func add(to news: inout [NoNews]) -> NoNews? { switch self {} }
}

/// Work that several subscribers share: it runs once, at the highest priority among them, and stops when the last one
/// leaves.
///
/// ```
///  subscribe ─┐                 ┌► handler
///  subscribe ─┼► Job ── step ───┼► handler     step: the task it waits for now (a read, a transfer, a decode, or a
///  subscribe ─┘ priority = max  └► handler           subscription to the job of the stage below)
/// ```
///
/// Handlers receive events in order, outside every lock, on the thread that the work runs on. `finished` is delivered
/// exactly once to every subscriber that has not left. There is one exception to the order: a late subscriber is told
/// about earlier events on its own thread, which may overlap newer events, including the last.
///
/// A second step may run concurrently, to produce a provisional result.
///
/// It is `@inlinable`, so that the modules that use jobs get code for their types: with generic code, a request took
/// half as long again.
@usableFromInline package final class Job<Output: Sendable, News: JobNews>: Sendable {
    @usableFromInline package enum Event: Sendable {
        case news(News)
        /// A result that serves until the end, such as a stale image during revalidation. Numbers increase. A result
        /// that is being delivered to a late subscriber may arrive after one with a higher number.
        case provisional(Output, number: Int)
        case finished(Result<Output, WebImageError>)
    }

    @usableFromInline package typealias Handler = @Sendable (Event) -> Void
    /// Returns why a subscriber does not allow a loader to be called; `nil` if it does.
    @usableFromInline package typealias Veto = @Sendable () -> WebImageError?

    @usableFromInline let state: Lock<State>
    /// Removes the job from its table; called once, when the job has ended or was abandoned.
    @usableFromInline let onEnd: (@Sendable (Job) -> Void)?

    @usableFromInline struct Subscriber {
        @usableFromInline let id: Int
        @usableFromInline var priority: LoadPriority
        @usableFromInline let handler: Handler
        @usableFromInline let veto: Veto?

        @inlinable init(id: Int, priority: LoadPriority, handler: @escaping Handler, veto: Veto?) {
            (self.id, self.priority, self.handler, self.veto) = (id, priority, handler, veto)
        }
    }

    @usableFromInline struct State {
        /// In order of subscription.
        @usableFromInline var subscribers: [Subscriber] = []
        /// The highest among the subscribers.
        @usableFromInline var priority = LoadPriority.veryLow
        @usableFromInline var lastID = 0
        @usableFromInline var step: (any LoaderTask)?
        @usableFromInline var stepCount = 0
        @usableFromInline var sideStep: (any LoaderTask)?
        @usableFromInline var sideStepCount = 0
        /// For late subscribers.
        @usableFromInline var news: [News] = []
        @usableFromInline var provisional: (output: Output, number: Int)?
        @usableFromInline var isResultWanted = false
        /// Whether a subscriber has allowed a loader to be called.
        @usableFromInline var mayLoad = false
        /// Cleared by the end, and when the last subscriber leaves. From then on nothing can join.
        @usableFromInline var isLive = true
        /// Set when every subscriber vetoes the loader. Then nothing can join, unless a loader is called all the
        /// same.
        @usableFromInline var isRefused = false

        @inlinable init() {}

        /// Searches from the end, since most subscribers that are looked up have just joined.
        @inlinable func index(of id: Int) -> Int? { subscribers.lastIndex { $0.id == id } }

        /// Returns the ID of the new subscriber, and whether the priority has risen.
        @discardableResult
        @inlinable mutating func add(
            priority: LoadPriority, needsResult: Bool, veto: Veto?, handler: @escaping Handler
        ) -> (id: Int, isRise: Bool) {
            if needsResult { isResultWanted = true }
            lastID += 1
            subscribers.append(Subscriber(id: lastID, priority: priority, handler: handler, veto: veto))
            guard priority > self.priority else { return (lastID, false) }
            self.priority = priority
            return (lastID, true)
        }

        /// Returns whether the priority has changed.
        @inlinable mutating func updatePriority() -> Bool {
            let highest = subscribers.reduce(LoadPriority.veryLow) { max($0, $1.priority) }
            return exchange(&priority, with: highest) != highest
        }

        /// Ends the job. The returned values must be released outside the lock.
        @inlinable mutating func end() -> State {
            let ended = self
            subscribers = []
            (step, sideStep) = (nil, nil)
            (news, provisional) = ([], nil)
            isLive = false
            return ended
        }
    }

    @inlinable package init(onEnd: (@Sendable (Job) -> Void)? = nil) {
        state = Lock(State())
        self.onEnd = onEnd
    }

    /// Creates a job with its first subscriber, whose ``firstSubscription`` it is.
    @inlinable init(
        priority: LoadPriority, needsResult: Bool, veto: Veto?, handler: @escaping Handler,
        onEnd: @escaping @Sendable (Job) -> Void
    ) {
        var first = State()
        first.add(priority: priority, needsResult: needsResult, veto: veto, handler: handler)
        state = Lock(first)
        self.onEnd = onEnd
    }

    @inlinable var firstSubscription: JobSubscription<Output, News> { JobSubscription(job: self, id: 1) }

    /// Whether any subscriber still waits for the result.
    @inlinable package var isLive: Bool { state.withLock { $0.isLive } }

    /// The number of subscribers.
    @inlinable var subscriberCount: Int { state.withLock { $0.subscribers.count } }

    /// Whether a subscriber needs the result itself, and not only something made from it.
    @inlinable package var isResultWanted: Bool { state.withLock { $0.isResultWanted } }

    /// The highest priority among the subscribers.
    @inlinable var priority: LoadPriority { state.withLock { $0.priority } }

    // MARK: For subscribers

    /// Joins; returns `nil` when the job has ended. What has happened before is not told.
    ///
    /// - Parameters:
    ///   - needsResult: `false` for the job of the next stage, which produces something else from the result.
    ///   - veto: called at most once, outside every lock, right before a loader is called, unless another
    ///     subscriber allows that first.
    @inlinable package func subscribe(
        priority: LoadPriority, needsResult: Bool = true, veto: Veto? = nil, handler: @escaping Handler
    ) -> JobSubscription<Output, News>? {
        state.withLock { state in
            guard state.isLive, !state.isRefused else { return nil }
            let id = state.add(priority: priority, needsResult: needsResult, veto: veto, handler: handler).id
            return JobSubscription(job: self, id: id)
        }
    }

    /// Joins a job that runs, and tells the handler what has happened before.
    @inlinable func join(
        priority: LoadPriority, needsResult: Bool, veto: Veto?, handler: @escaping Handler
    ) -> (JobSubscription<Output, News>, Welcome)? {
        state.withLock { state in
            guard state.isLive, !state.isRefused else { return nil }
            let (id, isRise) = state.add(priority: priority, needsResult: needsResult, veto: veto, handler: handler)
            return (
                JobSubscription(job: self, id: id),
                Welcome(news: state.news, provisional: state.provisional, isRise: isRise)
            )
        }
    }

    /// What has happened before a subscriber joined, and whether it is more urgent than the others.
    @usableFromInline struct Welcome {
        @usableFromInline let news: [News]
        @usableFromInline let provisional: (output: Output, number: Int)?
        @usableFromInline let isRise: Bool

        @inlinable init(news: [News], provisional: (output: Output, number: Int)?, isRise: Bool) {
            (self.news, self.provisional, self.isRise) = (news, provisional, isRise)
        }
    }

    @inlinable func give(_ welcome: Welcome, to handler: Handler) {
        // The stored result comes before the bytes that arrive, as it did for the others.
        if let provisional = welcome.provisional {
            handler(.provisional(provisional.output, number: provisional.number))
        }
        for news in welcome.news { handler(.news(news)) }
        if welcome.isRise { passPriorityOn() }
    }

    @inlinable func leave(_ id: Int) {
        let (isFall, ended, last) = state.withLock { state -> (Bool, State?, Subscriber?) in
            guard let index = state.index(of: id) else { return (false, nil, nil) }
            // Released outside the lock: what a handler captures may run code when it is released.
            let last = state.subscribers.remove(at: index)
            if state.isLive, state.subscribers.isEmpty { return (false, state.end(), last) }
            return (last.priority == state.priority && state.updatePriority(), nil, last)
        }
        if let ended {
            onEnd?(self)
            ended.step?.cancel()
            ended.sideStep?.cancel()
        } else if isFall {
            passPriorityOn()
        }
        withExtendedLifetime(last) {}
    }

    @inlinable func setPriority(_ priority: LoadPriority, of id: Int) {
        let isChange = state.withLock { state in
            guard let index = state.index(of: id) else { return false }
            state.subscribers[index].priority = priority
            return state.updatePriority()
        }
        if isChange { passPriorityOn() }
    }

    // MARK: For the work itself

    /// Starts the next step.
    ///
    /// - Parameter start: may end the step, or even the job, before it returns; the task it returns is then dropped.
    @inlinable package func run(_ start: (LoadPriority) -> (any LoaderTask)?) {
        // Steps are released outside the lock: a custom task may run code when it is deallocated.
        let (ticket, priority, last) = state.withLock { state in
            state.stepCount += 1
            return (state.stepCount, state.isLive ? state.priority : nil, state.step.take())
        }
        withExtendedLifetime(last) {}
        guard let priority, let step = start(priority) else { return }
        let current = state.withLock { state -> LoadPriority? in
            if state.isLive, state.stepCount == ticket { state.step = step }
            return state.isLive ? state.priority : nil
        }
        guard let current else { return step.cancel() }
        if current != priority { step.follow { self.priority } }
    }

    /// Starts a step concurrently with the main one. It is cancelled when the job ends, and when another side step
    /// replaces it.
    ///
    /// - Parameter start: as for ``run(_:)``.
    @inlinable package func runBeside(_ start: (LoadPriority) -> (any LoaderTask)?) {
        let (ticket, priority, last) = state.withLock { state in
            state.sideStepCount += 1
            return (state.sideStepCount, state.isLive ? state.priority : nil, state.sideStep.take())
        }
        last?.cancel()
        guard let priority, let step = start(priority) else { return }
        let current = state.withLock { state -> LoadPriority? in
            guard state.isLive, state.sideStepCount == ticket else { return nil }
            state.sideStep = step
            return state.priority
        }
        guard let current else { return step.cancel() }
        if current != priority { step.follow { self.priority } }
    }

    /// Returns why no loader may be called: the first veto if all subscribers have one, `nil` otherwise.
    ///
    /// After a veto nothing can join until ``allowJoining()``: the job must end, unless a loader is called for
    /// others that need the same bytes.
    @inlinable package func loadingVeto() -> WebImageError? {
        var (lastID, first) = (0, WebImageError?.none)
        while true {
            let next = state.withLock { state -> Subscriber? in
                guard state.isLive, !state.mayLoad else { return nil }
                let next = state.subscribers.first { $0.id > lastID }
                // No handler need be called.
                if let next, next.veto == nil {
                    state.mayLoad = true
                    first = nil
                    return nil
                }
                // Under the lock, so that no subscriber can join without its veto having been called.
                if next == nil, first != nil { state.isRefused = true }
                return next
            }
            guard let next else { return first }
            guard let veto = next.veto?() else {
                state.withLock { $0.mayLoad = true }
                return nil
            }
            first = first ?? veto
            lastID = next.id
        }
    }

    /// Lets subscribers join again, because a loader is called although all subscribers have a veto.
    @inlinable package func allowJoining() { state.withLock { $0.isRefused = false } }

    /// Reports news to all subscribers.
    @inlinable package func report(_ news: News) {
        let (subscribers, older) = state.withLock { state in
            (state.subscribers, state.isLive ? news.add(to: &state.news) : nil)
        }
        for subscriber in subscribers { subscriber.handler(.news(news)) }
        withExtendedLifetime(older) {}
    }

    /// Reports a result that serves until the end to all subscribers.
    @inlinable package func report(provisional output: Output) {
        let (subscribers, number, last) = state.withLock { state -> ([Subscriber], Int, Output?) in
            guard state.isLive else { return ([], 0, nil) }
            let last = state.provisional
            let number = (last?.number ?? 0) + 1
            state.provisional = (output, number)
            return (state.subscribers, number, last?.output)
        }
        for subscriber in subscribers { subscriber.handler(.provisional(output, number: number)) }
        withExtendedLifetime(last) {}
    }

    /// Ends the job; only the first call counts.
    @inlinable package func finish(_ result: Result<Output, WebImageError>) {
        guard let ended = state.withLock({ $0.isLive ? $0.end() : nil }) else { return }
        ended.sideStep?.cancel()
        onEnd?(self)
        for subscriber in ended.subscribers { subscriber.handler(.finished(result)) }
    }

    /// Passes the priority on to the steps. A step that starts meanwhile reads the priority itself.
    @inlinable func passPriorityOn() {
        let (step, sideStep) = state.withLock { ($0.step, $0.sideStep) }
        step?.follow { priority }
        sideStep?.follow { priority }
    }
}

/// A subscriber's place at a ``Job``.
@usableFromInline package struct JobSubscription<Output: Sendable, News: JobNews>: LoaderTask {
    @usableFromInline let job: Job<Output, News>
    @usableFromInline let id: Int

    @inlinable init(job: Job<Output, News>, id: Int) { (self.job, self.id) = (job, id) }

    /// Leaves. The handler is not called again, except by a call that is already running.
    @inlinable package func cancel() { job.leave(id) }

    @inlinable package func setPriority(_ priority: LoadPriority) { job.setPriority(priority, of: id) }
}

/// Jobs in progress by key, so that subscribers to the same work join.
@usableFromInline package final class JobTable<Key: Hashable & Sendable, Output: Sendable, News: JobNews>: Sendable {
    @usableFromInline package typealias Work = Job<Output, News>

    @usableFromInline let jobs = Lock<[Key: Work]>([:])

    @inlinable package init() {}

    /// The number of jobs in progress.
    @inlinable package var count: Int { jobs.withLock { $0.count } }

    /// The number of subscribers of all jobs.
    @inlinable var subscriberCount: Int { jobs.withLock { $0.values.reduce(0) { $0 + $1.subscriberCount } } }

    /// Joins the job for `key`, or starts one. Returns `nil` if it ended within the call.
    ///
    /// - Parameters:
    ///   - needsResult: see ``Job/subscribe(priority:needsResult:veto:handler:)``, as for `veto`.
    ///   - start: called outside the lock, for a new job.
    @inlinable package func join(
        _ key: Key, priority: LoadPriority, needsResult: Bool = true, veto: Work.Veto? = nil,
        handler: @escaping Work.Handler, start: (Work) -> Void
    ) -> JobSubscription<Output, News>? {
        typealias Joined = (subscription: JobSubscription<Output, News>, welcome: Work.Welcome?)
        let joined = jobs.withLock { jobs -> Joined in
            if let joined = jobs[key]?.join(
                priority: priority, needsResult: needsResult, veto: veto, handler: handler)
            {
                return joined
            }
            // Until its end, the job and the table hold each other.
            let job = Work(priority: priority, needsResult: needsResult, veto: veto, handler: handler) { [self] job in
                remove(job, for: key)
            }
            jobs[key] = job
            return (job.firstSubscription, nil)
        }
        let job = joined.subscription.job
        if let welcome = joined.welcome {
            job.give(welcome, to: handler)
        } else {
            start(job)
            // Leaving it would be the call of a generic method, which takes longer than most of a load.
            guard job.isLive else { return nil }
        }
        return joined.subscription
    }

    @inlinable func remove(_ job: Work, for key: Key) {
        jobs.withLock { jobs in
            if let index = jobs.index(forKey: key), jobs.values[index] === job { jobs.remove(at: index) }
        }
    }
}

extension Job {
    /// Starts the job and waits for its result. When the task is cancelled, it abandons the job and returns
    /// ``WebImageError/cancelled``.
    package func result(start: @Sendable (Job) -> Void) async -> Result<Output, WebImageError> {
        await DeferredTask.result { finish in
            let subscription = subscribe(priority: .normal) { if case .finished(let result) = $0 { finish(result) } }
            start(self)
            return subscription
        }
    }
}

extension JobTable {
    /// Joins or starts the job for `key` and waits for its result. When the task is cancelled, it leaves the job and
    /// returns ``WebImageError/cancelled``.
    package func result(
        for key: Key, priority: LoadPriority, start: @Sendable (Work) -> Void
    ) async -> Result<Output, WebImageError> {
        await DeferredTask.result { finish in
            join(
                key, priority: priority, handler: { if case .finished(let result) = $0 { finish(result) } },
                start: start)
        }
    }
}

extension DeferredTask {
    /// Starts work and waits for its result. When the task is cancelled, it cancels the work and returns
    /// ``WebImageError/cancelled``.
    ///
    /// - Parameter start: calls its argument with the result, at any time, and returns the work in progress.
    package static func result<Output: Sendable>(
        _ start: (_ finish: @escaping @Sendable (Result<Output, WebImageError>) -> Void) -> (any LoaderTask)?
    ) async -> Result<Output, WebImageError> {
        let (waiter, task) = (Waiter<Result<Output, WebImageError>>(), DeferredTask())
        return await withTaskCancellationHandler {
            if let started = start({ waiter.resume($0) }) { task.attach(started) }
            return await waiter.value
        } onCancel: {
            if waiter.resume(.failure(.cancelled)) { task.cancel() }
        }
    }
}
