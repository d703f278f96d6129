extension ImageDownloader {
    /// How many transfers a downloader may start per second. The limit is a token bucket.
    ///
    /// A cell that scrolls past quickly then never reaches the network, and a burst of requests does not overload a server. Loads
    /// that wait keep their priority and can be cancelled. The wait does not count against any time limit. Only the start of a
    /// load takes a token, its redirects and authentication attempts do not; a retry is a load of its own.
    public struct RateLimit: Sendable, Hashable {
        /// The transfers per second on average; 80.
        public var transfersPerSecond: Double
        /// The number of transfers that may start at once after a pause; 25. At least 1.
        public var burst: Int

        /// Makes a limit; by default 80 transfers per second, and 25 at once, as in Nuke.
        public init(transfersPerSecond: Double = 80, burst: Int = 25) {
            self.transfersPerSecond = transfersPerSecond
            self.burst = burst
        }
    }
}

/// Counts the starts of transfers against a ``ImageDownloader/RateLimit``.
struct TokenBucket {
    private let rate: Double
    private let capacity: Double
    private var tokens: Double
    /// When the tokens were last counted.
    private var lastCount: Duration

    init(_ limit: ImageDownloader.RateLimit, now: Duration) {
        // Not less than one in 1000 s: a limit of 0 would let loads wait forever, without an error.
        rate = limit.transfersPerSecond.isFinite ? max(0.001, limit.transfersPerSecond) : 1_000_000
        capacity = Double(max(1, limit.burst))
        tokens = capacity
        lastCount = now
    }

    /// Takes a token; `false` when there is none.
    mutating func take(at now: Duration) -> Bool {
        if now > lastCount {
            tokens = min(capacity, tokens + (now - lastCount) / .seconds(1) * rate)
            lastCount = now
        }
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    /// How long until there is a token, counted from the last ``take(at:)``; at least 1 ms.
    var wait: Duration { max(.milliseconds(1), .seconds((1 - tokens) / rate)) }
}
