internal import FoundationEssentials
internal import WebImageCore
internal import WebImageLoading

/// Objects by name: reads within a budget, writes behind, leases.
///
/// A lease is an object under the result's own key, which only the first writer creates (`If-None-Match: *`), and which the
/// result replaces. So a miss costs one request before the origin is asked, if it begins with the lease; a hit costs one if it
/// begins with a read. What was more frequent lately is tried first.
final class SharedStore: Sendable {
    enum Finding: Sendable {
        case found(SharedObject, age: Double?)
        case absent
        /// Nothing is there, and the caller is the one to load it.
        case claimed
        /// The store does not answer, in time or at all.
        case unavailable
    }

    /// A lease that was not renewed for so long is void.
    static let leaseDuration = 2.0
    private static let writerCount = 4

    private struct State {
        var counters = SharedImageCache.Counters()
        var breaker = CircuitBreaker()
        /// Whether the store has conditional writes; `nil` until that is known.
        var hasConditionalWrites: Bool?
        var isProbing = false
        /// The share of hits lately, from 0 to 1.
        var hitShare = 1.0
        /// What waits to be written, oldest first.
        var pending: [Write] = []
        var pendingByteCount = 0
        var writerCount = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// An object to write, or `nil` to remove the one there is.
    private struct Write {
        let name: String
        let object: SharedObject?

        var byteCount: Int { object?.content.count ?? 0 }
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

    /// Whether the store is left alone at the moment.
    var isPausing: Bool { state.withLock { $0.breaker.isPausing(at: clock.now) } }

    var objectByteLimit: Int { configuration.objectByteLimit }

    func count(_ change: (inout SharedImageCache.Counters) -> Void) { state.withLock { change(&$0.counters) } }

    // MARK: Reading

    /// Looks a response up, or takes the lease to load it.
    func find(_ name: String) async -> Finding {
        let isKnown = state.withLock { !configuration.usesLeases || $0.hasConditionalWrites != nil || $0.isProbing }
        // Beside the load: until it is known there are no leases.
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
            // Another one was faster.
            if case .absent = finding { finding = await read(name) }
        }
        let isHit = if case .found(let object, _) = finding { object.kind == .response } else { false }
        state.withLock { $0.hitShare += ((isHit ? 1 : 0) - $0.hitShare) / 16 }
        return finding
    }

    func read(_ name: String) async -> Finding {
        let limit = configuration.objectByteLimit + (1 << 20)
        guard let response = await request(.get, name, byteLimit: limit) else { return .unavailable }
        guard response.statusCode == 200 else { return response.statusCode == 404 ? .absent : .unavailable }
        guard let object = SharedObject(response.body, name: name) else {
            count { $0.invalidObjects += 1 }
            return .absent
        }
        return .found(object, age: response.age)
    }

    // MARK: Leases

    /// Returns `.absent` if an object is there already.
    private func claim(_ name: String) async -> Finding {
        let condition = HTTPField(name: "If-None-Match", value: "*")
        guard let response = await request(.put, name, headers: [condition], body: lease(name).encoded) else {
            return .unavailable
        }
        return response.statusCode == 200
            ? .claimed : [409, 412].contains(response.statusCode) ? .absent : .unavailable
    }

    /// Extends the lease, or takes one over that is void.
    func renew(_ name: String) async -> Bool {
        await request(.put, name, body: lease(name).encoded)?.statusCode == 200
    }

    private func lease(_ name: String) -> SharedObject {
        SharedObject(.lease, name: name, content: Data("\(owner)".utf8))
    }

    /// Writes twice on one condition: the second write fails only in a store that has it.
    func learnAboutConditionalWrites() async {
        let isMine = state.withLock { state in
            guard configuration.usesLeases, state.hasConditionalWrites == nil, !state.isProbing else { return false }
            state.isProbing = true
            return true
        }
        guard isMine else { return }
        let name = "probe:\(UInt64.random(in: 0...UInt64.max))"
        let first = await claim(name)
        var hasConditions: Bool?
        if case .claimed = first {
            switch await claim(name) {
            case .absent: hasConditions = true
            case .claimed: hasConditions = false
            default: break
            }
            await remove(name)
        }
        state.withLock { state in
            state.isProbing = false
            state.hasConditionalWrites = hasConditions
        }
    }

