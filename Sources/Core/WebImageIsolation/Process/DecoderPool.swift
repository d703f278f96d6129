internal import Dispatch
internal import Glibc
internal import WebImageCoding
internal import WebImageCore

/// The decoder processes of a program.
///
///     lease ──▶ the process that has the file open, or an idle one, or a new one ──▶ work ──▶ idle ──▶ ended after a while
///        └ all are busy: waits, the most urgent first                                  └ takes long: a slow place, or ended and tried again in one
///
/// All kinds of processes share the places in which they work. There are half as many slow places as usual ones. As many processes of a kind
/// as there are usual places may be idle, and twice as many of all kinds. A caller blocks its thread, as all decoding does.
final class DecoderPool: Sendable {
    let configuration: IsolatedDecoding.Configuration
    let state = Lock(State())

    /// The kind of image that a process works on.
    enum Place {
        case usual
        /// An image that takes long.
        case slow
    }

    struct State {
        /// Those that wait for work, the last used at the end.
        var idle: [DecoderProcess] = []
        /// The processes that work, without the slow ones.
        var busy: [DecoderKind] = []
        var busyCount: Int { busy.count }
        /// The number of processes that work on an image that takes long.
        var slowCount = 0
        /// The processes that are being started.
        var starting: [DecoderKind] = []
        /// Those in usual places whose image takes long, because there is no slow place for them.
        var overdue: [DecoderProcess] = []
        /// The number of processes that have to leave their place, and have not yet.
        var evictedCount = 0
        /// The number of images that wait for a slow place.
        var slowWaitingCount = 0
        /// The number of images that take long: in slow places, before them, or with none to go to.
        var slowImageCount: Int { slowCount + overdue.count + evictedCount + slowWaitingCount }
        /// Called after ``slowImageCount`` has grown.
        var slowImageObservers: [ObjectIdentifier: @Sendable () -> Void] = [:]
        /// Those that wait for the thread that leased them; they do not count as busy.
        var suspended: [DecoderProcess] = []
        var waiting = PriorityQueue<Lease>()
        var counters = IsolatedDecoding.Counters()
        /// The process that has started these.
        var owner = getpid()
        /// Ends the thread that ends idle processes; `nil` if there is none.
        var cleaning: DispatchSemaphore?
        var latestReport: SandboxReport?
        /// The reason, and until when no start is tried.
        var failure: (UnavailableDecoder, until: Duration)?
        /// The kind of a process that was ended and has to be replaced before the next image.
        var replacement: DecoderKind?
    }

    typealias Grant = Result<DecoderProcess, any Error>

    /// A lease that a thread waits for.
    struct Lease {
        let kind: DecoderKind
        let wanted: DecoderProcess?
        let place: Place
        let waiter = Waiter<Grant>()
    }

    init(_ configuration: IsolatedDecoding.Configuration) { self.configuration = configuration }

    deinit { state.withLock { $0.cleaning }?.signal() }

    var counters: IsolatedDecoding.Counters { state.withLock { $0.counters } }
    var latestReport: SandboxReport? { state.withLock { $0.latestReport } }
    var idleCount: Int { state.withLock { $0.idle.count } }
    var busyCount: Int { state.withLock { $0.busyCount } }
    var slowCount: Int { state.withLock { $0.slowCount } }
    var slowImageCount: Int { state.withLock { $0.slowImageCount } }
    var waitingCount: Int { state.withLock { $0.waiting.count } }
    private var slowLimit: Int { max(1, configuration.processCount / 2) }

    func count(_ change: @Sendable (inout IsolatedDecoding.Counters) -> Void) {
        state.withLock { change(&$0.counters) }
    }

    /// Calls `body` with a process that no other thread uses meanwhile.
    ///
    /// - Parameters:
    ///   - wanted: the process to use, if it has not ended.
    ///   - kind: the kind of another one.
    ///   - place: a slow one for an image that had to leave a usual one.
    ///   - mayLeavePlace: whether it does not count as busy once it has worked for long.
    /// - Throws: ``UnavailableDecoder``, ``DecoderProcess/Failure``, and the errors of `body`.
    func withProcess<Result>(
        _ wanted: DecoderProcess? = nil, kind: DecoderKind = .core, priority: LoadPriority = .normal,
        place: Place = .usual, mayLeavePlace: Bool = true, within limit: WaitLimit,
        _ body: (DecoderProcess) throws -> Result
    ) throws -> Result {
        if place == .slow { WorkQueue.letAnotherThreadWork() }
        let process = try lease(wanted, kind, priority, place, limit)
        if place == .slow {
            process.lowerPriority()
        } else if mayLeavePlace {
            process.onSlow = { [unowned self, unowned process] in leavePlace(process) }
        }
        defer { giveBack(process, idleSince: SystemTimerClock.shared.now) }
        process.threadCount = DecodingQueue.threadCount(forEachOf: busyCount + DecodingBudget.shared.decodeCount)
        return try body(process)
    }

