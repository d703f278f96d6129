import FoundationEssentials
import WebImageGTK

/// The figures of the latest loads.
struct LoadStatistics: Equatable, Sendable {
    typealias Counts = [LoadSource: Int]

    /// The loads that count.
    let loadCount: Int
    let counts: Counts
    /// The fraction of images of servers that needed no server; `nil` without one. Failures do not count.
    let hitRate: Double?
    /// The shares over time, oldest first: each of as many loads as the others, the last of fewer.
    let steps: [Counts]
    let formats: [FormatTime]
    /// Bytes per second on the wire, oldest first, up to the last transfer.
    let throughput: [Double]
    let wireByteCount: Int64

    /// How long images of a format took to decode, in seconds.
    struct FormatTime: Equatable, Sendable {
        let name: String
        let count: Int
        let median: Double
        /// 95 of 100 took no longer.
        let high: Double
    }

    /// The maximum number of loads that count, and the number of steps that they are divided into.
    static let loadLimit = LoadLog.sampleLimit
    static let stepCount = 40
    /// How far throughput goes back, in seconds, and how long each of its steps is.
    static let throughputDuration = 60.0
    static let throughputStep = 2.0

    /// - Parameter samples: oldest first.
    init(_ samples: [LoadSample]) {
        let samples = samples.suffix(Self.loadLimit)
        loadCount = samples.count
        counts = Self.counts(samples)
        hitRate = Self.hitRate(samples)
        let stepLength = max(1, (samples.count + Self.stepCount - 1) / Self.stepCount)
        steps = stride(from: samples.startIndex, to: samples.endIndex, by: stepLength).map {
            Self.counts(samples[$0..<min($0 + stepLength, samples.endIndex)])
        }
        formats = Self.formats(samples)
        throughput = Self.throughput(samples)
        wireByteCount = samples.reduce(0) { $0 + $1.wireByteCount }
    }

    private static func hitRate(_ samples: ArraySlice<LoadSample>) -> Double? {
        let loaded = samples.filter { $0.isOnServer && $0.source != .failed }
        return loaded.isEmpty ? nil : Double(loaded.count { $0.source != .network }) / Double(loaded.count)
    }

    private static func counts(_ samples: ArraySlice<LoadSample>) -> Counts {
        samples.reduce(into: [:]) { $0[$1.source, default: 0] += 1 }
    }

    private static func formats(_ samples: ArraySlice<LoadSample>) -> [FormatTime] {
        var durations: [String: [Double]] = [:]
        for sample in samples where sample.decodeDuration > 0 {
            durations[sample.format ?? "other", default: []].append(sample.decodeDuration)
        }
        return durations.map { name, durations in
            let sorted = durations.sorted()
            return FormatTime(
                name: name, count: sorted.count, median: percentile(0.5, of: sorted), high: percentile(0.95, of: sorted)
            )
        }.sorted { ($0.count, $1.name) > ($1.count, $0.name) }
    }

    /// The smallest value that is at least as large as that fraction of all.
    ///
    /// - Parameter sorted: not empty.
    private static func percentile(_ fraction: Double, of sorted: [Double]) -> Double {
        sorted[min(sorted.count - 1, max(0, Int((fraction * Double(sorted.count)).rounded(.up)) - 1))]
    }

    private static func throughput(_ samples: ArraySlice<LoadSample>) -> [Double] {
        let transfers = samples.filter { $0.wireByteCount > 0 }
        guard let last = transfers.map(\.date).max() else { return [] }
        var steps = [Double](repeating: 0, count: Int(throughputDuration / throughputStep))
        for transfer in transfers {
            let index = steps.count - 1 - Int(last.timeIntervalSince(transfer.date) / throughputStep)
            if steps.indices.contains(index) { steps[index] += Double(transfer.wireByteCount) / throughputStep }
        }
        return steps
    }
}

/// The work in progress at one moment.
struct QueueSample: Equatable, Sendable {
    /// Loads in progress, work that waits for a decoding thread, and transfers.
    var loads = 0, decoding = 0, transfers = 0

    var isIdle: Bool { loads == 0 && decoding == 0 && transfers == 0 }
}

/// The bytes in the caches.
struct TierSizes: Equatable, Sendable {
    var memory = 0, memoryLimit = 0
    var disk: Int64 = 0
    var diskLimit: Int64?
    var pixels: Int64 = 0
    var pixelLimit: Int64?
}
