import Testing

@testable import WebImageLoading

/// The time limits of an exchange, without a server and without waiting. Times are in milliseconds.
@Suite struct TransferClockTests {
    private static let start: Int64 = 1_000_000
    private var clock = Self.makeClock()
    private var sent: Int64 = 0
    private var received: Int64 = 0

    private static func makeClock(_ change: (inout TransferLimits) -> Void = { _ in }) -> TransferClock {
        var limits = TransferLimits()
        limits.idle = .seconds(15)
        limits.total = .seconds(60)
        limits.bytesPerSecond = 100
        limits.rateWindow = .seconds(10)
        change(&limits)
        return TransferClock(limits, now: start)
    }

    /// The limit that has been reached at `time`.
    private mutating func exceededLimit(at time: Int64, isHeld: Bool = false) -> TransferLimits.Kind? {
        clock.advance(to: Self.start + time, isHeld: isHeld)
        return clock.exceededLimit(sent: { sent }, received: { received })
    }

    private mutating func receive(_ byteCount: Int64, at time: Int64) {
        clock.noteActivity(at: Self.start + time)
        received += byteCount
    }

    private var deadline: Int64? { clock.deadline.map { $0 - Self.start } }

    @Test mutating func onlyTheTotalLimitCountsWithoutAConnection() {
        #expect(deadline == 60_000)
        #expect(exceededLimit(at: 59_999) == nil)
        #expect(exceededLimit(at: 60_000) == .total)
    }

    @Test mutating func theIdleLimitCountsFromTheLastByte() {
        clock.noteConnection(at: Self.start + 1000)
        #expect(deadline == 16_000)
        receive(5000, at: 9000)
        #expect(exceededLimit(at: 19_000) == nil)
        #expect(deadline == 24_000)
        #expect(exceededLimit(at: 23_999) == nil)
        #expect(exceededLimit(at: 24_000) == .idle)
    }

    @Test mutating func bytesThatAreSentCountAsActivity() {
        clock.noteConnection(at: Self.start)
        sent = 1
        #expect(exceededLimit(at: 15_000) == nil)
        #expect(exceededLimit(at: 29_999) == .rate)
        clock = Self.makeClock { $0.bytesPerSecond = 0 }
        clock.noteConnection(at: Self.start)
        #expect(exceededLimit(at: 15_000) == nil)
        #expect(deadline == 30_000)
        #expect(exceededLimit(at: 30_000) == .idle)
    }

    @Test mutating func aRateBelowTheLeastIsReachedAtTheEndOfItsWindow() {
        clock.noteConnection(at: Self.start)
        for second: Int64 in 5..<15 { receive(99, at: second * 1000) }
        #expect(deadline == 15_000)
        #expect(exceededLimit(at: 14_999) == nil)
        #expect(exceededLimit(at: 15_000) == .rate)
    }

    @Test mutating func eachWindowIsMeasuredAlone() {
        clock.noteConnection(at: Self.start)
        receive(1000, at: 0)
        #expect(exceededLimit(at: 10_000) == nil)
        receive(1, at: 12_000)
        #expect(deadline == 22_000)
        #expect(exceededLimit(at: 22_000) == .rate)
    }

    @Test mutating func silenceIsNoMatterOfTheRate() {
        clock = Self.makeClock { $0.idle = .seconds(120) }
        clock.noteConnection(at: Self.start)
        #expect(exceededLimit(at: 50_000) == nil)
        receive(1000, at: 50_000)
        #expect(exceededLimit(at: 59_999) == nil)
    }

    @Test mutating func theRateIsMeasuredAnewWhenTheTransportRepeatsTheRequest() {
        receive(1000, at: 0)
        #expect(exceededLimit(at: 10_000) == nil)
        receive(0, at: 11_000)
        received = 1000
        #expect(exceededLimit(at: 21_000) == .rate)
        clock = Self.makeClock()
        received = 0
        receive(2000, at: 0)
        #expect(exceededLimit(at: 10_000) == nil)
        receive(0, at: 11_000)
        received = 1000
        #expect(exceededLimit(at: 21_000) == nil)
    }

    @Test mutating func noLimitRunsWhileTheReceiverHoldsTheExchangeBack() {
        clock.noteConnection(at: Self.start)
        receive(1, at: 1000)
        #expect(exceededLimit(at: 200_000, isHeld: true) == nil)
        clock.noteResumption(at: Self.start + 300_000)
        #expect(deadline == 315_000)
        #expect(exceededLimit(at: 314_999) == nil)
        #expect(clock.elapsed == 15_999)
        #expect(exceededLimit(at: 315_000) == .idle)
        receive(10_000, at: 315_000)
        #expect(exceededLimit(at: 325_000) == nil)
        receive(50_000, at: 330_000)
        #expect(exceededLimit(at: 340_000) == nil)
        receive(50_000, at: 350_000)
        #expect(deadline == 359_000)
        #expect(exceededLimit(at: 359_000) == .total)
    }

    @Test mutating func bytesThatComeDuringAHoldDoNotMakeItCount() {
        clock.noteConnection(at: Self.start)
        receive(1, at: 1000)
        clock.noteActivity(at: Self.start + 200_000, isHeld: true)
        #expect(clock.elapsed == 1000)
        receive(1, at: 201_000)
        #expect(clock.elapsed == 2000)
    }

    @Test mutating func withoutLimitsOnlySilenceCounts() {
        clock = Self.makeClock { ($0.total, $0.bytesPerSecond) = (nil, 0) }
        #expect(deadline == nil)
        clock.noteConnection(at: Self.start)
        receive(1, at: 10_000)
        #expect(deadline == 25_000)
    }
}
