/// A benchmark's own check of its results failed: its times would mean nothing.
package struct WrongResult: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
}

/// Measures and prints one row after the other: what, our time, the yardstick's time, the quotient, and the range of
/// the middle half of the rounds' quotients.
///
/// The two run in turns, so that a busy moment of the machine meets both, and the median of each counts. Both must
/// produce results that were compared before.
package struct BenchmarkTable {
    private let clock = ContinuousClock()

    package init(printsHeader: Bool = true) {
        guard printsHeader else { return }
        print(
            Self.padded("", 44), Self.padded("ours", 12), Self.padded("yardstick", 12), Self.padded("ratio", 8),
            "spread")
    }

    /// Compares two ways of doing the same.
    ///
    /// - Parameters:
    ///   - operationCount: how many operations one call performs; times are printed for one of them.
    ///   - roundCount: how often each is timed, after one call that does not count.
    package func compare(
        _ name: String, operationCount: Int = 1, roundCount: Int = 15, ours: () throws -> Void,
        yardstick: () throws -> Void
    ) rethrows {
        try ours()
        try yardstick()
        var times: (ours: [Duration], yardstick: [Duration]) = ([], [])
        for _ in 0..<roundCount {
            times.ours.append(try clock.measure(ours))
            times.yardstick.append(try clock.measure(yardstick))
        }
        printRow(name, times.ours, times.yardstick, operationCount)
    }

    /// Compares times that the two measure themselves, each of one call.
    package func compareMeasured(
        _ name: String, operationCount: Int = 1, roundCount: Int = 15, ours: () throws -> Duration,
        yardstick: () throws -> Duration
    ) rethrows {
        _ = try ours()
        _ = try yardstick()
        var times: (ours: [Duration], yardstick: [Duration]) = ([], [])
        for _ in 0..<roundCount {
            times.ours.append(try ours())
            times.yardstick.append(try yardstick())
        }
        printRow(name, times.ours, times.yardstick, operationCount)
    }

    /// Compares with a time that one operation must not exceed.
    package func compare(
        _ name: String, budget: Duration, operationCount: Int = 1, roundCount: Int = 15, ours: () throws -> Void
    ) rethrows {
        try compare(
            name + " (budget)", yardstick: budget, operationCount: operationCount, roundCount: roundCount, ours: ours)
    }

    /// Compares with a time that a yardstick in another process needed for one operation.
    package func compare(
        _ name: String, yardstick: Duration, operationCount: Int = 1, roundCount: Int = 15, ours: () throws -> Void
    ) rethrows {
        try ours()
        var times: [Duration] = []
        for _ in 0..<roundCount { times.append(try clock.measure(ours)) }
        printRow(name, times, times.map { _ in yardstick * operationCount }, operationCount)
    }

    private func printRow(_ name: String, _ ours: [Duration], _ yardstick: [Duration], _ operationCount: Int) {
        let (own, other) = (Self.median(ours), Self.median(yardstick))
        let ratios = zip(ours, yardstick).map { $0 / $1 }.sorted()
        let (first, last) = (ratios[ratios.count / 4], ratios[ratios.count * 3 / 4])
        print(
            Self.padded(name, 44), Self.padded(Self.text(own / operationCount), 12),
            Self.padded(Self.text(other / operationCount), 12), Self.padded("\(Self.hundredths(own / other))", 8),
            "\(Self.hundredths(first))–\(Self.hundredths(last))")
    }

    private static func hundredths(_ value: Double) -> Double { (value * 100).rounded() / 100 }

    private static func median(_ times: [Duration]) -> Duration { times.sorted()[times.count / 2] }

    private static func text(_ time: Duration) -> String {
        let nanoseconds = time / .nanoseconds(1)
        let (value, unit) =
            switch nanoseconds {
            case ..<1e3: (nanoseconds, "ns")
            case ..<1e6: (nanoseconds / 1e3, "µs")
            default: (nanoseconds / 1e6, "ms")
            }
        return "\((value * 100).rounded() / 100) \(unit)"
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
