import WebImage
@testable import WebImageLoading

/// A network that the test plugs in and out.
final class ScriptedConnectivity: ConnectivityMonitor {
    private struct State {
        var isConnected: Bool
        var waiters: [Int: @Sendable () -> Void] = [:]
        var lastNumber = 0
    }

    private let state: LockBox<State>

    init(isConnected: Bool) { state = LockBox(State(isConnected: isConnected)) }

    var isConnected: Bool { state.withLock { $0.isConnected } }
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    func whenConnected(_ body: @escaping @Sendable () -> Void) -> ConnectivityWait {
        let number = state.withLock { state in
            state.lastNumber += 1
            if !state.isConnected { state.waiters[state.lastNumber] = body }
            return state.isConnected ? nil : state.lastNumber
        }
        guard let number else {
            body()
            return ConnectivityWait {}
        }
        return ConnectivityWait { [self] in _ = state.withLock { $0.waiters.removeValue(forKey: number) } }
    }

    /// Connects the network, and calls the waiting handlers.
    func connect() {
        let waiters = state.withLock { state in
            defer { state.waiters = [:] }
            state.isConnected = true
            return state.waiters
        }
        for body in waiters.values { body() }
    }

    func disconnect() { state.withLock { $0.isConnected = false } }
}
