internal import FoundationEssentials
internal import WebImageCore

/// A loader whose interrupted bodies may be kept on the disk and continued; ``WebImageManager`` does so by itself.
///
/// It takes header fields that it did not ask for (`Range`, `If-Range`), reports the server's statuses and header fields as
/// they are, a 206 among them, and its bodies as the server sent them.
public protocol ResumableLoader: ImageLoader {
    /// What it adds to `request` that may change the answer, such as header fields and credentials of its own: bodies are
    /// continued only where that is the same. It is kept as a hash. `nil` where nobody can tell, or where bodies are not to
    /// lie on the disk as they are; such loads are neither kept nor continued.
    func resumptionScope(of request: LoaderRequest) -> String?

    /// The longest body that it takes, in bytes, which then holds for continued ones as a whole; no limit by default.
    var maximumResponseByteCount: Int64 { get }
}

extension ResumableLoader {
    /// No limit.
    public var maximumResponseByteCount: Int64 { .max }
}

extension ImageDownloader: ResumableLoader {
    /// `nil` for a downloader whose hooks change requests, heads or bodies, or that asks for credentials while it loads.
    public func resumptionScope(of request: LoaderRequest) -> String? {
        let hooks = configuration.hooks
        guard !hooks.changeRequests, hooks.responseModifier == nil, hooks.decryptor == nil,
            configuration.authenticationHandler == nil
        else { return nil }
        let added = configuration.addedFields(to: request).sorted { $0.key < $1.key }
        var parts = added.flatMap { [$0.key, $0.value.value] }
        parts.append(configuration.addedCredential(to: request)?.identity ?? "")
        parts.append("\(configuration.acceptsContentCodings)")
        return parts.unambiguouslyJoined
    }

    /// As configured.
    public var maximumResponseByteCount: Int64 { configuration.maximumResponseByteCount }
}

extension LoaderRequest {
    /// Names the body that it asks for: the same for those that get the same answer, and for nobody else. `nil` where
    /// what it brings is not to be kept, or where it asks for a part, or under conditions, itself.
    ///
    /// Cookies of the jar and stored credentials are not known before they are sent, so such bodies are not kept: they
    /// might go to the next user.
    ///
    /// - Parameter scope: what the loader adds.
    func partialBodyKey(scope: String) -> String? {
        let fields = headers.fieldsByName
        guard method == .get, !handlesCookies, !usesCredentialStorage, HTTPOrigin.isHTTP(url),
            !fields.keys.contains(where: { $0 == "range" || $0.hasPrefix("if-") }),
            !CacheControl(Array(fields.values)).has(.noStore)
        else { return nil }
        let (bare, own) = url.separatedFromUserInfo
        var parts = [
            "1", scope, bare.withoutFragment.absoluteString, (credential ?? own)?.identity ?? "",
            "\(allowsInvalidCertificates)",
        ]
        // They tell caches what to do, and not the server which answer to give.
        for (name, field) in headers.answerFields.sorted(by: { $0.key < $1.key })
        where !["cache-control", "pragma"].contains(name) {
            parts += [name, field.value]
        }
        return SHA256.hexDigest(of: Array(parts.unambiguouslyJoined.utf8))
    }
}

extension [String] {
    /// Lengths keep the parts apart, so that no two lists give one text.
    fileprivate var unambiguouslyJoined: String { map { "\($0.utf8.count):\($0)" }.joined(separator: "\n") }
}