    // MARK: Writing

    /// Stores an object behind the call, in place of one that still waits under its name.
    func write(_ object: SharedObject) {
        state.withLock { state in
            enqueue(Write(name: object.texts.name, object: object), &state)
            while state.pendingByteCount > configuration.pendingByteLimit, !state.pending.isEmpty {
                state.pendingByteCount -= state.pending.removeFirst().byteCount
                state.counters.droppedWrites += 1
            }
        }
        startWriter()
    }

    /// Removes an object behind the call.
    func removeLater(_ name: String) {
        state.withLock { enqueue(Write(name: name, object: nil), &$0) }
        startWriter()
    }

    private func enqueue(_ write: Write, _ state: inout State) {
        if let index = state.pending.firstIndex(where: { $0.name.hasSameBytes(as: write.name) }) {
            state.pendingByteCount -= state.pending.remove(at: index).byteCount
        }
        state.pending.append(write)
        state.pendingByteCount += write.byteCount
    }

    private func startWriter() {
        let starts = state.withLock { state in
            guard state.writerCount < Self.writerCount, !state.pending.isEmpty else { return false }
            state.writerCount += 1
            return true
        }
        guard starts else { return }
        Task {
            while let write = nextWrite() {
                if let object = write.object {
                    // Encoded here: its checksum would hold up the thread of the network, which calls `write`.
                    let isWritten = await request(.put, write.name, body: object.encoded)?.statusCode == 200
                    count { counters in if isWritten { counters.writes += 1 } else { counters.droppedWrites += 1 } }
                } else {
                    await remove(write.name)
                }
            }
        }
    }

    /// Ends the writer if there is nothing left.
    private func nextWrite() -> Write? {
        let (next, waiters) = state.withLock {
            state -> (Write?, [CheckedContinuation<Void, Never>]) in
            guard !state.pending.isEmpty else {
                state.writerCount -= 1
                guard state.writerCount == 0 else { return (nil, []) }
                defer { state.waiters = [] }
                return (nil, state.waiters)
            }
            let next = state.pending.removeFirst()
            state.pendingByteCount -= next.byteCount
            return (next, [])
        }
        for waiter in waiters { waiter.resume() }
        return next
    }

    func flush() async {
        await withCheckedContinuation { continuation in
            let isEmpty = state.withLock { state in
                guard state.writerCount > 0 else { return true }
                state.waiters.append(continuation)
                return false
            }
            if isEmpty { continuation.resume() }
        }
    }

    func remove(_ name: String) async { _ = await request(.delete, name) }

    // MARK: Requests

    /// Returns `nil` if the store is left alone, fails or is slow.
    private func request(
        _ method: LoaderRequest.Method, _ name: String, headers: [HTTPField] = [], body: Data? = nil,
        byteLimit: Int = 1 << 20
    ) async -> S3Client.Response? {
        guard state.withLock({ $0.breaker.admits(at: clock.now) }) else { return nil }
        do throws(S3Client.Failure) {
            let response = try await client.send(
                method, SharedObject.key(of: name), headers: headers, body: body, byteLimit: byteLimit)
            // What the store refuses, it will refuse again: a wrong key, a missing bucket.
            let isRefused =
                response.statusCode >= 500 || [401, 403].contains(response.statusCode)
                || response.isBucketMissing
            note(failure: isRefused)
            return response
        } catch {
            switch error {
            case .cancelled: state.withLock { $0.breaker.forget() }
            // The store works; the object is not ours.
            case .tooLong:
                note(failure: false)
                count { $0.invalidObjects += 1 }
            case .tooSlow, .unreachable, .refused: note(failure: true)
            }
            return nil
        }
    }

    private func note(failure: Bool) {
        state.withLock { state in
            guard failure else { return state.breaker.succeed() }
            state.counters.failures += 1
            state.breaker.fail(at: clock.now)
        }
    }
}
