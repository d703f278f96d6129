import FoundationEssentials

extension LoaderMetrics.Exchange {
    /// Computes the duration of each phase. The transport measures all of them from the start.
    init(url: URL, statusCode: Int?, _ transfer: TransferMetrics) {
        self.url = url
        self.statusCode = statusCode
        nameLookupDuration = transfer.nameLookup
        connectDuration = max(.zero, transfer.connect - transfer.nameLookup)
        secureDuration = transfer.secure > .zero ? max(.zero, transfer.secure - transfer.connect) : .zero
        firstByteDuration = transfer.firstByte
        totalDuration = transfer.total
        isConnectionReused = transfer.isConnectionReused
        httpVersion = statusCode == nil ? nil : transfer.httpVersion
        remoteAddress = transfer.remoteAddress
        remotePort = transfer.remotePort
        headerByteCount = transfer.headerByteCount
        bodyByteCount = transfer.bodyByteCount
        security = transfer.security
        if transfer.isConnectionReused {
            // libcurl also measures the moments that it takes to find the connection.
            (nameLookupDuration, connectDuration, secureDuration) = (.zero, .zero, .zero)
        }
    }
}
