/// Metrics in the text format of Prometheus, version 0.0.4. Strict: what the format allows and a server has no reason for is a problem.
struct Exposition {
    struct Sample {
        let name: String
        let labels: [String: String]
        let value: Double
    }

    struct Family {
        let name: String
        let help: String
        let kind: String
        var samples: [Sample] = []
    }

    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    private(set) var families: [Family] = []

    init(_ text: String) throws(Problem) {
        guard text.hasSuffix("\n"), !text.contains("\n\n") else { throw Problem(description: "no line at the end") }
        var help: (name: String, text: String)?
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            let words = line.split(separator: " ", maxSplits: 3).map { String($0) }
            if line.hasPrefix("# HELP "), words.count == 4 {
                help = (words[2], try Self.unescaped(words[3], quotes: false))
            } else if line.hasPrefix("# TYPE "), words.count == 4 {
                guard let own = help, own.name == words[2], Self.isName(own.name),
                    ["counter", "gauge", "histogram"].contains(words[3]),
                    !families.contains(where: { $0.name == own.name })
                else { throw Problem(description: "no HELP before \(line)") }
                families.append(Family(name: own.name, help: own.text, kind: words[3]))
                help = nil
            } else {
                try add(try Self.sample(line))
            }
        }
        for family in families where family.kind == "histogram" { try Self.check(family) }
    }

    /// Returns the value of a sample; `nil` without one.
    func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        families.lazy.flatMap(\.samples).first { $0.name == name && $0.labels == labels }?.value
    }

    private mutating func add(_ sample: Sample) throws(Problem) {
        guard let family = families.last else { throw Problem(description: "\(sample.name) has no TYPE") }
        let names = family.kind == "histogram" ? ["_bucket", "_sum", "_count"].map { family.name + $0 } : [family.name]
        guard names.contains(sample.name) else { throw Problem(description: "\(sample.name) is not of \(family.name)") }
        guard !family.samples.contains(where: { $0.name == sample.name && $0.labels == sample.labels }) else {
            throw Problem(description: "\(sample.name) occurs twice")
        }
        guard family.kind == "gauge" || sample.value >= 0 else {
            throw Problem(description: "\(sample.name) is negative")
        }
        families[families.count - 1].samples.append(sample)
    }

    private static func check(_ family: Family) throws(Problem) {
        var series: [[String: String]: [(bound: Double, count: Double)]] = [:]
        for sample in family.samples where sample.name.hasSuffix("_bucket") {
            var labels = sample.labels
            guard let text = labels.removeValue(forKey: "le"), let bound = Self.number(text) else {
                throw Problem(description: "a bucket of \(family.name) has no bound")
            }
            series[labels, default: []].append((bound, sample.value))
        }
        for (labels, buckets) in series {
            func value(_ suffix: String) -> Double? {
                family.samples.first { $0.name == family.name + suffix && $0.labels == labels }?.value
            }
            let isSorted = zip(buckets, buckets.dropFirst()).allSatisfy { $0.bound < $1.bound && $0.count <= $1.count }
            guard isSorted, buckets.last?.bound == .infinity, value("_count") == buckets.last?.count,
                value("_sum") != nil
            else { throw Problem(description: "\(family.name) is no histogram") }
        }
    }

    // MARK: Lines

    private static func isName(_ text: some StringProtocol) -> Bool {
        String(text).wholeMatch(of: /[a-zA-Z_:][a-zA-Z0-9_:]*/) != nil
    }

    private static func number(_ text: String) -> Double? {
        let names: [String: Double] = ["+Inf": .infinity, "-Inf": -.infinity, "NaN": .nan]
        return names[text] ?? Double(text)
    }

    private static func sample(_ line: Substring) throws(Problem) -> Sample {
        let problem = Problem(description: "not a sample: \(line)")
        guard let space = line.lastIndex(of: " "), let value = number(String(line[line.index(after: space)...])) else {
            throw problem
        }
        let series = line[..<space]
        let name = series.prefix { $0 != "{" }
        guard isName(name) else { throw problem }
        var rest = series.dropFirst(name.count)
        guard !rest.isEmpty else { return Sample(name: String(name), labels: [:], value: value) }
        guard rest.last == "}" else { throw problem }
        rest = rest.dropFirst().dropLast()
        var labels: [String: String] = [:]
        while !rest.isEmpty {
            guard let match = rest.prefixMatch(of: /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)",?/) else {
                throw problem
            }
            guard
                labels.updateValue(try unescaped(String(match.output.2), quotes: true), forKey: String(match.output.1))
                    == nil
            else { throw problem }
            rest = rest[match.range.upperBound...]
        }
        return Sample(name: String(name), labels: labels, value: value)
    }

    private static func unescaped(_ text: String, quotes: Bool) throws(Problem) -> String {
        var (result, isEscaped) = ("", false)
        for character in text {
            if isEscaped {
                switch character {
                case "n": result.append("\n")
                case "\\": result.append("\\")
                case "\"" where quotes: result.append("\"")
                default: throw Problem(description: "an unknown escape in \(text)")
                }
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else {
                result.append(character)
            }
        }
        return result
    }
}
