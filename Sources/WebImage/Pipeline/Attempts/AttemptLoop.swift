import FoundationEssentials
import WebImageAnimation
import WebImageCore
import WebImageLoading

/// Gets what one attempt brings: its bytes are for it alone, so that those of a failed attempt go with it.
protocol AttemptReceiver: Sendable {
    /// A loader is about to be asked. An attempt that only waited for a network ends without this.
    func begin()
    /// Names the load that brings them.
    func attach(_ task: any LoaderTask)
    func receive(_ event: LoaderEvent)
    /// The attempt has failed, and another takes its place: nothing more comes.
    func abandon()
}

/// Tries until a load succeeds, or nothing is left to try.
///
/// ```
///  start ─► attempt ── ends well ───────────────────────────────► its receiver: the end
///             ▲  │ fails
///             │  ├─ no network, and the request waits for one ──► waits (monitor) ─┐
///             │  ├─ may succeed later, by the policy ───────────► waits (clock) ───┤
///             │  ├─ another URL is left ───────────────────────────────────────────┤
///             │  └─ else ──► its receiver: the error of the request's own URL      │
///             └────────────────────────── with a new receiver ─────────────────────┘
/// ```
///
/// Runs on the threads of loaders, clock and monitor, never on one of its own. Once cancelled it begins nothing more. Its end
/// comes to one receiver, once.
final class AttemptLoop: WorkStep {
    typealias MakeReceiver = @Sendable (_ source: AttemptPlan.Source, _ number: Int) -> any AttemptReceiver

    /// The end of an attempt, as its loader told it.
    private struct Failure {
        let error: WebImageError
        let refused: LoaderResponse?
        let metrics: LoaderMetrics?
    }

    private struct State {
        var priority: LoadPriority
        var attempts: [LoadAttempt] = []
        /// Where in the plan it is, and how many attempts of those count that were made there.
        var sourceIndex = 0
        var countAtSource = 0
        var task: (any LoaderTask)?
        /// The attempt whose wait is not over, and what calls off what would end it.
        var waitingAttempt: Int?
        var waits: [@Sendable () -> Void] = []
        var attemptStart = Duration.zero
        /// How long the transfers of the attempts before this one took.
        var usedTime = Duration.zero
        /// What comes right before an end, held back until it is known to be the last.
        var refused: LoaderResponse?
        var metrics: LoaderMetrics?
        /// The attempt has an answer that is no error, but will be tried again: its bytes are passed over.
        var isPassedOver = false
        /// Of the request's own URL: what the caller is told if the others fail as well.
        var ownFailure: Failure?
        var networkWaitCount = 0
        var networkWaitDuration = Duration.zero
        var isCancelled = false

        /// What to tell: metrics that count the attempts before this one.
        var summedMetrics: LoaderMetrics? {
            var summed = metrics
            summed?.activeDuration += usedTime
            return summed
        }

        mutating func appendAttempt(at url: URL, wait: LoadAttempt.Wait = .none) {
            attempts.append(LoadAttempt(number: attempts.count + 1, url: url, wait: wait))
        }

        mutating func endAttempt(after duration: Duration, _ error: WebImageError?) {
            attempts[attempts.count - 1].duration = duration
            attempts[attempts.count - 1].error = error
        }

        /// Ends all waits; what calls them off.
        mutating func endWaits() -> [@Sendable () -> Void] {
            defer { (waitingAttempt, waits) = (nil, []) }
            return waits
        }
    }

    /// What comes after an attempt that failed.
    private enum NextStep {
        case attempt
        case wait(Duration)
        case waitForNetwork(atMost: Duration)
        case end(Failure)
    }

    private let plan: AttemptPlan
    private let surroundings: AttemptSurroundings
    private let makeReceiver: MakeReceiver
    private let onAttempts: @Sendable ([LoadAttempt]) -> Void
    private let start: Duration
    private let state: Lock<State>

    /// - Parameters:
    ///   - makeReceiver: called for each attempt, before it begins.
    ///   - onAttempts: told all attempts when another is about to wait or begin, and once more before the end.
    init(
        _ plan: AttemptPlan, in surroundings: AttemptSurroundings, priority: LoadPriority,
        makeReceiver: @escaping MakeReceiver, onAttempts: @escaping @Sendable ([LoadAttempt]) -> Void
    ) {
        self.plan = plan
        self.surroundings = surroundings
        self.makeReceiver = makeReceiver
        self.onAttempts = onAttempts
        start = surroundings.clock.now
        var state = State(priority: priority)
        state.appendAttempt(at: plan.sources[0].shownURL)
        self.state = Lock(state)
    }

    /// Begins the first attempt; `self`, to be kept as the step of the work.
    func started() -> AttemptLoop {
        begin()
        return self
    }

    // MARK: WorkStep

    func cancel() {
        let (task, waits) = state.withLock { state in
            state.isCancelled = true
            return (state.task, state.endWaits())
        }
        for callOff in waits { callOff() }
        task?.cancel()
    }

