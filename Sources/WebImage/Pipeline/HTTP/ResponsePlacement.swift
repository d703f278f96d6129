import FoundationEssentials
import WebImageCaching
import WebImageLoading

/// Where the responses for one URL are stored.
///
/// The latest is under the URL's own key, where readers without HTTP find it. Others, for requests that differ in what `Vary`
/// names, are under keys that the latest one's metadata lists:
///
/// ```
///  source          latest response    metadata: alternates 0, 2
///  source#vary=0   another response   metadata
///  source#vary=2   another response   metadata
/// ```
enum ResponsePlacement {
    /// Returns where to store a new response. Those that would answer its request too are removed; of the others the eight latest
    /// stay.
    ///
    /// - Parameter stored: what is stored for the URL, the latest first.
    static func of(
        _ response: StoredResponse, _ data: Data, among stored: [StoredImage], requestHeaders: [HTTPField]
    ) -> StoredChange.Placement {
        var metadata = ResponseMetadata(response: response)
        guard let latest = stored.first,
            let latestMetadata = latest.record.responseMetadata.flatMap(ResponseMetadata.init(encoded:))
        else { return StoredChange.Placement(data: data, responseMetadata: metadata.encoded) }
        var removed: [Int] = []
        var kept: [(slot: Int, date: Date)] = []
        for slot in latestMetadata.alternates {
            guard let other = stored.first(where: { $0.slot == slot })?.record.response,
                response.leavesRoom(for: other, requestHeaders)
            else {
                removed.append(slot)
                continue
            }
            kept.append((slot, other.responseTime))
        }
        var displaced: (stored: StoredImage, responseMetadata: Data, slot: Int)?
        if response.leavesRoom(for: latestMetadata.response, requestHeaders) {
            if kept.count == ResponseMetadata.alternateLimit,
                let oldest = kept.indices.min(by: { kept[$0].date < kept[$1].date })
            {
                kept.remove(at: oldest)
            }
            let slot = (0..<ResponseMetadata.alternateLimit).first { slot in !kept.contains { $0.slot == slot } } ?? 0
            // The alternates are listed with the new latest response.
            displaced = (latest, ResponseMetadata(response: latestMetadata.response).encoded, slot)
            removed.removeAll { $0 == slot }
            kept.append((slot, latestMetadata.response.responseTime))
        }
        metadata.alternates = kept.map(\.slot).sorted()
        return StoredChange.Placement(
            data: data, responseMetadata: metadata.encoded, displaced: displaced, removedSlots: removed)
    }
}

extension StoredResponse {
    /// Whether `other` still answers some request that this one does not, because `Vary` distinguishes them.
    ///
    /// - Parameter requestHeaders: of the request that this one answers.
    fileprivate func leavesRoom(for other: StoredResponse, _ requestHeaders: [HTTPField]) -> Bool {
        !varyNames.isEmpty && !other.varyNames.contains("*") && !other.matches(requestHeaders)
    }
}

extension PipelineCache {
    /// Reads the stored responses for an original: the latest, and those that `Vary` distinguishes from it unless the latest
    /// `isEnough`.
    func readResponses(
        of key: ImageCacheKey, priority: LoadPriority, isEnough: @escaping @Sendable (StoredResponse?) -> Bool,
        completion: @escaping @Sendable ([StoredImage]) -> Void
    ) -> (any LoaderTask)? {
        read(
            key.original, priority: priority, alternates: { $0.alternates(isEnough: isEnough) }, completion: completion)
    }

    /// Like the method above, but blocks.
    func responsesBlocking(of key: ImageCacheKey, isEnough: (StoredResponse?) -> Bool) -> [StoredImage] {
        readBlocking(key.original) { $0.alternates(isEnough: isEnough) }
    }

    /// Replaces the stored response of bytes that a server has confirmed.
    func update(_ stored: StoredImage, with response: StoredResponse) {
        let known = stored.record.responseMetadata.flatMap(ResponseMetadata.init(encoded:))
        let metadata = ResponseMetadata(response: response, alternates: known?.alternates ?? [])
        update(stored, responseMetadata: metadata.encoded)
    }
}

extension StoredImage {
    func alternates(isEnough: (StoredResponse?) -> Bool) -> [Int] {
        guard let metadata = record.responseMetadata.flatMap(ResponseMetadata.init(encoded:)),
            !metadata.alternates.isEmpty, !isEnough(metadata.response)
        else { return [] }
        return metadata.alternates
    }
}

extension [StoredImage] {
    var responses: [StoredResponse?] { map(\.record.response) }

    /// Whether a new response may have to be stored beside one of these.
    var dependOnRequest: Bool { count > 1 || contains { $0.record.response?.varyNames.isEmpty == false } }
}
