internal import WebImageCore

/// Time limits, of the request where it has its own.
extension DownloadState {
    private var idleTimeout: Duration { request.idleTimeout ?? configuration.idleTimeout }
    private var totalTimeout: Duration? { request.totalTimeout ?? configuration.totalTimeout }

    /// The limits of the next exchange.
    ///
    /// - Parameter activeDuration: how long the load's exchanges have taken so far.
    func limits(after activeDuration: Duration) -> TransferLimits {
        var limits = TransferLimits()
        limits.idle = idleTimeout
        limits.total = totalTimeout.map { max(.zero, $0 - request.usedTime - activeDuration) }
        limits.bytesPerSecond = configuration.minimumBytesPerSecond
        limits.rateWindow = configuration.minimumRateWindow
        return limits
    }

    func timeout(_ limit: TransferLimits.Kind) -> WebImageError {
        let (reason, duration): (WebImageError.TimeoutReason, Duration) =
            switch limit {
            case .idle: (.idle, idleTimeout)
            case .rate:
                (.slow(bytesPerSecond: configuration.minimumBytesPerSecond), configuration.minimumRateWindow)
            case .total: (.total, totalTimeout ?? .zero)
            }
        return .timedOut(reason: reason, seconds: duration.inSeconds, url: hop.url)
    }
}
