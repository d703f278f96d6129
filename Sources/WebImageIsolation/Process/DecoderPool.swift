internal import Dispatch
internal import Glibc
internal import WebImageCoding
internal import WebImageCore

/// The decoder processes of a program.
///
///     lease ──▶ the process that has the file open, or an idle one, or a new one ──▶ work ──▶ idle ──▶ ended after a while
///        └ all are busy: waits in order
///
/// A caller blocks its thread, as all decoding does.
final class DecoderPool: Sendable {
    private let configuration: IsolatedDecoding.Configuration
    private let state = Lock(State())

    private struct State {
        /// Those that wait for work, the last used at the end.
        var idle: [DecoderProcess] = []
        /// The number of processes that work or are being started.
        var busyCount = 0
        /// Those that wait for the thread that leased them; they don't count as busy.
        var suspended: [DecoderProcess] = []
        var waiters: [Waiter] = []
        var counters = IsolatedDecoding.Counters()
        /// The process that has started these.
        var owner = getpid()
        /// Ends the thread that ends idle processes; `nil` if there is none.
        var cleaning: DispatchSemaphore?
        var latestReport: SandboxReport?
        /// The reason, and until when no start is tried.
        var failure: (UnavailableDecoder, until: Duration)?
    }

    private final class Waiter: Sendable {
        let semaphore = DispatchSemaphore(value: 0)
        let wanted: DecoderProcess?

        init(wanted: DecoderProcess?) { self.wanted = wanted }
    }

    init(_ configuration: IsolatedDecoding.Configuration) { self.configuration = configuration }

    deinit { state.withLock { $0.cleaning }?.signal() }

    var counters: IsolatedDecoding.Counters { state.withLock { $0.counters } }
    var latestReport: SandboxReport? { state.withLock { $0.latestReport } }
    /// Why the last start of a process failed; `nil` if it did not.
    var failure: UnavailableDecoder? { state.withLock { $0.failure?.0 } }
    var idleCount: Int { state.withLock { $0.idle.count } }
    var busyCount: Int { state.withLock { $0.busyCount } }

    func count(_ change: @Sendable (inout IsolatedDecoding.Counters) -> Void) {
        state.withLock { change(&$0.counters) }
    }

    /// Calls `body` with a process that no other thread uses meanwhile.
    ///
    /// - Parameter wanted: the process to use, if it has not ended.
    /// - Throws: ``UnavailableDecoder``, ``WebImageError/cancelled``, and the errors of `body`.
    func withProcess<Result>(
        _ wanted: DecoderProcess? = nil, cancellation: Cancellation?, _ body: (DecoderProcess) throws -> Result
    ) throws -> Result {
        let process = try lease(wanted, cancellation)
        defer { giveBack(process) }
        process.threadCount = DecodingQueue.threadCount(forEachOf: busyCount + DecodingBudget.shared.decodeCount)
        return try body(process)
    }

    /// Calls `body`, for which a leased process waits, and which may lease another: encoders wait for frames, which are decoded. Without this
    /// the thread would wait for its own process, or all processes for others.
    func suspending<Result, Failure>(
        _ process: DecoderProcess, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        state.withLock { state in
            state.busyCount -= 1
            state.suspended.append(process)
        }
        wakeNext()
        defer {
            state.withLock { state in
                state.suspended.removeAll { $0 === process }
                // At once, though others may have taken its place: it has begun.
                state.busyCount += 1
            }
        }
        return try body()
    }

    private enum Grant {
        case process(DecoderProcess)
        case start
        case wait(Waiter)
    }

    private func lease(_ wanted: DecoderProcess?, _ cancellation: Cancellation?) throws -> DecoderProcess {
        while true {
            leaveParent()
            let wanted = wanted?.hasEnded == false ? wanted : nil
            switch state.withLock({ grant(&$0, wanted: wanted) }) {
            case .process(let process): return process
            case .start: return try start()
            case .wait(let waiter): try wait(waiter, cancellation)
            }
        }
    }

