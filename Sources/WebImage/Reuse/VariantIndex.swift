import WebImageCaching
import WebImageCore

/// The sizes of each source that were put into memory, so that one can serve for another.
///
/// It stores keys, not images. An entry whose image memory has dropped is removed when it is looked up.
final class VariantIndex: Sendable {
    /// A still as it was decoded, without processors.
    struct Entry: Hashable, Sendable {
        let key: ImageCacheKey
        let size: PixelSize
        /// Whether it has all pixels of the file.
        let isWhole: Bool
        /// Whether its aspect ratio differs from that of the file.
        let isStretched: Bool
        /// Whether the file may have more frames.
        let isFirstFrame: Bool
    }

    private struct Source {
        var entries: [Entry] = []
        /// The number of the last entry noted for it.
        var number = 0
    }

    private struct State {
        var sources: [KeyText: Source] = [:]
        var lastNumber = 0
    }

    private let state = Lock(State())

    /// The maximum number of sizes of one source, and of sources. Beyond them, the oldest are removed.
    static let (entryLimit, sourceLimit) = (8, 10_000)

    func note(_ entry: Entry) {
        state.withLock { state in
            state.lastNumber += 1
            let key = KeyText(entry.key.source)
            var source = state.sources[key, default: Source()]
            source.number = state.lastNumber
            source.entries.removeAll { $0.key == entry.key }
            if source.entries.count >= Self.entryLimit { source.entries.removeFirst() }
            source.entries.append(entry)
            state.sources[key] = source
            guard state.sources.count > Self.sourceLimit else { return }
            // Removes a tenth at once, because finding the oldest entries means looking at all.
            let newest = state.lastNumber - Self.sourceLimit * 9 / 10
            state.sources = state.sources.filter { $0.value.number > newest }
        }
    }

    func entries(of source: String) -> [Entry] { state.withLock { $0.sources[KeyText(source)]?.entries ?? [] } }

    func forget(_ entry: Entry) {
        state.withLock { state in
            let key = KeyText(entry.key.source)
            state.sources[key]?.entries.removeAll { $0 == entry }
            if state.sources[key]?.entries.isEmpty == true { state.sources[key] = nil }
        }
    }
}
