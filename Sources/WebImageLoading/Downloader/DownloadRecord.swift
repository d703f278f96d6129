internal import FoundationEssentials

/// Keeps the times and exchanges of one load for its ``LoaderMetrics``.
struct DownloadRecord {
    /// Of the exchange under way.
    var statusCode: Int?
    private let start: ContinuousClock.Instant
    private var waitingSince: ContinuousClock.Instant?
    private var queueDuration = Duration.zero
    private var exchanges: [LoaderMetrics.Exchange] = []
    /// How long they took, without the time during which they were held back.
    private(set) var activeDuration = Duration.zero

    /// Begins now, waiting for a slot.
    init() {
        start = .now
        waitingSince = start
    }

    mutating func wait() { waitingSince = .now }

    mutating func begin() {
        if let waitingSince { queueDuration += .now - waitingSince }
        waitingSince = nil
    }

    mutating func end(_ url: URL, _ transfer: TransferMetrics) {
        exchanges.append(LoaderMetrics.Exchange(url: url, statusCode: statusCode, transfer))
        statusCode = nil
        activeDuration += transfer.active
    }

    func metrics(redirectCount: Int, decodedByteCount: Int64) -> LoaderMetrics {
        let now = ContinuousClock.now
        var metrics = LoaderMetrics(
            exchanges: exchanges, redirectCount: redirectCount,
            queueDuration: queueDuration + (waitingSince.map { now - $0 } ?? .zero), totalDuration: now - start,
            decodedByteCount: decodedByteCount)
        metrics.activeDuration = activeDuration
        return metrics
    }
}
