internal import CWebImageHTTPD
internal import Dispatch
internal import Glibc
internal import Synchronization
internal import WebImageService

/// The connections of a server, each with the time at which its phase must have ended.
///
///     head ─► body? ─► working ─► sending ─┬─► idle ─► body? ─► working
///                                          └─► closed
///
/// A slow or silent client loses its connection. One that leaves while an answer is being made ends the work.
final class ConnectionTable: Sendable {
    /// How long phases last.
    struct Times: Sendable {
        /// From the connection to the end of the first head.
        var head = Duration.seconds(10)
        /// From the head of a request to the end of its body.
        var body = Duration.seconds(30)
        /// From an answer to the end of the next head; 0 ends connections after an answer.
        var idle = Duration.seconds(30)
        /// For sending an answer, besides the time that its bytes take at the rate.
        var sending = Duration.seconds(30)
        var bytesPerSecond = 16 << 10
    }

    private enum Phase { case head, body, working, sending, idle }

    private struct Connection {
        let descriptor: Int32
        var phase = Phase.head
        var deadline: ContinuousClock.Instant
        /// Until its answer was sent.
        var exchange: HTTPExchange?
    }

    private struct State {
        var connections: [UInt64: Connection] = [:]
        var isStopping = false
        /// Whether the time for stopping is over.
        var isLate = false
        /// Whether no request may begin any more: libmicrohttpd ends the process if a connection is suspended while it stops.
        var isClosed = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let times: Times
    private let connectionLimit: Int
    private let watchDescriptor: Int32
    private let state = Mutex(State())

    /// How often deadlines are looked at.
    private static let tick: Int32 = 250
    /// For what is not answered within the time for stopping: first for giving the work up, then for sending.
    private static let lastTime = Duration.seconds(1)

    init(times: Times, connectionLimit: Int) {
        (self.times, self.connectionLimit) = (times, connectionLimit)
        watchDescriptor = cwi_watch_make()
        // A serial queue has a thread of its own.
        DispatchQueue(label: "webimage-watch").async { [weak self] in
            // Each look takes a reference of its own, so that the table can go.
            while self?.look() == true {}
        }
    }

    deinit { _ = Glibc.close(watchDescriptor) }

    var count: Int { state.withLock { $0.connections.count } }
    /// The requests without an answer, for tests.
    var workingCount: Int { state.withLock { $0.connections.values.count { $0.phase == .working } } }
    /// The connections that wait for another request, for tests.
    var idleCount: Int { state.withLock { $0.connections.values.count { $0.phase == .idle } } }

    // MARK: Phases

    func open(_ number: UInt64, descriptor: Int32) {
        state.withLock { state in
            // The client that has been sending its first request for the longest makes place.
            if state.connections.count >= connectionLimit,
                let oldest = state.connections.values.filter({ $0.phase == .head || $0.phase == .idle })
                    .min(by: { $0.deadline < $1.deadline })
            {
                shutdown(oldest.descriptor, Int32(SHUT_RDWR))
            }
            state.connections[number] = Connection(descriptor: descriptor, deadline: .now + times.head)
        }
    }

    /// Forgets a connection, right before its descriptor is closed.
    func close(_ number: UInt64) {
        _ = state.withLock { $0.connections.removeValue(forKey: number) }
        resumeWaiters()
    }

    /// Returns whether a request may be answered later; otherwise, it must be answered at once.
    func begin(_ exchange: HTTPExchange) -> Bool {
        state.withLock { state in
            state.connections[exchange.connection]?.exchange = exchange
            guard !state.isClosed else { return false }
            state.connections[exchange.connection]?.phase = exchange.body == nil ? .working : .body
            if exchange.body != nil { state.connections[exchange.connection]?.deadline = .now + times.body }
            return true
        }
    }

    /// Returns the exchange of a connection, until its answer was sent.
    func exchange(of number: UInt64) -> HTTPExchange? { state.withLock { $0.connections[number]?.exchange } }

