import Dispatch
import WebImageTestSupport

/// Blocks threads of a pool until it is opened.
final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    let reached = Countdown()

    /// Blocks for at most a minute.
    func pass() {
        reached.signal()
        _ = semaphore.wait(timeout: .now() + 60)
        semaphore.signal()
    }

    func open() { semaphore.signal() }
}
