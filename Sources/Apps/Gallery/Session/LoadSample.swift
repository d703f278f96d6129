import FoundationEssentials
import WebImageGTK

/// The figures of one load for the statistics of caches and decoders.
struct LoadSample: Equatable, Sendable {
    var source: LoadSource
    /// Whether the image is a server's. Others do not count for the hit rate, whatever answered.
    var isOnServer = true
    /// When it ended.
    var date: Date
    /// The name of the format; `nil` without an image.
    var format: String?
    /// In seconds; 0 if nothing was decoded.
    var decodeDuration = 0.0
    /// The bytes of transfers on the wire.
    var wireByteCount: Int64 = 0
}

extension LoadSample {
    init(_ record: LoadRecord) {
        (source, isOnServer) = (record.source, record.url.isOnServer)
        (date, format) = (record.date, record.format?.title)
        decodeDuration = record.error == nil ? record.duration(of: .decode) : 0
        wireByteCount = record.metrics?.wireByteCount ?? 0
    }
}