    /// Calls `body`, for which a leased process waits, and which may lease another: encoders wait for frames, which are decoded. Without this
    /// the thread would wait for its own process, or all processes for others.
    func suspending<Result, Failure>(
        _ process: DecoderProcess, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        changeState { state in
            state.busy.removeFirst(process.kind)
            state.suspended.append(process)
        }
        defer {
            state.withLock { state in
                state.suspended.removeAll { $0 === process }
                // At once, though others may have taken its place: it has begun.
                state.busy.append(process.kind)
            }
        }
        return try body()
    }

    // MARK: Leasing

    private func lease(
        _ wanted: DecoderProcess?, _ kind: DecoderKind, _ priority: LoadPriority, _ place: Place, _ limit: WaitLimit
    ) throws -> DecoderProcess {
        leaveParent()
        defer { if place == .slow { state.withLock { $0.slowWaitingCount -= 1 } } }
        let lease = Lease(kind: kind, wanted: wanted, place: place)
        let ticket = changeState { state in
            if place == .slow { state.slowWaitingCount += 1 }
            return state.waiting.insert(lease, priority: priority)
        }
        let nanoseconds = max(0, (limit.deadline - Channel.Limit.now) * 1e9)
        let time: DispatchTime = nanoseconds < 1e18 ? .now() + .nanoseconds(Int(nanoseconds)) : .distantFuture
        let grant = lease.waiter.wait(until: time, cancellation: limit.cancellation) { [self] in
            guard changeState({ $0.waiting.remove(ticket) }) != nil else { return }
            lease.waiter.resume(.failure(limit.isCancelled ? DecoderProcess.Failure.cancelled : .noPlace))
        }
        return try grant.get()
    }

    // MARK: Granting

    /// Changes the state, and gives what is free to those that wait.
    @discardableResult func changeState<Result>(_ change: (inout State) -> Result) -> Result {
        let (result, (served, started), observers) = state.withLock { state in
            let slowImageCount = state.slowImageCount
            let result = change(&state)
            let serving = serve(&state)
            return (result, serving, state.slowImageCount > slowImageCount ? state.slowImageObservers : [:])
        }
        for (lease, grant) in served { lease.waiter.resume(grant) }
        for observer in observers.values { observer() }
        for kind in started {
            if !PlatformThread.start(name: "webimage-start", { [weak self] in self?.addProcess(kind) }) {
                noteStart(of: kind, .failure(UnavailableDecoder("the system has no thread")))
            }
        }
        return result
    }

    /// Returns those that have a grant now, and the kinds of processes to start. This is no ``WaitingLine``: a lease is overtaken by one for
    /// which a process is idle, and what to start and to evict follows from all that wait.
    private func serve(_ state: inout State) -> (served: [(Lease, Grant)], started: [DecoderKind]) {
        var (served, waiting): ([(Lease, Grant)], PriorityQueue<Lease>) = ([], PriorityQueue())
        // Places that are free after those that wait for the start of a process.
        var free = (usual: configuration.processCount - state.busyCount, slow: slowLimit - state.slowCount)
        var (missing, crowdedCount) = ([DecoderKind](), 0)
        let failure = state.failure.flatMap { SystemTimerClock.shared.now < $0.until ? $0.0 : nil }
        swap(&waiting, &state.waiting)
        waiting.removeAll { lease in
            var process: DecoderProcess?
            let wanted = lease.wanted.flatMap { isReachable($0, state) ? $0 : nil }
            let hasPlace = lease.place == .slow ? free.slow > 0 : free.usual > 0
            if let wanted {
                // One that is busy with another file is waited for, because it has this one open.
                if let index = state.idle.firstIndex(where: { $0 === wanted }) {
                    process = state.idle.remove(at: index)
                }
            } else if hasPlace {
                if let index = state.idle.lastIndex(where: { $0.kind == lease.kind }) {
                    process = state.idle.remove(at: index)
                } else if let failure {
                    // It takes no place, so that all that wait for a start get it.
                    served.append((lease, .failure(failure)))
                    return true
                } else {
                    missing.append(lease.kind)
                }
            } else if lease.place == .usual {
                crowdedCount += 1
            }
            if let process {
                process.isSlow = lease.place == .slow
                if process.isSlow { state.slowCount += 1 } else { state.busy.append(process.kind) }
                served.append((lease, .success(process)))
            }
            let takesPlace = wanted == nil && hasPlace || process != nil
            if takesPlace { if lease.place == .slow { free.slow -= 1 } else { free.usual -= 1 } }
            return process != nil
        }
        swap(&waiting, &state.waiting)
        evict(crowdedCount - state.evictedCount, &state)
        if failure == nil, free.usual > 0, let spare = state.replacement ?? readyKind,
            !missing.contains(spare), !state.idle.contains(where: { $0.kind == spare })
        {
            missing.append(spare)
        }
        state.replacement = nil
        for kind in state.starting { missing.removeFirst(kind) }
        state.starting += missing
        return (served, missing)
    }

