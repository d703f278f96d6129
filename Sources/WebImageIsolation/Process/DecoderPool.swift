internal import Dispatch
internal import Glibc
internal import WebImageCoding
internal import WebImageCore

/// The decoder processes of a program.
///
///     lease ──▶ the process that has the file open, or an idle one, or a new one ──▶ work ──▶ idle ──▶ ended after a while
///        └ all are busy: waits, the most urgent first                                  └ takes long: leaves its place to another
///
/// A caller blocks its thread, as all decoding does.
final class DecoderPool: Sendable {
    private let configuration: IsolatedDecoding.Configuration
    private let state = Lock(State())

    private struct State {
        /// Those that wait for work, the last used at the end.
        var idle: [DecoderProcess] = []
        /// The number of processes that work or are being started, without the slow ones.
        var busyCount = 0
        /// The number of processes that have worked on one image for long.
        var slowCount = 0
        /// Those that wait for the thread that leased them; they do not count as busy.
        var suspended: [DecoderProcess] = []
        var waiting = PriorityQueue<Waiter>()
        var lastPosition: Int64 = 0
        var counters = IsolatedDecoding.Counters()
        /// The process that has started these.
        var owner = getpid()
        /// Ends the thread that ends idle processes; `nil` if there is none.
        var cleaning: DispatchSemaphore?
        var latestReport: SandboxReport?
        /// The reason, and until when no start is tried.
        var failure: (UnavailableDecoder, until: Duration)?
    }

    private enum Grant {
        case process(DecoderProcess)
        case start
    }

    private final class Waiter: @unchecked Sendable {
        // `@unchecked`: the variables are used under the pool's lock.
        let semaphore = DispatchSemaphore(value: 0)
        let wanted: DecoderProcess?
        let priority: LoadPriority
        let position: Int64
        var ticket: PriorityQueue<Waiter>.Ticket?
        var grant: Grant?

        init(wanted: DecoderProcess?, priority: LoadPriority, position: Int64) {
            self.wanted = wanted
            self.priority = priority
            self.position = position
        }
    }

    init(_ configuration: IsolatedDecoding.Configuration) { self.configuration = configuration }

    deinit { state.withLock { $0.cleaning }?.signal() }

    var counters: IsolatedDecoding.Counters { state.withLock { $0.counters } }
    var latestReport: SandboxReport? { state.withLock { $0.latestReport } }
    /// Why the last start of a process failed; `nil` if it did not.
    var failure: UnavailableDecoder? { state.withLock { $0.failure?.0 } }
    var idleCount: Int { state.withLock { $0.idle.count } }
    var busyCount: Int { state.withLock { $0.busyCount } }
    var slowCount: Int { state.withLock { $0.slowCount } }
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    func count(_ change: @Sendable (inout IsolatedDecoding.Counters) -> Void) {
        state.withLock { change(&$0.counters) }
    }

    /// Calls `body` with a process that no other thread uses meanwhile.
    ///
    /// - Parameters:
    ///   - wanted: the process to use, if it has not ended.
    ///   - mayLeavePlace: whether it does not count as busy once it has worked for long.
    /// - Throws: ``UnavailableDecoder``, ``WebImageError/cancelled``, and the errors of `body`.
    func withProcess<Result>(
        _ wanted: DecoderProcess? = nil, priority: LoadPriority = .normal, mayLeavePlace: Bool = true,
        cancellation: Cancellation?, _ body: (DecoderProcess) throws -> Result
    ) throws -> Result {
        let process = try lease(wanted, priority, cancellation)
        if mayLeavePlace { process.onSlow = { [unowned self, unowned process] in leavePlace(process) } }
        defer { giveBack(process, idleSince: SystemTimerClock.shared.now) }
        process.threadCount = DecodingQueue.threadCount(forEachOf: busyCount + DecodingBudget.shared.decodeCount)
        return try body(process)
    }

    /// Calls `body`, for which a leased process waits, and which may lease another: encoders wait for frames, which are decoded. Without this
    /// the thread would wait for its own process, or all processes for others.
    func suspending<Result, Failure>(
        _ process: DecoderProcess, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let served = state.withLock { state in
            state.busyCount -= 1
            state.suspended.append(process)
            return serve(&state)
        }
        wake(served)
        defer {
            state.withLock { state in
                state.suspended.removeAll { $0 === process }
                // At once, though others may have taken its place: it has begun.
                state.busyCount += 1
            }
        }
        return try body()
    }

