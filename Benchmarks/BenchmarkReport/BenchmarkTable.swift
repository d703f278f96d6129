/// A benchmark's own check of its results failed: its times would mean nothing.
package struct WrongResult: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
}

/// Measures and prints one row after the other: what, our time, the yardstick's time, and the quotient.
///
/// The two run in turns, so that a busy moment of the machine meets both, and the median of each counts. Both must
/// produce results that were compared before.
package struct BenchmarkTable {
    private let clock = ContinuousClock()

    package init(printsHeader: Bool = true) {
        guard printsHeader else { return }
        print(Self.padded("", 44), Self.padded("ours", 12), Self.padded("yardstick", 12), "ratio")
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
        printRow(name, Self.median(times.ours) / operationCount, Self.median(times.yardstick) / operationCount)
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
        printRow(name, Self.median(times.ours) / operationCount, Self.median(times.yardstick) / operationCount)
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
        printRow(name, Self.median(times) / operationCount, yardstick)
    }

    private func printRow(_ name: String, _ ours: Duration, _ yardstick: Duration) {
        let ratio = (ours / yardstick * 100).rounded() / 100
        print(Self.padded(name, 44), Self.padded(Self.text(ours), 12), Self.padded(Self.text(yardstick), 12), ratio)
    }

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
