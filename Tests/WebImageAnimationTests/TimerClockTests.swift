import Testing
@testable import WebImageCore
import WebImageTestSupport

@Suite(.timeLimit(.minutes(3))) struct TimerClockTests {
    @Test func aManualClockStopsAtTheEndOfTime() {
        let clock = ManualTimerClock()
        clock.advance(by: .seconds(1))
        clock.advance(by: .seconds(Int64.max))
        clock.jump(by: .seconds(Int64.max))
        #expect(clock.now == .nanoseconds(Int64.max))
    }

    @Test func callsInTheOrderOfTimeThenOfScheduling() {
        let clock = ManualTimerClock()
        let called = LockBox<[Int]>([])
        for (number, milliseconds) in [(1, 30), (2, 10), (3, 20), (4, 10), (5, -5)] {
            _ = clock.schedule(at: .milliseconds(milliseconds)) { called.withLock { $0.append(number) } }
        }
        #expect(clock.nextCallTime == .zero)
        clock.advance()
        #expect(called.withLock { $0 } == [5])
        clock.advance(by: .milliseconds(19))
        #expect(called.withLock { $0 } == [5, 2, 4])
        clock.advance(by: .seconds(1))
        #expect(called.withLock { $0 } == [5, 2, 4, 3, 1])
        #expect(clock.now == .milliseconds(1019))
    }

    @Test func showsEachCallItsOwnTimeUnlessItJumps() {
        let clock = ManualTimerClock()
        let times = LockBox<[Duration]>([])
        func schedule() {
            for milliseconds in [10, 20] {
                _ = clock.schedule(at: clock.now + .milliseconds(milliseconds)) {
                    times.withLock { $0.append(clock.now) }
                }
            }
        }
        schedule()
        clock.advance(by: .milliseconds(50))
        schedule()
        clock.jump(by: .milliseconds(50))
        #expect(times.withLock { $0 } == [10, 20, 100, 100].map { .milliseconds($0) })
    }

    @Test func cancelledCallsAreRemoved() {
        let clock = ManualTimerClock()
        let called = LockBox(0)
        let calls = (0..<5).map { _ in clock.schedule(at: .seconds(1)) { called.withLock { $0 += 1 } } }
        calls[1].cancel()
        calls[3].cancel()
        calls[3].cancel()
        #expect(clock.pendingCallCount == 3)
        clock.advance(by: .seconds(2))
        #expect(called.withLock { $0 } == 3)
        calls[0].cancel()
    }

    @Test func theSystemClockCallsInTime() async throws {
        let clock = SystemTimerClock()
        let start = clock.now
        let called = LockBox<[(Int, Duration)]>([])
        let countdown = Countdown(4)
        // In a call, so that all are scheduled before the first is made.
        _ = clock.schedule(at: start) {
            for (number, milliseconds) in [(3, 30), (1, 5), (2, 20), (0, -100)] {
                _ = clock.schedule(at: start + .milliseconds(milliseconds)) {
                    called.withLock { $0.append((number, clock.now - start)) }
                    countdown.signal()
                }
            }
            clock.schedule(at: start + .milliseconds(10)) { Issue.record("it was cancelled") }.cancel()
        }
        try await countdown.wait()
        let calls = called.withLock { $0 }
        #expect(calls.map(\.0) == [0, 1, 2, 3])
        for (number, milliseconds) in [(1, 5), (2, 20), (3, 30)] {
            #expect(calls[number].1 >= .milliseconds(milliseconds), "never early")
        }
    }

    @Test func aCallMaySchedule() async throws {
        let clock = SystemTimerClock()
        let countdown = Countdown(20)
        @Sendable func again() {
            countdown.signal()
            if countdown.remaining > 0 { _ = clock.schedule(at: clock.now + .milliseconds(1)) { again() } }
        }
        _ = clock.schedule(at: clock.now) { again() }
        try await countdown.wait()
        #expect(countdown.remaining == 0)
    }

    @Test func farTimesDoNotOverflow() {
        let clock = SystemTimerClock()
        clock.schedule(at: .seconds(Int64.max)) {}.cancel()
        clock.schedule(at: .seconds(Int64.min)) {}.cancel()
        #expect(Duration.seconds(Int64.max).nanoseconds == .max)
        #expect(Duration.seconds(Int64.min).nanoseconds == .min)
        #expect(Duration.milliseconds(1_500).nanoseconds == 1_500_000_000)
    }
}