    // MARK: Leasing

    private func lease(
        _ wanted: DecoderProcess?, _ priority: LoadPriority, _ cancellation: Cancellation?
    ) throws -> DecoderProcess {
        leaveParent()
        let (waiter, served) = state.withLock { state in
            state.lastPosition += 1
            let waiter = Waiter(wanted: wanted, priority: priority, position: state.lastPosition)
            enqueue(waiter, &state)
            return (waiter, serve(&state))
        }
        wake(served, except: waiter)
        if !served.contains(where: { $0 === waiter }) { try wait(waiter, cancellation) }
        switch state.withLock({ _ in waiter.grant }) {
        case .process(let process): return process
        case .start, nil: return try start()
        }
    }

    private func enqueue(_ waiter: Waiter, _ state: inout State) {
        waiter.ticket = state.waiting.insert(waiter, priority: waiter.priority, position: waiter.position)
    }

    /// Gives what is free to those that wait, and returns them.
    private func serve(_ state: inout State) -> [Waiter] {
        var (served, passed): ([Waiter], [Waiter]) = ([], [])
        while let waiter = state.waiting.popFirst() {
            waiter.grant = grant(&state, wanted: waiter.wanted)
            if waiter.grant == nil { passed.append(waiter) } else { served.append(waiter) }
        }
        for waiter in passed { enqueue(waiter, &state) }
        return served
    }

    private func grant(_ state: inout State, wanted: DecoderProcess?) -> Grant? {
        if let wanted, !wanted.hasEnded, !state.suspended.contains(where: { $0 === wanted }) {
            // One that is busy with another file is waited for, because it has this one open.
            guard let index = state.idle.firstIndex(where: { $0 === wanted }) else { return nil }
            state.busyCount += 1
            return .process(state.idle.remove(at: index))
        }
        guard state.busyCount < configuration.processCount else { return nil }
        state.busyCount += 1
        return state.idle.popLast().map(Grant.process) ?? .start
    }

    private func wake(_ waiters: [Waiter], except own: Waiter? = nil) {
        for waiter in waiters where waiter !== own { waiter.semaphore.signal() }
    }

    private func wait(_ waiter: Waiter, _ cancellation: Cancellation?) throws(WebImageError) {
        // A cancellation is a flag, so it is polled.
        while waiter.semaphore.wait(timeout: .now() + .milliseconds(Self.pollMilliseconds)) == .timedOut {
            guard cancellation?.isCancelled == true else { continue }
            let served = state.withLock { state -> [Waiter] in
                if let ticket = waiter.ticket { state.waiting.remove(ticket) }
                switch waiter.grant {
                case .process(let process): state.idle.append(process)
                case .start: break
                case nil: return []
                }
                state.busyCount -= 1
                return serve(&state)
            }
            wake(served)
            throw .cancelled
        }
    }

    private static let pollMilliseconds = 4

    private func start() throws(UnavailableDecoder) -> DecoderProcess {
        let clock = SystemTimerClock.shared
        do throws(UnavailableDecoder) {
            if let (failure, until) = state.withLock({ $0.failure }), clock.now < until { throw failure }
            let path = try configuration.location.path()
            let process = try DecoderProcess(path: path, slowPeriod: configuration.slowPeriod)
            state.withLock { state in
                state.counters.startedProcessCount += 1
                state.latestReport = process.report
                state.failure = nil
            }
            return process
        } catch {
            let served = state.withLock { state in
                state.busyCount -= 1
                state.failure = (error, clock.now + Self.retryPeriod)
                return serve(&state)
            }
            wake(served)
            throw error
        }
    }

    /// How long a failure to start is not tried again: each try costs milliseconds, and every image would pay them.
    private static let retryPeriod = Duration.seconds(10)

    private func giveBack(_ process: DecoderProcess, idleSince: Duration) {
        process.onSlow = nil
        // Its priority cannot be raised again.
        let isWornOut = process.imageCount >= configuration.imagesPerProcess || process.hasLowPriority
        if isWornOut, !process.hasEnded { process.end() }
        process.idleSince = idleSince
        var surplus: DecoderProcess?
        let served = state.withLock { state -> [Waiter] in
            guard state.owner == getpid() else { return [] }
            if process.isSlow { state.slowCount -= 1 } else { state.busyCount -= 1 }
            process.isSlow = false
            if !process.hasEnded {
                if state.busyCount + state.idle.count < configuration.processCount {
                    state.idle.append(process)
                    startCleaning(&state)
                } else {
                    // Another one has its place.
                    surplus = process
                }
            }
            return serve(&state)
        }
        surplus?.end()
        wake(served)
    }

