import Dispatch
import WebImage
import WebImageTestSupport

/// Tells when the last of some objects has gone.
final class StressWitnesses: Sendable {
    private struct State {
        var livingCount = 0
        var waiter: Countdown?
    }

    private final class Witness: Sendable {
        let witnesses: StressWitnesses
        init(_ witnesses: StressWitnesses) { self.witnesses = witnesses }
        deinit { witnesses.change(by: -1) }
    }

    private let state = LockBox(State())

    func make() -> any AnyObject & Sendable {
        change(by: 1)
        return Witness(self)
    }

    private func change(by difference: Int) {
        let waiter = state.withLock { state in
            state.livingCount += difference
            return state.livingCount == 0 ? state.waiter.take() : nil
        }
        waiter?.signal()
    }

    /// Waits until none is left.
    func gone() async throws {
        let waiter = Countdown()
        let isOver = state.withLock { state in
            if state.livingCount > 0 { state.waiter = waiter }
            return state.livingCount == 0
        }
        if !isOver { try await waiter.wait() }
    }
}

extension WorkQueue {
    /// Returns when everything that was queued before has run, and been let go.
    func finishWhatWaits() async throws {
        let (reached, gate) = (Countdown(threadCount), DispatchSemaphore(value: 0))
        // All of its threads at once: then none has anything else.
        for _ in 0..<threadCount {
            submit(priority: .veryLow) {
                reached.signal()
                gate.wait()
            }
        }
        defer { for _ in 0..<threadCount { gate.signal() } }
        try await reached.wait()
    }
}
