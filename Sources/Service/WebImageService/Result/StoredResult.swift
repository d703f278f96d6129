internal import FoundationEssentials
internal import WebImageCore

/// A result with what its answers tell.
struct StoredResult: Sendable {
    struct Head: Codable, Sendable, Equatable {
        var contentType: String
        /// Without its dot.
        var fileExtension: String
        var tag: String
        /// When it was made, in seconds since 1970: other settings make other bytes of a source that has not changed.
        var modified: Double
        /// Until when it is sent without being made anew, in seconds since 1970.
        var expires: Double
        /// Whether caches may store it; otherwise it is made for one request.
        var isStorable = true
    }

    let body: ServiceAnswer.Body
    let head: Head

    init(
        _ data: Data, contentType: String, fileExtension: String, now: Date, lifetime: Double, isStorable: Bool
    ) {
        body = ServiceAnswer.Body(data)
        head = Head(
            contentType: contentType, fileExtension: fileExtension,
            tag: String(SHA256.hexDigest(of: [UInt8](data)).prefix(32)),
            modified: now.timeIntervalSince1970.rounded(.down),
            expires: now.timeIntervalSince1970 + lifetime, isStorable: isStorable)
    }

    /// The same bytes, as an earlier result had them.
    init(_ result: StoredResult, madeAt modified: Double) {
        body = result.body
        var head = result.head
        head.modified = modified
        self.head = head
    }

    /// Reads what a cache has; `nil` for something else.
    init?(_ body: ServiceAnswer.Body, head: Data?) {
        guard let head, let read = try? JSONDecoder().decode(Head.self, from: head) else { return nil }
        (self.body, self.head) = (body, read)
    }

    var encodedHead: Data? { try? JSONEncoder().encode(head) }

    func isFresh(at now: Date) -> Bool { now.timeIntervalSince1970 < head.expires }
}
