internal import Dispatch
internal import Glibc
internal import WebImageCore

/// Starts decoder processes, on threads that live as long as the program: the kernel may end a process with the thread that started it.
final class ProcessStarter: Sendable {
    static let shared = ProcessStarter()

    private let state = Lock(State())

    private struct State {
        var waiting: [@Sendable () -> Void] = []
        var threadCount = 0
        var idleThreadCount = 0
        let arrival = DispatchSemaphore(value: 0)
        /// The process that has these threads.
        let owner = getpid()
    }

    private static let threadLimit = min(PlatformThread.processorCount, 4)

    /// Calls `body` on one of the threads; `false` if the system has none.
    func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        let (arrival, addsThread) = state.withLock { state in
            // Threads do not follow into a child.
            if state.owner != getpid() { state = State() }
            state.waiting.append(body)
            let addsThread = state.waiting.count > state.idleThreadCount && state.threadCount < Self.threadLimit
            if addsThread { state.threadCount += 1 }
            return (state.arrival, addsThread)
        }
        if addsThread, !PlatformThread.start(name: "webimage-start", { [self] in work(arrival) }) {
            let isLost = state.withLock { state in
                state.threadCount -= 1
                return state.threadCount == 0 && state.waiting.popLast() != nil
            }
            if isLost { return false }
        }
        arrival.signal()
        return true
    }

    private func work(_ arrival: DispatchSemaphore) {
        while true {
            state.withLock { $0.idleThreadCount += 1 }
            arrival.wait()
            let body = state.withLock { state in
                state.idleThreadCount -= 1
                return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
            }
            body?()
        }
    }
}