    func setPriority(_ priority: LoadPriority) {
        let task = state.withLock { state in
            state.priority = priority
            return state.task
        }
        if let task { LoaderStep(task: task).follow { self.priority } }
    }

    private var priority: LoadPriority { state.withLock { $0.priority } }

    // MARK: Attempts

    private func begin() {
        let now = surroundings.clock.now
        let beginning = state.withLock { state -> (Int, AttemptPlan.Source, LoadPriority, usedTime: Duration)? in
            guard !state.isCancelled else { return nil }
            state.attemptStart = now
            return (state.attempts.count, plan.sources[state.sourceIndex], state.priority, state.usedTime)
        }
        guard let (number, source, priority, usedTime) = beginning else { return }
        let receiver = makeReceiver(source, number)
        var request = source.request
        request.usedTime += usedTime
        receiver.begin()
        let task = source.loader.load(request, priority: priority) { [self] event in
            receive(event, receiver)
        }
        receiver.attach(task)
        let (isUnderWay, isCancelled) = state.withLock { state in
            // It may have failed inside the call, and the next be under way.
            let isUnderWay = state.attempts.count == number && state.attempts[number - 1].duration == nil
            if isUnderWay { state.task = task }
            return (isUnderWay, state.isCancelled)
        }
        guard isUnderWay else { return }
        if isCancelled {
            task.cancel()
        } else {
            LoaderStep(task: task).follow(unlessStill: priority) { self.priority }
        }
    }

    private func receive(_ event: LoaderEvent, _ receiver: any AttemptReceiver) {
        switch event {
        case .response(let response): if !passesOver(response) { receiver.receive(event) }
        case .bytes: if !state.withLock({ $0.isPassedOver }) { receiver.receive(event) }
        case .refused(let response): state.withLock { $0.refused = response }
        case .metrics(let metrics): state.withLock { $0.metrics = metrics }
        case .finished(let result) where result.error != .cancelled && state.withLock({ $0.isPassedOver }):
            let answer = state.withLock { $0.refused }
            let error = answer.flatMap { answer in
                answer.statusCode.map { WebImageError.httpStatus(code: $0, url: answer.url) }
            }
            take(nextStep(after: error ?? .cancelled), receiver)
        case .finished(.success):
            let now = surroundings.clock.now
            let (attempts, metrics) = state.withLock { state in
                state.task = nil
                state.endAttempt(after: now - state.attemptStart, nil)
                return (state.attempts, state.summedMetrics)
            }
            onAttempts(attempts)
            if let metrics { receiver.receive(.metrics(metrics)) }
            receiver.receive(event)
        case .finished(.failure(let error)):
            take(nextStep(after: error), receiver)
        }
    }

    /// Whether the answer, though one that the request takes, is as good as a failure that is tried again.
    private func passesOver(_ response: LoaderResponse) -> Bool {
        let request = plan.sources[0].request
        guard request.acceptsAnyAnswer, let status = response.statusCode else { return false }
        let (now, retryAfter) = (surroundings.clock.now, RetryAfter.delay(of: response, now: surroundings.date()))
        return state.withLock { state in
            let delay = plan.policy.delay(
                afterAttempt: state.countAtSource + 1, .httpStatus(code: status, url: response.url),
                method: request.method, retryAfter: retryAfter, elapsed: now - start, random: 1)
            guard delay != nil else { return false }
            (state.isPassedOver, state.refused) = (true, response)
            return true
        }
    }

    private func end(_ failure: Failure, _ receiver: any AttemptReceiver) {
        onAttempts(state.withLock { $0.attempts })
        if case .httpStatus = failure.error, let refused = failure.refused { receiver.receive(.refused(refused)) }
        if let metrics = failure.metrics { receiver.receive(.metrics(metrics)) }
        receiver.receive(.finished(.failure(failure.error)))
    }

    // MARK: Between attempts

    /// Notes the end of an attempt, and the next one if there is to be one.
    private func nextStep(after error: WebImageError) -> NextStep {
        let source = state.withLock { plan.sources[$0.sourceIndex] }
        // Asked outside the lock.
        let isOffline =
            plan.waitsForConnectivity && error.mayBeOffline && !source.request.url.isOnThisMachine
            && !surroundings.connectivity.isConnected
        let (now, date, random) = (surroundings.clock.now, surroundings.date(), surroundings.random())
        return state.withLock { state in
            let failure = Failure(error: error, refused: state.refused, metrics: state.summedMetrics)
            state.usedTime += state.metrics?.activeDuration ?? .zero
            (state.task, state.refused, state.metrics, state.isPassedOver) = (nil, nil, nil, false)
            state.endAttempt(after: now - state.attemptStart, error)
            if state.sourceIndex == 0 { state.ownFailure = failure }
            // Whoever cancelled is not told of anything else.
            if state.isCancelled || error == .cancelled { return .end(failure) }

            let restOfNetworkWait = surroundings.connectivityTimeLimit - state.networkWaitDuration
            if isOffline, restOfNetworkWait > .zero, state.networkWaitCount < Self.networkWaitLimit {
                state.networkWaitCount += 1
                state.appendAttempt(at: source.shownURL, wait: .connectivity(nil))
                return .waitForNetwork(atMost: restOfNetworkWait)
            }
            state.countAtSource += 1
            let retryAfter = failure.refused.flatMap { RetryAfter.delay(of: $0, now: date) }
            let delay = plan.policy.delay(
                afterAttempt: state.countAtSource, error, method: plan.sources[0].request.method,
                retryAfter: retryAfter, elapsed: now - start, random: random)
            guard let delay else { return nextSource(after: failure, at: now, &state) }
            state.appendAttempt(at: source.shownURL, wait: retryAfter == nil ? .backoff(delay) : .retryAfter(delay))
            return .wait(delay)
        }
    }

