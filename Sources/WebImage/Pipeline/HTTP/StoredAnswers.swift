package import FoundationEssentials
package import WebImageCaching
package import WebImageLoading

/// What the disk has for a URL: the latest answer, and others where Vary tells them apart.
struct StoredAnswers: Sendable {
    /// One answer: its metadata, and where its body is.
    struct Candidate: Sendable {
        /// `nil` for bytes of which nothing is known, as of those that a program has stored by itself.
        let response: StoredResponse?
        fileprivate let key: String?
    }

    let candidates: [Candidate]
    private let latest: ImageCache.StoredOriginal?
    private let cache: ImageCache

    /// Whether a new answer may have to leave room for one of these.
    var dependOnRequest: Bool {
        candidates.count > 1 || candidates.contains { $0.response?.varyNames.isEmpty == false }
    }

    /// - Parameters:
    ///   - latest: what the disk has under the URL's own key.
    ///   - isEnough: whether that one will do, so that no other needs to be looked at. Else this blocks on the disk.
    init(
        _ latest: ImageCache.StoredOriginal?, for key: String, in cache: ImageCache,
        unless isEnough: (StoredResponse?) -> Bool
    ) {
        self.latest = latest
        self.cache = cache
        guard let latest else {
            candidates = []
            return
        }
        let metadata = latest.responseMetadata.flatMap(ResponseMetadata.init(encoded:))
        var candidates = [Candidate(response: metadata?.response, key: nil)]
        if let metadata, !metadata.alternates.isEmpty, !isEnough(metadata.response), let disk = cache.disk {
            for slot in metadata.alternates {
                let other = DiskCache.alternateKey(of: key, slot)
                guard let metadata = disk.storedMetadata(for: other).flatMap(ResponseMetadata.init(encoded:)) else {
                    continue
                }
                candidates.append(Candidate(response: metadata.response, key: other))
            }
        }
        self.candidates = candidates
    }

    /// The body of a candidate; `nil` where it is gone. Blocks, unless it is the latest.
    func original(at index: Int) -> ImageCache.StoredOriginal? {
        guard let key = candidates[index].key else { return latest }
        return latest.flatMap { cache.readOriginal(named: key, beside: $0) }
    }
}

extension DiskCache: ResponseStore {
    package static func alternateKey(of key: String, _ slot: Int) -> String { ImageCacheKey.alternate(of: key, slot) }

    package func storedMetadata(for key: String) -> Data? { cachedEntry(for: key)?.responseMetadata }

    package func storedBody(for key: String) -> StoredBody? {
        cachedItem(for: key).map { item in
            StoredBody(
                data: item.data, metadata: item.entry.responseMetadata, extendedData: item.entry.extendedData,
                expires: item.entry.expires)
        }
    }
}