    /// Notes that the body of a request has arrived, and returns its exchange.
    func endBody(of number: UInt64) -> HTTPExchange? {
        state.withLock { state in
            if state.connections[number]?.phase == .body { state.connections[number]?.phase = .working }
            return state.connections[number]?.exchange
        }
    }

    /// Watches whether the client leaves, while an answer is made.
    func watch(_ exchange: HTTPExchange) {
        state.withLock { state in
            guard let connection = state.connections[exchange.connection], connection.exchange === exchange,
                connection.phase == .working
            else { return }
            cwi_watch_add(watchDescriptor, connection.descriptor, exchange.connection)
        }
    }

    func send(_ number: UInt64, byteCount: Int) {
        state.withLock { state in
            guard let connection = state.connections[number] else { return }
            let seconds = Double(byteCount) / Double(times.bytesPerSecond)
            state.connections[number]?.phase = .sending
            state.connections[number]?.deadline =
                .now + (state.isLate ? Self.lastTime : times.sending + .seconds(seconds))
            cwi_watch_remove(watchDescriptor, connection.descriptor)
        }
        resumeWaiters()
    }

    /// Returns the exchange that has ended.
    func finish(_ number: UInt64) -> HTTPExchange? {
        let exchange = state.withLock { state in
            state.connections[number]?.phase = .idle
            state.connections[number]?.deadline = .now + times.idle
            return state.connections[number]?.exchange.take()
        }
        resumeWaiters()
        return exchange
    }

    // MARK: Watching

    /// Waits for clients that leave, and closes connections whose time is over. Returns `false` at the end.
    private func look() -> Bool {
        var numbers = [UInt64](repeating: 0, count: 64)
        let count = cwi_watch_wait(watchDescriptor, &numbers, numbers.count, Self.tick)
        for number in numbers.prefix(count) { exchange(of: number)?.leave() }
        let now = ContinuousClock.now
        let (goesOn, late) = state.withLock { state -> (Bool, [HTTPExchange]) in
            var late: [HTTPExchange] = []
            for connection in state.connections.values where connection.phase != .working && connection.deadline <= now
            {
                // The server notices, and calls `close`.
                shutdown(connection.descriptor, Int32(SHUT_RDWR))
                if connection.phase == .body, let exchange = connection.exchange { late.append(exchange) }
            }
            return (!state.isStopping || !state.connections.isEmpty, late)
        }
        // A connection whose body is not read is read then, which notices its end.
        for exchange in late { exchange.leave() }
        return goesOn
    }

    // MARK: Stopping

    /// Waits until all answers are sent, for at most `time`; then ends requests without one, and connections of clients that do not read. Work that
    /// does not end within another second is not waited for. Afterwards, no request begins.
    func drain(within time: Duration) async {
        let timer = Task {
            try await Task.sleep(for: time)
            for exchange in lateExchanges() { exchange.leave() }
            try await Task.sleep(for: Self.lastTime)
            for exchange in state.withLock({ working($0) }) { exchange.send(.stopping(exchange.request), closes: true) }
        }
        await withCheckedContinuation { continuation in
            state.withLock { state in
                state.isStopping = true
                state.waiters.append(continuation)
            }
            resumeWaiters()
        }
        timer.cancel()
    }

    /// Closes the connections of clients that do not read, or still send. Returns the requests without an answer.
    private func lateExchanges() -> [HTTPExchange] {
        state.withLock { state in
            state.isLate = true
            for connection in state.connections.values where connection.phase == .sending || connection.phase == .body {
                // The server notices, and calls `finish`.
                shutdown(connection.descriptor, Int32(SHUT_RDWR))
            }
            return working(state)
        }
    }

    private func working(_ state: State) -> [HTTPExchange] {
        state.connections.values.filter { $0.phase == .working || $0.phase == .body }.compactMap(\.exchange)
    }

    private func resumeWaiters() {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard state.isStopping, state.connections.values.allSatisfy({ $0.phase == .head || $0.phase == .idle })
            else { return [] }
            state.isClosed = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
