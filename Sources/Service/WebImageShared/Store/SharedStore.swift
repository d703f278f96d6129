internal import FoundationEssentials
internal import WebImageCore
internal import WebImageLoading

/// Objects by name: reads within a budget, writes behind, leases.
///
/// A lease is an object under the result's own key. The first writer creates it (`If-None-Match: *`), and the result
/// replaces it. A miss costs one request before the origin is contacted if it starts with the lease, and a hit costs
/// one if it starts with a read. Whichever was more frequent lately comes first.
///
/// At most one write of a name is in flight, so that an older object never replaces a newer one.
final class SharedStore: Sendable {
    enum Finding: Sendable {
        case found(SharedObject, age: Double?)
        case absent
        /// The store has no object, and the caller has the lease to load it.
        case claimed
        /// The store did not answer, or refused the request; the reason is for traces.
        case unavailable(String)
    }

    /// A lease that was not renewed for this long is void, in seconds.
    static let leaseDuration = 2.0
    /// How often a machine looks whether another one has ended its lease.
    static let lookInterval = Duration.milliseconds(40)
    private static let writerCount = 4
    /// How often a write is sent to a store that cannot be reached; enough to wait for half a minute.
    private static let attemptLimit = 2 * CircuitBreaker.failureLimit

    private struct State {
        var counters = SharedImageCache.Counters()
        var breaker = CircuitBreaker()
        /// Whether the store has conditional writes; `nil` until that is known.
        var hasConditionalWrites: Bool?
        var isProbing = false
        /// The share of hits lately, from 0 to 1.
        var hitShare = 1.0
        var pending = WriteQueue()
        /// The names that are being written.
        var names: [String] = []
        var writerCount = 0
        /// Starts a writer when the breaker lets one request through.
        var retry: ScheduledCall?
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    let client: S3Client
    private let configuration: SharedImageCache.Configuration
    private let clock: any TimerClock
    private let owner = UInt64.random(in: 1...UInt64.max)
    private let state = Lock(State())

    init(_ configuration: SharedImageCache.Configuration, clock: any TimerClock = SystemTimerClock.shared) {
        (self.configuration, self.clock) = (configuration, clock)
        client = S3Client(configuration)
    }

    var counters: SharedImageCache.Counters {
        state.withLock { state in
            var counters = state.counters
            counters.interruptions = state.breaker.openingCount
            counters.isInterrupted = state.breaker.isOpen
            return counters
        }
    }

    /// Whether the circuit breaker allows no request at the moment.
    var isPausing: Bool { state.withLock { $0.breaker.isPausing(at: clock.now) } }

    var objectByteLimit: Int { configuration.objectByteLimit }

    func count(_ change: (inout SharedImageCache.Counters) -> Void) { state.withLock { change(&$0.counters) } }

    // MARK: Reading

    /// Looks up a response, or takes the lease to load it.
    func find(_ name: String) async -> Finding {
        let isKnown = state.withLock { !configuration.usesLeases || $0.hasConditionalWrites != nil || $0.isProbing }
        // In parallel with the load, which uses no lease yet.
        if !isKnown { Task { await learnAboutConditionalWrites() } }
        let start = clock.now
        let (mayClaim, claimsFirst) = state.withLock { state in
            let mayClaim = configuration.usesLeases && state.hasConditionalWrites == true
            return (mayClaim, mayClaim && state.hitShare < 0.5)
        }
        var finding = claimsFirst ? await claim(name) : await read(name)
        if claimsFirst, case .absent = finding { finding = await read(name) }
        // A second request must not make a slow store twice as slow.
        let isInTime = clock.now - start < (configuration.budget.connect + configuration.budget.firstByte) / 2
        if !claimsFirst, mayClaim, isInTime, case .absent = finding {
            finding = await claim(name)
            // Another machine was faster.
            if case .absent = finding { finding = await read(name) }
        }
        let isHit = if case .found(let object, _) = finding { object.kind == .response } else { false }
        state.withLock { $0.hitShare += ((isHit ? 1 : 0) - $0.hitShare) / 16 }
        return finding
    }

