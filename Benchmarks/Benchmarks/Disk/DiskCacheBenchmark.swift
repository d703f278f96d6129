import Glibc

extension BenchmarkGroup {
    /// The disk cache beside a file for each value, SQLite and LMDB, in memory and on the disk.
    ///
    /// Sets and overwrites end when another process has read and hashed what was written. Where a ratio is to two, it
    /// is to the faster of them.
    static let diskCache = BenchmarkGroup(name: "disk-cache") { _ in
        let workloads = [
            DiskEntries(count: isQuick ? 1_000 : 20_000, byteCounts: 1_000...20_000),
            DiskEntries(count: isQuick ? 50 : 2_000, byteCounts: 100_000...100_000),
        ]
        for fileSystem in BenchmarkFileSystem.all {
            for entries in workloads {
                try DiskComparison(entries, on: fileSystem, roundCount: isQuick ? 1 : 3).print()
            }
        }
    }

    /// Where values could live, beside each other: what decided where they do.
    static let valuePlaces = BenchmarkGroup(name: "places-cache") { _ in try ValuePlaces.compare(isQuick: isQuick) }

    /// The disk cache with a million entries; a minute to write, so not when it is to be quick.
    static let millionEntries = BenchmarkGroup(name: "million-cache") { _ in
        if !isQuick { try MillionEntries.measure() }
    }

    private static let isQuick = getenv("QUICK") != nil
}

/// Every contender's medians, per operation, with one thread and with two.
private struct DiskComparison {
    private let entries: DiskEntries
    private let fileSystem: BenchmarkFileSystem
    /// Microseconds for one operation, of all threads together.
    private var medians: [Int: [DiskContender: [DiskRound.Operation: Double]]] = [:]

    init(_ entries: DiskEntries, on fileSystem: BenchmarkFileSystem, roundCount: Int) throws {
        self.entries = entries
        self.fileSystem = fileSystem
        let digests = [0, 1].map { entries.digest(generation: $0) }
        for threadCount in [1, 2] {
            var rounds: [DiskContender: [DiskRound]] = [:]
            // In turns: a busy moment of the machine meets all of them.
            for _ in 0..<roundCount {
                for contender in DiskContender.present {
                    rounds[contender, default: []].append(
                        try DiskRound(
                            contender, entries: entries, digests: digests, threadCount: threadCount,
                            fileSystem: fileSystem))
                }
            }
            medians[threadCount] = rounds.mapValues { rounds in
                var medians: [DiskRound.Operation: Double] = [:]
                for operation in DiskRound.Operation.allCases {
                    let times = rounds.compactMap { $0.times[operation] }.sorted()
                    guard !times.isEmpty else { continue }
                    medians[operation] = times[times.count / 2] / .microseconds(1) / Double(entries.count)
                }
                return medians
            }
        }
    }

    func print() {
        let sizes = entries.byteCounts
        let size =
            sizes.lowerBound == sizes.upperBound
            ? "\(sizes.lowerBound / 1_000) KB" : "\(sizes.lowerBound / 1_000) to \(sizes.upperBound / 1_000) KB"
        Swift.print("\nDisk, \(fileSystem.name): \(entries.count) entries of \(size); µs for one operation")
        var table = FigureTable(
            columns: [""] + DiskContender.present.map(\.rawValue) + ["ratio", "budget", "the ratio is to"])
        for threadCount in [1, 2] {
            table.section(threadCount == 1 ? "1 thread" : "2 threads")
            for operation in DiskRound.Operation.allCases { print(operation, threadCount, on: &table) }
        }
        table.section("speed-up of 2 threads")
        for operation in [DiskRound.Operation.get, .miss, .set] {
            let cells = DiskContender.present.map { contender in
                Self.text(quotient(medians[1]?[contender]?[operation], medians[2]?[contender]?[operation]))
            }
            table.row([operation.rawValue] + cells + ["", operation == .get ? "≥ 1.6" : "", ""])
        }
    }

    private func print(_ operation: DiskRound.Operation, _ threadCount: Int, on table: inout FigureTable) {
        let figures = medians[threadCount] ?? [:]
        let yardsticks: [DiskContender]
        let (budget, name): (String, String)
        switch operation {
        case .get, .asyncGet:
            // The budget is for what fits a few pages.
            (yardsticks, name) = ([.files], "files")
            budget = operation == .get && entries.byteCounts.upperBound <= 20_000 ? "≤ 1.5" : ""
        case .miss: (yardsticks, budget, name) = ([.sqlite], "≤ 2", "sqlite")
        case .set:
            (yardsticks, name) = ([.files, .sqlite], "files or sqlite")
            budget = entries.byteCounts.upperBound <= 20_000 ? "≤ 1" : ""
        case .overwrite, .remove:
            (yardsticks, budget, name) = ([.files, .sqlite], "", "files or sqlite")
        }
        let reference = operation == .asyncGet ? .get : operation
        let best = yardsticks.compactMap { figures[$0]?[reference] }.min()
        let cells = DiskContender.present.map { Self.text(figures[$0]?[operation]) }
        table.row([operation.rawValue] + cells + [Self.text(quotient(figures[.ours]?[operation], best)), budget, name])
    }

    private func quotient(_ dividend: Double?, _ divisor: Double?) -> Double? {
        guard let dividend, let divisor else { return nil }
        return dividend / divisor
    }

    private static func text(_ value: Double?) -> String {
        value.map { "\(($0 * 100).rounded() / 100)" } ?? "-"
    }
}