    /// The kind of the process that is kept ready, if the configuration keeps one.
    var readyKind: DecoderKind? { configuration.keepsProcessReady ? .core : nil }

    /// Whether it is worth to wait for a process that has a file open.
    private func isReachable(_ process: DecoderProcess, _ state: State) -> Bool {
        !process.hasEnded && !process.isSlow && !state.suspended.contains { $0 === process }
    }

    // MARK: Starting

    private func addProcess(_ kind: DecoderKind) {
        noteStart(
            of: kind,
            Result { () throws(UnavailableDecoder) in
                try DecoderProcess(kind, path: try configuration.location.path(), slowPeriod: configuration.slowPeriod)
            })
    }

    private func noteStart(of kind: DecoderKind, _ result: Result<DecoderProcess, UnavailableDecoder>) {
        let clock = SystemTimerClock.shared
        changeState { state in
            state.starting.removeFirst(kind)
            switch result {
            case .success(let process):
                state.counters.startedProcessCount += 1
                state.latestReport = process.report
                state.failure = nil
                process.idleSince = clock.now
                state.idle.append(process)
                startCleaning(&state)
            case .failure(let failure): state.failure = (failure, clock.now + Self.retryPeriod)
            }
        }
        endSurplus(of: kind)
    }

    /// How long a failure to start is not tried again: each try costs milliseconds, and every image would pay them.
    private static let retryPeriod = Duration.seconds(10)

    // MARK: Giving back

    func giveBack(_ process: DecoderProcess, idleSince: Duration) {
        process.onSlow = nil
        // Its priority cannot be raised again.
        let isWornOut = process.imageCount >= configuration.imagesPerProcess || process.hasLowPriority
        if isWornOut, !process.hasEnded { process.end() }
        process.idleSince = idleSince
        changeState { state in
            guard state.owner == getpid() else { return }
            state.overdue.removeAll { $0 === process }
            if process.isEvicted { state.evictedCount -= 1 }
            if process.isSlow { state.slowCount -= 1 } else { state.busy.removeFirst(process.kind) }
            (process.isEvicted, process.isSlow) = (false, false)
            if process.hasEnded {
                if process.wasCancelled { state.replacement = process.kind }
            } else {
                state.idle.append(process)
                startCleaning(&state)
            }
        }
        endSurplus(of: process.kind)
    }

    /// Ends the oldest idle processes of a kind that has more processes than there are places, and those of all kinds that are more than
    /// twice as many. The one that is kept ready stays.
    private func endSurplus(of kind: DecoderKind) {
        let surplus = state.withLock { state -> [DecoderProcess] in
            let ofKind = state.idle.filter { $0.kind == kind }
            let busyCount = state.busy.count { $0 == kind }
            var surplus = take(ofKind.count + busyCount - configuration.processCount, of: ofKind, &state)
            let ready = readyProcess(state)
            let others = state.idle.filter { $0 !== ready }
            surplus += take(state.idle.count - 2 * configuration.processCount, of: others, &state)
            return surplus
        }
        for process in surplus { process.end() }
    }

    /// Removes the first `count` of these processes from the idle ones.
    private func take(_ count: Int, of processes: [DecoderProcess], _ state: inout State) -> [DecoderProcess] {
        guard count > 0 else { return [] }
        let taken = Array(processes.prefix(count))
        state.idle.removeAll { process in taken.contains { $0 === process } }
        return taken
    }

    // MARK: Slow images

    /// Leaves the place of a process that has worked on one image for long to another, in the pool and in the queue of the
    /// calling thread, so that a few hostile files do not stop all loads. Its priority becomes lower if others decode. If all slow places
    /// are taken, it keeps its place until another image needs it. Returns whether nothing is left to do.
    private func leavePlace(_ process: DecoderProcess) -> Bool {
        let (hasLeft, isShared) = changeState { state in
            state.overdue.removeAll { $0 === process }
            if !process.isSlow, state.slowCount < slowLimit {
                process.isSlow = true
                state.slowCount += 1
                state.busy.removeFirst(process.kind)
            } else if !process.isSlow, !process.isEvicted {
                state.overdue.append(process)
            }
            return (process.isSlow, state.busyCount + state.slowCount > 1 || !state.waiting.isEmpty)
        }
        // The images that need its place may wait for a thread.
        WorkQueue.letAnotherThreadWork()
        if isShared { process.lowerPriority() }
        return hasLeft && process.hasLowPriority
    }

    /// Makes processes leave usual places for images that wait. Those begin anew in slow places.
    private func evict(_ count: Int, _ state: inout State) {
        for process in state.overdue.prefix(max(0, count)) {
            process.isEvicted = true
            state.evictedCount += 1
        }
        state.overdue.removeFirst(min(state.overdue.count, max(0, count)))
    }
}
