import Testing
import WebImageTesting

/// The clock that tests advance.
@Suite(.timeLimit(.minutes(1))) struct ManualClockTests {
    private let clock = ManualClock()

    @Test func wakesThoseWhoseTimeHasCome() async throws {
        let short = Task { [clock] in try await clock.sleep(for: .seconds(1)) }
        let long = Task { [clock] in try await clock.sleep(for: .seconds(2)) }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(1))
        try await short.value
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .seconds(1))
        try await long.value
        #expect(clock.sleeperCount == 0)
    }

    @Test func measuresExactly() {
        let start = clock.now
        clock.advance(by: .seconds(1) / 3)
        clock.advance(by: .seconds(-1))
        #expect(start.duration(to: clock.now) == .seconds(1) / 3)
        #expect(start < clock.now)
    }

    @Test func aSleepUntilThePastIsOver() async throws {
        clock.advance(by: .seconds(1))
        try await clock.sleep(until: ManualClock().now)
        try await clock.sleep(until: clock.now)
    }

    @Test func aCancelledSleepThrowsAndIsForgotten() async throws {
        let sleep = Task { [clock] in try await clock.sleep(for: .seconds(1)) }
        try await clock.waitForSleepers()
        sleep.cancel()
        await #expect(throws: CancellationError.self) { try await sleep.value }
        #expect(clock.sleeperCount == 0)
    }
}