    /// A network that comes and goes all the time is none.
    private static let networkWaitLimit = 16

    /// Goes on to the next URL, if there is one and time for it.
    private func nextSource(after failure: Failure, at now: Duration, _ state: inout State) -> NextStep {
        guard failure.error.concernsURL else { return .end(failure) }
        let isInTime = plan.policy.timeLimit.map { now - start < $0 } ?? true
        guard isInTime, state.sourceIndex + 1 < plan.sources.count else { return .end(state.ownFailure ?? failure) }
        state.sourceIndex += 1
        state.countAtSource = 0
        state.appendAttempt(at: plan.sources[state.sourceIndex].shownURL)
        return .attempt
    }

    /// - Parameter receiver: of the attempt that has failed.
    private func take(_ step: NextStep, _ receiver: any AttemptReceiver) {
        if case .end(let failure) = step { return end(failure, receiver) }
        receiver.abandon()
        onAttempts(state.withLock { $0.attempts })
        switch step {
        case .attempt, .end: begin()
        case .wait(let delay): wait(delay)
        case .waitForNetwork(let limit): waitForNetwork(atMost: limit)
        }
    }

    private func wait(_ delay: Duration) {
        guard let number = beginWait() else { return }
        let clock = surroundings.clock
        let call = clock.schedule(at: clock.now + delay) { [self] in
            if endWait(number) { begin() }
        }
        hold(number) { call.cancel() }
    }

    private func waitForNetwork(atMost limit: Duration) {
        guard let number = beginWait() else { return }
        let (clock, waitStart) = (surroundings.clock, surroundings.clock.now)
        let network = surroundings.connectivity.whenConnected { [self] in
            guard endWait(number) else { return }
            noteNetworkWait(clock.now - waitStart)
            begin()
        }
        hold(number) { network.cancel() }
        let call = clock.schedule(at: waitStart + limit) { [self] in
            guard endWait(number) else { return }
            noteNetworkWait(clock.now - waitStart)
            giveUpOnNetwork(number)
        }
        hold(number) { call.cancel() }
    }

    private func noteNetworkWait(_ duration: Duration) {
        state.withLock { state in
            state.networkWaitDuration += duration
            state.attempts[state.attempts.count - 1].wait = .connectivity(duration)
        }
    }

    /// Ends the attempt that never began.
    private func giveUpOnNetwork(_ number: Int) {
        let now = surroundings.clock.now
        let (step, source) = state.withLock { state -> (NextStep, AttemptPlan.Source) in
            let source = plan.sources[state.sourceIndex]
            let seconds = state.networkWaitDuration.inExactSeconds
            let error = WebImageError.offline(seconds: seconds, url: source.shownURL)
            let failure = Failure(error: error, refused: nil, metrics: nil)
            state.endAttempt(after: .zero, error)
            if state.sourceIndex == 0 { state.ownFailure = failure }
            return (nextSource(after: failure, at: now, &state), source)
        }
        take(step, makeReceiver(source, number))
    }

    // MARK: Waits

    /// Notes that the last attempt waits; its number, `nil` after a cancel.
    private func beginWait() -> Int? {
        state.withLock { state in
            state.waitingAttempt = state.isCancelled ? nil : state.attempts.count
            return state.waitingAttempt
        }
    }

    /// Keeps what calls a wait off; if that is over already, calls it off.
    private func hold(_ number: Int, _ callOff: @escaping @Sendable () -> Void) {
        let isWaiting = state.withLock { state in
            let isWaiting = state.waitingAttempt == number
            if isWaiting { state.waits.append(callOff) }
            return isWaiting
        }
        if !isWaiting { callOff() }
    }

    /// `true` for the first that ends the wait, if nobody has cancelled.
    private func endWait(_ number: Int) -> Bool {
        let waits = state.withLock { state in
            state.waitingAttempt == number ? state.endWaits() : nil
        }
        guard let waits else { return false }
        for callOff in waits { callOff() }
        return true
    }
}

extension Result where Failure == WebImageError {
    fileprivate var error: WebImageError? {
        if case .failure(let error) = self { error } else { nil }
    }
}
