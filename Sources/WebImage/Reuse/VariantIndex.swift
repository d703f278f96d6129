import WebImageCaching
import WebImageCore

/// Which sizes of a source memory was given, so that one can serve for another.
///
/// It names pictures and keeps none; what memory has dropped meanwhile is found out when it is asked for.
final class VariantIndex: Sendable {
    /// A still as it was decoded, without processors.
    struct Entry: Hashable, Sendable {
        let key: ImageCacheKey
        let size: PixelSize
        /// Whether its proportions are not the picture's own.
        let isStretched: Bool
        /// Whether there may be more frames in the file.
        let isFirstFrame: Bool
    }

    private let entries = Lock<[String: [Entry]]>([:])

    /// Sizes of one source, and sources: beyond, older sizes go, and any source.
    static let (entryLimit, sourceLimit) = (8, 10_000)

    func note(_ entry: Entry) {
        entries.withLock { entries in
            let source = entry.key.source
            if entries[source] == nil, entries.count >= Self.sourceLimit { entries.remove(at: entries.startIndex) }
            var known = entries[source, default: []]
            known.removeAll { $0.key == entry.key }
            if known.count >= Self.entryLimit { known.removeFirst() }
            known.append(entry)
            entries[source] = known
        }
    }

    func entries(of source: String) -> [Entry] { entries.withLock { $0[source] ?? [] } }

    func forget(_ entry: Entry) {
        entries.withLock { entries in
            entries[entry.key.source]?.removeAll { $0 == entry }
            if entries[entry.key.source]?.isEmpty == true { entries[entry.key.source] = nil }
        }
    }
}
