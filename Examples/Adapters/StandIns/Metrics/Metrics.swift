// Stands in for swift-metrics 2.10.1: the declarations that adapters use. It writes to standard output.

// The frameworks document their declarations.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Foundation

/// Its handlers are none of the adapters' concern.
public protocol MetricsFactory: Sendable {}

public enum MetricsSystem {
    private struct Factory: MetricsFactory {}

    public static var factory: any MetricsFactory { Factory() }
}

public final class Counter: Sendable {
    private let name: String

    public convenience init(label: String, dimensions: [(String, String)] = [], factory: any MetricsFactory) {
        self.init(name: metricName(label, dimensions))
    }

    private init(name: String) { self.name = name }

    public func increment(by amount: some BinaryInteger) { report("counter", name, Int(amount)) }
    public func increment() { increment(by: 1) }
}

public final class Gauge: Sendable {
    private let name: String

    public convenience init(label: String, dimensions: [(String, String)] = [], factory: any MetricsFactory) {
        self.init(name: metricName(label, dimensions))
    }

    private init(name: String) { self.name = name }

    public func record(_ value: some BinaryInteger) { report("gauge", name, Int(value)) }
}

public final class Timer: Sendable {
    private let name: String

    public convenience init(label: String, dimensions: [(String, String)] = [], factory: any MetricsFactory) {
        self.init(name: metricName(label, dimensions))
    }

    private init(name: String) { self.name = name }

    public func recordNanoseconds(_ duration: Int64) { report("timer", name, Int(duration)) }
}

private func metricName(_ label: String, _ dimensions: [(String, String)]) -> String {
    label + dimensions.map { "{\($0.0)=\($0.1)}" }.joined()
}

private func report(_ kind: String, _ name: String, _ value: Int) {
    FileHandle.standardOutput.write(Data("\(kind) \(name) \(value)\n".utf8))
}