    // MARK: Slow images

    /// Leaves the place of a process that has worked on one image for long to another, in the pool and in the queue of the
    /// calling thread, so that a few hostile files do not stop all loads. Its priority becomes lower if others decode.
    private func leavePlace(_ process: DecoderProcess) {
        let (isLeaving, isShared, served) = state.withLock { state -> (Bool, Bool, [Waiter]) in
            guard !process.isSlow, state.slowCount < max(4, configuration.processCount) else {
                return (false, false, [])
            }
            process.isSlow = true
            state.slowCount += 1
            state.busyCount -= 1
            return (true, state.busyCount + state.slowCount > 1 || !state.waiting.isEmpty, serve(&state))
        }
        guard isLeaving else { return }
        wake(served)
        if isShared { process.lowerPriority() }
        WorkQueue.letAnotherThreadWork()
    }

    // MARK: Ending

    /// Starts the thread that ends processes without work. A timer of Dispatch would need descriptors, and Dispatch ends a program that has closed
    /// them.
    private func startCleaning(_ state: inout State) {
        guard state.cleaning == nil else { return }
        let (end, period) = (DispatchSemaphore(value: 0), min(Self.restPeriod, configuration.idlePeriod))
        let isStarted = PlatformThread.start(name: "webimage-idle") { [weak self] in
            var wait = period
            while end.wait(timeout: .now() + .nanoseconds(Int(wait.nanoseconds))) == .timedOut,
                let next = self?.clean()
            {
                wait = next
            }
        }
        if isStarted { state.cleaning = end }
    }

    /// After how long without work a process gives back the memory that it took.
    private static let restPeriod = Duration.seconds(1)

    /// Lets the processes rest that had no work for a moment, and ends those that had none for a while. Returns when to look again;
    /// `nil` if none is left.
    private func clean() -> Duration? {
        let now = SystemTimerClock.shared.now
        let (ended, tired) = state.withLock { state -> ([DecoderProcess], [DecoderProcess]) in
            guard state.owner == getpid() else { return ([], []) }
            let isEnding = { [period = configuration.idlePeriod] (process: DecoderProcess) in
                process.idleSince + period <= now
            }
            let isTired = { (process: DecoderProcess) in
                !process.isRested && process.idleSince + Self.restPeriod <= now
            }
            let ended = state.idle.filter(isEnding)
            state.idle.removeAll(where: isEnding)
            return (ended, takeIdle(&state, where: isTired))
        }
        for process in ended { process.end() }
        rest(tired)
        return state.withLock { state in
            guard state.owner == getpid() else { return nil }
            let idle = state.idle.map {
                $0.idleSince + ($0.isRested ? configuration.idlePeriod : Self.restPeriod) - now
            }
            let isWorking = state.busyCount + state.slowCount + state.suspended.count > 0
            guard let next = (idle + (isWorking ? [Self.restPeriod] : [])).min() else {
                state.cleaning = nil
                return nil
            }
            return max(next, .milliseconds(1))
        }
    }

    /// Lets all processes rest that have no work now.
    func restIdleProcesses() { rest(state.withLock { takeIdle(&$0) { _ in true } }) }

    private func takeIdle(_ state: inout State, where isTaken: (DecoderProcess) -> Bool) -> [DecoderProcess] {
        let taken = state.idle.filter(isTaken)
        state.idle.removeAll(where: isTaken)
        state.busyCount += taken.count
        return taken
    }

    private func rest(_ processes: [DecoderProcess]) {
        for process in processes {
            process.rest()
            giveBack(process, idleSince: process.idleSince)
        }
    }

    /// Ends the processes that have no work now.
    func endIdleProcesses() {
        let ended = state.withLock { state in
            defer { state.idle = [] }
            return state.idle
        }
        for process in ended { process.end() }
    }

    /// After a fork the processes are the parent's.
    private func leaveParent() {
        let forgotten = state.withLock { state -> [DecoderProcess] in
            guard state.owner != getpid() else { return [] }
            defer { state = State() }
            return state.idle
        }
        for process in forgotten { process.forget() }
    }
}
