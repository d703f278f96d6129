import Testing

@testable import WebImageCoding

/// The conversion of durations to the formats' units.
@Suite(.timeLimit(.minutes(3))) struct FrameTimingTests {
    @Test func doesNotAccumulateRoundingErrors() {
        var clock = FrameClock(unitsPerSecond: 100, minimum: 2, maximum: 65_535)
        let units = (0..<300).map { _ in clock.units(for: .seconds(1) / 3) }
        #expect(units.reduce(0, +) == 10_000)
        #expect(Set(units) == [33, 34])
        #expect(Array(units.prefix(3)) == [33, 34, 33])
    }

    @Test func doesNotCarryOverClamping() {
        var clock = FrameClock(unitsPerSecond: 100, minimum: 2, maximum: 65_535)
        // GIF does not support 60 frames per second.
        #expect((0..<60).map { _ in clock.units(for: .seconds(1) / 60) } == [Int](repeating: 2, count: 60))
        #expect(abs(clock.units(for: .seconds(1)) - 100) <= 1)
    }

    @Test func clampsToTheRange() {
        var clock = FrameClock(unitsPerSecond: 1000, minimum: 11, maximum: 0xFF_FFFF)
        #expect(clock.units(for: .zero) == 100)
        #expect(clock.units(for: .milliseconds(10)) == 100)
        #expect(clock.units(for: .milliseconds(250)) == 250)
        #expect(clock.units(for: .microseconds(10_100)) == 11)
        #expect(clock.units(for: .seconds(Int64.max)) == 0xFF_FFFF)
    }

    @Test func recoversFractions() {
        for (numerator, denominator) in [(1, 10), (1, 3), (7, 100), (1001, 30_000), (65_535, 1), (1, 60), (11, 1000)] {
            let delay = FrameDelay(.seconds(numerator) / denominator)
            #expect(delay == FrameDelay(.seconds(delay.numerator) / delay.denominator))
            #expect(Double(delay.numerator) / Double(delay.denominator) == Double(numerator) / Double(denominator))
        }
        for denominator in stride(from: 1, through: 65_535, by: 997) {
            for numerator in stride(from: denominator / 90 + 1, through: 65_535, by: 4_999) {
                let seconds = Double(numerator) / Double(denominator)
                let delay = FrameDelay(.seconds(numerator) / denominator)
                #expect(Double(delay.numerator) / Double(delay.denominator) == seconds)
            }
        }
    }

    @Test func clampsLongDurations() {
        #expect(FrameDelay(.seconds(1e9)) == FrameDelay(.seconds(65_535)))
        let tenth = FrameDelay(.zero)
        #expect(tenth.numerator == 1 && tenth.denominator == 10)
        let delay = FrameDelay(.seconds(Double.pi))
        #expect(abs(Double(delay.numerator) / Double(delay.denominator) - .pi) < 3e-7)
    }
}
