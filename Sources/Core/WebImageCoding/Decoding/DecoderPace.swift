internal import FoundationEssentials
internal import WebImageCore

/// How long the decoders of programs in a registry have taken for small files.
///
/// ```
///  first calls: decoding thread ──16 in a row took at most 50 µs──► the thread that has the bytes
///                     ▲                                                        │
///                     └───────────── a call took longer, or failed ────────────┘   then twice as many are needed
/// ```
final class DecoderPace: Sendable {
    private struct Record {
        /// The quick calls since the last one that was not.
        var quickCount = 0
        /// The number of quick calls after which the decoder counts as quick.
        var neededCount = 16
    }

    /// Another thread begins after about 50 µs.
    private static let longestCall = Duration.microseconds(50)
    private let records = Lock<[ObjectIdentifier: Record]>([:])

    func isQuick(_ decoder: any ImageDecoder) -> Bool {
        let type = ObjectIdentifier(Swift.type(of: decoder))
        return records.withLock { records in records[type].map { $0.quickCount >= $0.neededCount } ?? false }
    }

    /// Calls `decode`, and notes how long it took.
    func measure(
        _ decoder: any ImageDecoder, _ decode: () throws(WebImageError) -> Image
    ) throws(WebImageError) -> Image {
        let start = BootTime.now
        var isQuick = false
        defer { note(ObjectIdentifier(Swift.type(of: decoder)), isQuick: isQuick) }
        let image = try decode()
        isQuick = BootTime.now - start <= Self.longestCall
        return image
    }

    private func note(_ type: ObjectIdentifier, isQuick: Bool) {
        records.withLock { records in
            var record = records[type] ?? Record()
            if isQuick {
                record.quickCount = min(record.quickCount + 1, record.neededCount)
            } else {
                if record.quickCount >= record.neededCount { record.neededCount = min(record.neededCount * 2, 1 << 20) }
                record.quickCount = 0
            }
            records[type] = record
        }
    }
}