    func read(_ name: String) async -> Finding {
        let limit = configuration.objectByteLimit + (1 << 20)
        let response: S3Client.Response
        switch await request(.get, name, byteLimit: limit) {
        case .success(let answer): response = answer
        case .failure(let failure): return failure == .tooLong ? .absent : .unavailable(failure.description)
        }
        guard response.statusCode == 200 else {
            return response.statusCode == 404 && !response.isBucketMissing ? .absent : .unavailable(response.refusal)
        }
        guard let object = SharedObject(response.body, name: name, secret: configuration.secret) else {
            count { $0.invalidObjects += 1 }
            return .absent
        }
        return .found(object, age: response.age)
    }

    // MARK: Leases

    /// Returns `.absent` if an object is there already.
    private func claim(_ name: String) async -> Finding {
        // A cancelled load waits for its claim too: without the response, it could not remove its lease.
        switch await Task(operation: { await sendClaim(name) }).value {
        case .success(let response) where response.statusCode == 200: .claimed
        case .success(let response) where [409, 412].contains(response.statusCode): .absent
        case .success(let response): .unavailable(response.refusal)
        case .failure(let failure): .unavailable(failure.description)
        }
    }

    private func sendClaim(_ name: String) async -> Result<S3Client.Response, S3Client.Failure> {
        let condition = HTTPHeader(name: "If-None-Match", value: "*")
        return await request(.put, name, headers: [condition], body: encodedLease(name))
    }

    /// Extends the lease, or takes over a void one. Returns `false` if that failed, or if this process writes the object.
    func renew(_ name: String) async -> Bool {
        switch await sendNow(.put, name, body: encodedLease(name)) {
        case .success(let response)?: response.statusCode == 200
        case .failure?, nil: false
        }
    }

    private func encodedLease(_ name: String) -> Data {
        SharedObject(.lease, name: name, content: Data("\(owner)".utf8)).encoded(secret: configuration.secret)
    }

    /// Writes an object twice on the condition that there is none. The second write fails if the store has conditional
    /// writes. Stores without them ignore the condition, or answer that it is not implemented.
    func learnAboutConditionalWrites() async {
        let isMine = state.withLock { state in
            guard configuration.usesLeases, state.hasConditionalWrites == nil, !state.isProbing else { return false }
            state.isProbing = true
            return true
        }
        guard isMine else { return }
        let name = "probe:\(UInt64.random(in: 0...UInt64.max))"
        let first = try? await sendClaim(name).get()
        var hasConditions: Bool?
        if first?.statusCode == 200 {
            switch try? await sendClaim(name).get().statusCode {
            case 409?, 412?: hasConditions = true
            case 200?: hasConditions = false
            default: break
            }
            await remove(name)
        } else if first?.isUnsupported ?? false {
            hasConditions = false
        }
        state.withLock { state in
            state.isProbing = false
            state.hasConditionalWrites = hasConditions
        }
    }

    // MARK: Writing

    /// Stores an object after the call. It replaces a waiting one of its name.
    func write(_ object: SharedObject) {
        state.withLock { state in
            state.pending.append(WriteQueue.Write(name: object.texts.name, object: object))
            while state.pending.byteCount > configuration.pendingByteLimit, state.pending.removeFirst() != nil {
                state.counters.droppedWrites += 1
            }
        }
        startWriter()
    }

    /// Removes an object after the call.
    func removeLater(_ name: String) {
        state.withLock { $0.pending.append(WriteQueue.Write(name: name, object: nil)) }
        startWriter()
    }

    private func startWriter() {
        let starts = state.withLock { state in
            guard state.writerCount < Self.writerCount, maySend(&state) else { return false }
            state.writerCount += 1
            return true
        }
        guard starts else { return }
        Task {
            while let write = nextWrite() {
                await send(write)
                release(write.name)
            }
        }
    }

    private func send(_ write: WriteQueue.Write) async {
        // Encoded here: `write` is called on the network thread, which the checksum would block.
        let result =
            if let object = write.object {
                await request(.put, write.name, body: object.encoded(secret: configuration.secret))
            } else {
                await request(.delete, write.name)
            }
        switch result {
        case .success(let response):
            guard write.object != nil else { return }
            count { counters in
                if response.statusCode == 200 { counters.writes += 1 } else { counters.droppedWrites += 1 }
            }
        case .failure(.unreachable), .failure(.paused): sendAgain(write)
        case .failure: count { counters in if write.object != nil { counters.droppedWrites += 1 } }
        }
    }

