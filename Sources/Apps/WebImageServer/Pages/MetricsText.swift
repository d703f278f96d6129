/// Metrics in the text format of Prometheus, version 0.0.4: for each a line of HELP, one of TYPE, and its samples.
struct MetricsText {
    enum Kind: String { case counter, gauge, histogram }

    typealias Labels = [(name: String, value: String)]

    private(set) var text = ""

    /// Adds a metric with one sample.
    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Double) {
        add(name, kind, help, [([], value)])
    }

    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Int) {
        add(name, kind, help, Double(value))
    }

    /// Adds a metric with a sample for each value of its labels.
    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ samples: [(labels: Labels, value: Double)]) {
        addHead(name, kind, help)
        for sample in samples { addSample(name, sample.labels, sample.value) }
    }

    mutating func add(_ name: String, _ help: String, _ histograms: [(labels: Labels, histogram: Histogram)]) {
        addHead(name, .histogram, help)
        for (labels, histogram) in histograms {
            var count = 0
            for (bound, bucketCount) in zip(Histogram.bounds + [.infinity], histogram.counts) {
                count += bucketCount
                addSample(name + "_bucket", labels + [("le", Self.number(bound))], Double(count))
            }
            addSample(name + "_sum", labels, histogram.sum)
            addSample(name + "_count", labels, Double(count))
        }
    }

    private mutating func addHead(_ name: String, _ kind: Kind, _ help: String) {
        text += "# HELP \(name) \(help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n"))\n"
        text += "# TYPE \(name) \(kind.rawValue)\n"
    }

    private mutating func addSample(_ name: String, _ labels: Labels, _ value: Double) {
        let list = labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
        text += name + (list.isEmpty ? "" : "{\(list)}") + " " + Self.number(value) + "\n"
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }

    private static func number(_ value: Double) -> String {
        if value == .infinity { return "+Inf" }
        return value == value.rounded() && abs(value) < 1e15 ? "\(Int(value))" : "\(value)"
    }
}

/// How many times were within each bound.
struct Histogram: Sendable {
    /// In seconds: a result in memory takes less than a millisecond, and a request is given up after half a minute.
    static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

    /// Of each bucket alone; the last one is above all bounds.
    private(set) var counts = [Int](repeating: 0, count: Self.bounds.count + 1)
    private(set) var sum = 0.0

    mutating func note(_ seconds: Double) {
        counts[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count] += 1
        sum += seconds
    }
}
