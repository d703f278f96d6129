public import FoundationEssentials
package import WebImageCore

extension ImageLoader {
    /// Returns a loader that resumes interrupted transfers of this one. The bytes received before a network failure, a
    /// cancellation or the end of the process are stored on disk, and only the rest is requested.
    ///
    /// ```swift
    /// let loader = ImageDownloader.shared.resuming(in: folder)
    /// ```
    ///
    /// A ``WebImageManager`` does so for its ``ImageDownloader``, in a folder of its disk cache.
    ///
    /// A custom loader must accept additional header fields (`Range`, `If-Range`), report statuses, including 206,
    /// header fields and bodies exactly as the server sends them, and add nothing to requests that makes responses
    /// differ between users. Stored bytes are delivered in one piece, which is mapped from a temporary file if it is
    /// longer than 8 MiB.
    ///
    /// At most 256 bodies are stored, for 7 days, and none while less than 256 MiB are free. There are no errors: if
    /// the directory cannot be used, nothing is stored. Several loaders and processes may share a directory.
    ///
    /// - Parameters:
    ///   - directory: created with the first body, with mode 0700. It must belong to this user; other files in it are
    ///     not changed.
    ///   - byteLimit: the maximum size of all bodies and of a single one, in bytes; 64 MiB by default. The least
    ///     recently used are deleted first.
    public func resuming(in directory: URL, byteLimit: Int64 = 64 << 20) -> any ImageLoader {
        ResumingLoader(
            self, store: PartialBodyStore(configuration: .init(directory: directory, byteLimit: byteLimit)))
    }
}

/// Resumes interrupted transfers of another loader; see ``ImageLoader/resuming(in:byteLimit:)``.
///
/// Callers receive one complete response: status 200, the whole length, the stored bytes and then the new ones. The
/// request has `Range` and `If-Range` fields (RFC 9110, 13.1.5 and 14.2):
///
/// | response | effect |
/// |---|---|
/// | 206 with the rest of the same bytes | the transfer is resumed |
/// | 200 | the body has changed, or the server does not support ranges: the transfer starts anew |
/// | 206 with other bytes, 416, or an error | the stored bytes are deleted, and the request is repeated without a range |
///
/// Bodies of GET requests with status 200 and a strong validator are stored. Exceptions are content-coded bodies,
/// servers that do not accept ranges, and `no-store` on either side. Some requests are passed to the other loader
/// unchanged: those with a range or conditions, with cookies or stored credentials, and with a scheme other than http
/// or https.
package final class ResumingLoader: LoaderDecorator {
    package let base: any ImageLoader
    let store: PartialBodyStore

    /// Creates a loader that wraps another one.
    package init(_ base: any ImageLoader, store: PartialBodyStore) {
        self.base = base
        self.store = store
    }

    /// Starts a load; see ``ImageLoader/load(_:priority:handler:)``. Stored bytes are delivered in one piece.
    package func load(
        _ request: LoaderRequest, priority: LoadPriority, handler: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any LoaderTask {
        guard let key = scope(of: request).flatMap({ request.partialBodyKey(scope: $0) }) else {
            return base.load(request, priority: priority, handler: handler)
        }
        let task = ResumingTask(request, key: key, loader: self, priority: priority, handler: handler)
        task.start(priority)
        return task
    }

    private func scope(of request: LoaderRequest) -> String? {
        guard let downloader = base as? ImageDownloader else { return String(reflecting: type(of: base)) }
        return downloader.resumptionScope(of: request)
    }
}

extension ImageDownloader {
    /// Returns what the downloader adds to `request` that may change the response, such as its own header fields and
    /// credentials. A body is only resumed if this is the same; only a hash of it is stored. Such loads are neither stored nor resumed if it
    /// is `nil`: for a downloader whose hooks change requests, heads or bodies, or that asks for credentials during
    /// a load.
    func resumptionScope(of request: LoaderRequest) -> String? {
        let configuration = configuration
        guard configuration.requestModifier == nil, configuration.responseModifier == nil,
            configuration.decryptor == nil,
            configuration.authenticationHandler == nil
        else { return nil }
        var scope = PartText()
        // Names differ in case without a difference for the server.
        for field in configuration.addedFields(to: request) {
            scope.append(field.name.lowercased())
            scope.append(field.value)
        }
        scope.append(configuration.addedCredential(to: request)?.identity ?? "")
        return scope.text
    }
}

extension LoaderRequest {
    /// Returns the key of the requested body. Requests have the same key only if their responses are the same. `nil` if
    /// the response must not be stored, or if the request itself has a range or conditions.
    ///
    /// Cookies of the jar and stored credentials are unknown before they are sent. Such bodies are not stored, since
    /// they could be served to another user.
    ///
    /// - Parameter scope: what the loader adds.
    func partialBodyKey(scope: String) -> PartialBodyKey? {
        let fields = headers.fieldsByName
        guard method == .get, !handlesCookies, !usesCredentialStorage, HTTPOrigin.isHTTP(url),
            !fields.keys.contains(where: { $0 == "range" || $0.hasPrefix("if-") }),
            !fields.keys.contains("cache-control") || !CacheControl(Array(fields.values)).has(.noStore)
        else { return nil }
        let (bare, own) = url.separatedFromUserInfo
        var parts = PartText()
        parts.append("1")
        parts.append(scope)
        parts.append(bare.withoutFragment.absoluteString)
        parts.append((credential ?? own)?.identity ?? "")
        parts.append(allowsInvalidCertificates ? "true" : "false")
        // These fields instruct caches and do not affect the server's response.
        let answerFields = answerFields
        for name in answerFields.keys.sorted() where name != "cache-control" && name != "pragma" {
            parts.append(name)
            parts.append(answerFields[name]?.value ?? "")
        }
        return PartialBodyKey(text: parts.text)
    }
}

/// The properties of a request that its body depends on. Files are named after its digest, which few loads need.
struct PartialBodyKey: Hashable, Sendable {
    let text: String

    /// SHA-256, as 64 hexadecimal digits.
    var digest: String { SHA256.hexDigest(of: Array(text.utf8)) }
    var fileName: String { digest + PartialDirectory.suffix }
}

/// Parts joined with their lengths, so that different lists have different texts.
private struct PartText {
    private(set) var text = ""

    init() { text.reserveCapacity(256) }

    mutating func append(_ part: String) {
        if !text.isEmpty { text += "\n" }
        text += String(part.utf8.count)
        text += ":"
        text += part
    }
}
