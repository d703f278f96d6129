import Testing

@testable import WebImageCore

@Suite(.timeLimit(.minutes(1))) struct BootTimeTests {
    @Test func advances() {
        let first = BootTime.now
        let second = BootTime.now
        #expect(first <= second)
        #expect(second - first >= .zero && second - first < .seconds(60))
    }

    @Test func sumsAreClamped() {
        let time = BootTime(nanoseconds: 5)
        #expect(time + .nanoseconds(3) == BootTime(nanoseconds: 8))
        #expect(time + .seconds(Int64.max) == BootTime(nanoseconds: .max))
        #expect(BootTime(nanoseconds: .max) + .seconds(1) == BootTime(nanoseconds: .max))
    }
}
