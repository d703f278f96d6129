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
        /// Whether it has every pixel of the file.
        let isWhole: Bool
        /// Whether its proportions are not the picture's own.
        let isStretched: Bool
        /// Whether there may be more frames in the file.
        let isFirstFrame: Bool
    }

    private struct Source {
        var entries: [Entry] = []
        /// Of the last note about it.
        var number = 0
    }

    private struct State {
        var sources: [KeyText: Source] = [:]
        var lastNumber = 0
    }

    private let state = Lock(State())

    /// Sizes of one source, and sources: beyond, those noted longest ago go.
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
            // A tenth at once: looking for the oldest takes a walk through all.
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