    private func grant(_ state: inout State, wanted: DecoderProcess?) -> Grant {
        // A process that is busy with another file is waited for, because it has this one open.
        if let wanted, !state.suspended.contains(where: { $0 === wanted }) {
            guard let index = state.idle.firstIndex(where: { $0 === wanted }) else {
                return .wait(enqueue(&state, wanted: wanted))
            }
            state.busyCount += 1
            return .process(state.idle.remove(at: index))
        }
        if let process = state.idle.popLast() {
            state.busyCount += 1
            return .process(process)
        }
        guard state.busyCount < configuration.processCount else { return .wait(enqueue(&state, wanted: nil)) }
        state.busyCount += 1
        return .start
    }

    private func enqueue(_ state: inout State, wanted: DecoderProcess?) -> Waiter {
        let waiter = Waiter(wanted: wanted)
        state.waiters.append(waiter)
        return waiter
    }

    private func wait(_ waiter: Waiter, _ cancellation: Cancellation?) throws(WebImageError) {
        while waiter.semaphore.wait(timeout: .now() + .milliseconds(5)) == .timedOut {
            guard cancellation?.isCancelled == true else { continue }
            let wasWaiting = state.withLock { state in
                guard let index = state.waiters.firstIndex(where: { $0 === waiter }) else { return false }
                state.waiters.remove(at: index)
                return true
            }
            if !wasWaiting { wakeNext() }
            throw .cancelled
        }
    }

    /// Wakes the first thread that can go on. It leases again, and waits again if another was faster.
    private func wakeNext() {
        let woken = state.withLock { state -> Waiter? in
            // One that wants a process which is busy can't go on.
            let index = state.waiters.firstIndex { waiter in
                waiter.wanted.map { wanted in
                    wanted.hasEnded || (state.idle + state.suspended).contains { $0 === wanted }
                } ?? true
            }
            return index.map { state.waiters.remove(at: $0) }
        }
        woken?.semaphore.signal()
    }

    private func start() throws(UnavailableDecoder) -> DecoderProcess {
        let clock = SystemTimerClock.shared
        do throws(UnavailableDecoder) {
            if let (failure, until) = state.withLock({ $0.failure }), clock.now < until { throw failure }
            let path = try configuration.location.path()
            let process = try DecoderProcess(path: path)
            state.withLock { state in
                state.counters.startedProcessCount += 1
                state.latestReport = process.report
                state.failure = nil
            }
            return process
        } catch {
            state.withLock { state in
                state.busyCount -= 1
                state.failure = (error, clock.now + Self.retryPeriod)
            }
            wakeNext()
            throw error
        }
    }

    /// How long a failure to start is not tried again: each try costs milliseconds, and every image would pay them.
    private static let retryPeriod = Duration.seconds(10)

    private func giveBack(_ process: DecoderProcess) {
        let isWornOut = process.imageCount >= configuration.imagesPerProcess
        if isWornOut, !process.hasEnded { process.end() }
        process.idleSince = SystemTimerClock.shared.now
        state.withLock { state in
            guard state.owner == getpid() else { return }
            state.busyCount -= 1
            guard !process.hasEnded else { return }
            state.idle.append(process)
            startCleaning(&state)
        }
        wakeNext()
    }

    // MARK: Ending

    /// Starts the thread that ends processes without work. A timer of Dispatch would need descriptors, and Dispatch ends a program that has closed
    /// them.
    private func startCleaning(_ state: inout State) {
        guard state.cleaning == nil else { return }
        let (end, period) = (DispatchSemaphore(value: 0), configuration.idlePeriod)
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

    /// Ends the processes that had no work for a while. Returns when to look again; `nil` if none is left.
    private func clean() -> Duration? {
        let now = SystemTimerClock.shared.now
        let (ended, next) = state.withLock { state -> ([DecoderProcess], Duration?) in
            let limit = now - configuration.idlePeriod
            let ended = state.idle.filter { $0.idleSince <= limit }
            state.idle.removeAll { $0.idleSince <= limit }
            let next = state.idle.map(\.idleSince).min().map { $0 - limit }
            if next == nil { state.cleaning = nil }
            return (ended, next)
        }
        for process in ended { process.end() }
        return next
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
