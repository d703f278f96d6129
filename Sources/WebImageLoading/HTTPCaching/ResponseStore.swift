package import FoundationEssentials

/// Keeps answers: bodies, and beside each what ``ResponseMetadata`` has to say.
///
/// The latest answer of a URL is under the URL's own key, so that whoever does not care for HTTP finds it. Others, for
/// requests that differ in what Vary names, are under keys made of it, which the latest one's metadata list:
///
/// ```
///  key           latest answer   metadata: alternates 0, 2
///  key\vary=0    another         metadata
///  key\vary=2    another         metadata
/// ```
package protocol ResponseStore: AnyObject, Sendable {
    /// What is stored under `key`, without the body; blocks.
    func storedMetadata(for key: String) -> Data?

    /// What is stored under `key`; blocks.
    func storedBody(for key: String) -> StoredBody?

    /// What another answer for `key` is stored under; slots count from 0 to ``ResponseMetadata/alternateLimit``.
    static func alternateKey(of key: String, _ slot: Int) -> String
}

/// A body as a ``ResponseStore`` has it, with what lies beside it.
package struct StoredBody: Sendable {
    package let data: Data
    package let metadata: Data?
    /// Somebody else's, to be kept as it is.
    package let extendedData: Data?
    /// When the store forgets it; `nil` for never.
    package let expires: Date?

    package init(data: Data, metadata: Data? = nil, extendedData: Data? = nil, expires: Date? = nil) {
        self.data = data
        self.metadata = metadata
        self.extendedData = extendedData
        self.expires = expires
    }
}

/// What has to happen in a store to keep a new answer.
package struct ResponsePlacement: Sendable {
    /// The metadata of the new answer, which goes under the key itself.
    package var metadata: ResponseMetadata
    /// What was the latest answer until now, and still is one: it goes under this key first.
    package var displaced: (body: StoredBody, key: String)?
    /// Keys whose answers the new one replaces.
    package var removed: [String] = []
}

extension ResponseStore {
    /// Makes room for an answer to a request with `requestHeaders`: those that would answer it too are out of date, the
    /// others stay beside it, the eight latest. Blocks.
    package func placement(
        of response: StoredResponse, for key: String, requestHeaders: [HTTPField]
    ) -> ResponsePlacement {
        guard let latest = storedMetadata(for: key).flatMap(ResponseMetadata.init(encoded:)) else {
            return ResponsePlacement(metadata: ResponseMetadata(response: response))
        }
        var placement = ResponsePlacement(metadata: ResponseMetadata(response: response))
        var kept: [(slot: Int, date: Date)] = []
        for slot in latest.alternates {
            let other = Self.alternateKey(of: key, slot)
            guard let metadata = storedMetadata(for: other).flatMap(ResponseMetadata.init(encoded:)),
                response.leavesRoom(for: metadata.response, requestHeaders)
            else {
                placement.removed.append(other)
                continue
            }
            kept.append((slot, metadata.response.responseTime))
        }
        if response.leavesRoom(for: latest.response, requestHeaders), let body = storedBody(for: key) {
            if kept.count == ResponseMetadata.alternateLimit,
                let oldest = kept.indices.min(by: { kept[$0].date < kept[$1].date })
            {
                kept.remove(at: oldest)
            }
            let free = (0..<ResponseMetadata.alternateLimit).first { slot in !kept.contains { $0.slot == slot } } ?? 0
            let place = Self.alternateKey(of: key, free)
            // The others are listed with the new latest one.
            let metadata = ResponseMetadata(response: latest.response).encoded
            placement.displaced = (
                StoredBody(
                    data: body.data, metadata: metadata, extendedData: body.extendedData, expires: body.expires), place
            )
            placement.removed.removeAll { $0 == place }
            kept.append((free, latest.response.responseTime))
        }
        placement.metadata.alternates = kept.map(\.slot).sorted()
        return placement
    }
}

extension StoredResponse {
    /// Whether `other` still answers some request that this one does not: those are told apart by Vary alone.
    ///
    /// - Parameter requestHeaders: of the request that this one answers.
    fileprivate func leavesRoom(for other: StoredResponse, _ requestHeaders: [HTTPField]) -> Bool {
        !varyNames.isEmpty && !other.varyNames.contains("*") && !other.matches(requestHeaders)
    }
}
