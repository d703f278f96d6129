internal import FoundationEssentials
internal import WebImageCore

/// A result with what its answers tell.
struct StoredResult: Sendable {
    struct Head: Codable, Sendable, Equatable {
        var contentType: String
        /// Without its dot.
        var fileExtension: String
        var tag: String
        /// In seconds since 1970.
        var modified, created: Double
        /// Until when it is sent without being made anew, in seconds since 1970.
        var expires: Double
        /// Whether caches may store it; otherwise it is made for one request.
        var isStorable = true
    }

    let data: Data
    let head: Head

    init(
        _ data: Data, contentType: String, fileExtension: String, modified: Date?, now: Date, lifetime: Double,
        isStorable: Bool
    ) {
        self.data = data
        head = Head(
            contentType: contentType, fileExtension: fileExtension,
            tag: String(SHA256.hexDigest(of: [UInt8](data)).prefix(32)),
            modified: min(modified ?? now, now).timeIntervalSince1970.rounded(.down),
            created: now.timeIntervalSince1970, expires: now.timeIntervalSince1970 + lifetime, isStorable: isStorable)
    }

    /// Reads what a cache has; `nil` for something else.
    init?(_ data: Data?, head: Data?) {
        guard let data, let head, let read = try? JSONDecoder().decode(Head.self, from: head) else { return nil }
        (self.data, self.head) = (data, read)
    }

    var encodedHead: Data? { try? JSONEncoder().encode(head) }

    func isFresh(at now: Date) -> Bool { now.timeIntervalSince1970 < head.expires }
}
