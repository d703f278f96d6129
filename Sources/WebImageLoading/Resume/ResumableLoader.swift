internal import FoundationEssentials
internal import WebImageCore

/// A loader whose interrupted transfers can be stored on disk and resumed; ``WebImageManager`` does so automatically.
///
/// The loader must accept additional header fields (`Range`, `If-Range`). It must report statuses, including 206,
/// header fields and bodies exactly as the server sends them.
public protocol ResumableLoader: ImageLoader {
    /// Returns what the loader adds to `request` that may change the response, such as its own header fields and
    /// credentials. A body is only resumed if this is the same; only a hash of it is stored. `nil` if it is unknown, or
    /// if bodies must not be stored on disk unchanged; such loads are neither stored nor resumed.
    func resumptionScope(of request: LoaderRequest) -> String?

    /// The maximum length of a body in bytes, which then also applies to resumed bodies as a whole; no limit by
    /// default.
    var maximumResponseByteCount: Int64 { get }
}

extension ResumableLoader {
    /// No limit.
    public var maximumResponseByteCount: Int64 { .max }
}

extension ImageDownloader: ResumableLoader {
    /// Returns `nil` for a downloader whose hooks change requests, heads or bodies, or that asks for credentials during
    /// a load.
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

    /// The configured limit.
    public var maximumResponseByteCount: Int64 { configuration.maximumResponseByteCount }
}

extension LoaderRequest {
    /// Returns the key of the requested body. Requests have the same key only if their responses are the same. `nil` if
    /// the response must not be stored, or if the request itself has a range or conditions.
    ///
    /// Cookies of the jar and stored credentials are unknown before they are sent. Such bodies are not stored, since
    /// they could be served to another user.
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
        // These fields instruct caches and do not affect the server's response.
        for (name, field) in headers.answerFields.sorted(by: { $0.key < $1.key })
        where !["cache-control", "pragma"].contains(name) {
            parts += [name, field.value]
        }
        return SHA256.hexDigest(of: Array(parts.unambiguouslyJoined.utf8))
    }
}

extension [String] {
    /// Joins the parts with their lengths, so that different lists have different texts.
    fileprivate var unambiguouslyJoined: String { map { "\($0.utf8.count):\($0)" }.joined(separator: "\n") }
}
