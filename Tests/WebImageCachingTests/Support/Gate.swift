import Dispatch
import WebImageTestSupport

/// Keeps threads of a pool waiting until it is opened.
final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    let reached = Countdown()

    /// Blocks, for a minute at most.
    func pass() {
        reached.signal()
        _ = semaphore.wait(timeout: .now() + 60)
        semaphore.signal()
    }

    func open() { semaphore.signal() }
}