    /// Puts a write back into the queue, unless a newer one of its name waits.
    private func sendAgain(_ write: WriteQueue.Write) {
        state.withLock { state in
            var write = write
            write.attemptCount += 1
            let isSuperseded = state.pending.contains(write.name)
            let hasSpace = state.pending.byteCount + write.byteCount <= configuration.pendingByteLimit
            guard write.attemptCount < Self.attemptLimit, !isSuperseded, hasSpace, state.waiters.isEmpty else {
                if write.object != nil { state.counters.droppedWrites += 1 }
                return
            }
            state.pending.prepend(write)
        }
    }

    /// Whether a write may be sent now. While the breaker allows none, a writer is scheduled for its end.
    private func maySend(_ state: inout State) -> Bool {
        guard !state.pending.isEmpty else { return false }
        guard !state.breaker.isPausing(at: clock.now) else {
            // The end of a probe starts a writer itself.
            if state.retry == nil, let time = state.breaker.reopening, time > clock.now {
                state.retry = clock.schedule(at: time) { [weak self] in
                    self?.state.withLock { $0.retry = nil }
                    self?.startWriter()
                }
            }
            return false
        }
        let names = state.names
        return state.pending.contains { name in !names.contains { $0.hasSameBytes(as: name) } }
    }

    /// Ends the writer if there is nothing that it may send.
    private func nextWrite() -> WriteQueue.Write? {
        let next = state.withLock { state -> WriteQueue.Write? in
            let names = state.names
            guard maySend(&state),
                let next = state.pending.removeFirst(where: { name in !names.contains { $0.hasSameBytes(as: name) } })
            else {
                state.writerCount -= 1
                return nil
            }
            state.names.append(next.name)
            return next
        }
        if next == nil { resumeWaiters() }
        return next
    }

    /// Waits for the writes. Those that the breaker holds back are dropped.
    func flush() async {
        startWriter()
        await withCheckedContinuation { continuation in
            state.withLock { $0.waiters.append(continuation) }
            resumeWaiters()
        }
    }

    private func resumeWaiters() {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard state.writerCount == 0, state.names.isEmpty, !state.waiters.isEmpty else { return [] }
            dropPending(&state)
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    private func dropPending(_ state: inout State) {
        state.counters.droppedWrites += state.pending.objectCount
        state.pending = WriteQueue()
    }

    /// Removes an object, and the write that waits to replace it.
    func remove(_ name: String) async {
        state.withLock { $0.pending.remove(name) }
        if await sendNow(.delete, name) == nil { removeLater(name) }
    }

    /// Writes outside the queue; returns `nil` without a request if a write of the name waits or is in flight.
    private func sendNow(
        _ method: LoaderRequest.Method, _ name: String, body: Data? = nil
    ) async -> Result<S3Client.Response, S3Client.Failure>? {
        let isFree = state.withLock { state in
            let isTaken =
                state.names.contains { $0.hasSameBytes(as: name) } || state.pending.contains(name)
            if !isTaken { state.names.append(name) }
            return !isTaken
        }
        guard isFree else { return nil }
        let result = await request(method, name, body: body)
        release(name)
        startWriter()
        resumeWaiters()
        return result
    }

    private func release(_ name: String) {
        state.withLock { state in state.names.removeAll { $0.hasSameBytes(as: name) } }
    }

    // MARK: Requests

    private func request(
        _ method: LoaderRequest.Method, _ name: String, headers: [HTTPHeader] = [], body: Data? = nil,
        byteLimit: Int = 1 << 20
    ) async -> Result<S3Client.Response, S3Client.Failure> {
        guard state.withLock({ $0.breaker.admits(at: clock.now) }) else { return .failure(.paused) }
        do throws(S3Client.Failure) {
            let response = try await client.send(
                method, SharedObject.key(of: name), headers: headers, body: body, byteLimit: byteLimit)
            note(failure: response.isFailure, breaks: !response.isFull)
            return .success(response)
        } catch {
            switch error {
            case .cancelled:
                state.withLock { $0.breaker.forget() }
                startWriter()
            // The store works; the object is not from this library.
            case .tooLong:
                note(failure: false)
                count { $0.invalidObjects += 1 }
            case .tooSlow, .unreachable, .refused, .paused: note(failure: true)
            }
            return .failure(error)
        }
    }

    private func note(failure: Bool, breaks: Bool = true) {
        state.withLock { state in
            if failure { state.counters.failures += 1 }
            // A full store can still be read.
            if failure, breaks { state.breaker.fail(at: clock.now) } else { state.breaker.succeed() }
        }
        startWriter()
    }
}
