public import FoundationEssentials
internal import WebImageCore

extension ImageDownloader {
    /// What may change requests, answers and bodies on their way.
    ///
    ///     load ─► headersFilter ─► requestModifier ─► queue ─► server ─► responseModifier ─► status, type ─► decryptor ─► caller
    ///
    /// All but the decryptor run on the network thread, and hold up every other transfer until they return. None is called
    /// under a lock, or on the thread that calls ``ImageDownloader/load(_:priority:handler:)``. The first two are also called
    /// by ``ImageDownloader/requestHeaders(for:)``, on its caller's thread.
    public struct Hooks: Sendable {
        /// Gives the headers for a URL: gets the downloader's own with the request's over them, gives what to send.
        ///
        /// Called once for each load, besides; redirects keep what it gave, as far as the next origin may see it.
        public var headersFilter: (@Sendable (_ url: URL, _ headers: [String: String]) -> [String: String])?

        /// Sees each request, with its headers complete, before it is queued, and gives the one to send in its place; `nil`
        /// refuses it, and the load fails with ``WebImageError/requestRefused(url:)``. Not asked about redirects.
        public var requestModifier: (@Sendable (LoaderRequest) -> LoaderRequest?)?

        /// Sees the head of each answer that is no redirect, before its status and type are judged, and gives the one to
        /// judge and report in its place: status and headers count, the URL and the length stay what they are. `nil`
        /// refuses the answer, and the load fails with ``WebImageError/responseRefused(url:)``.
        public var responseModifier: (@Sendable (LoaderResponse) -> LoaderResponse?)?

        /// Turns the body that came into the picture; `nil` fails with ``WebImageError/decryptionFailed(url:)``.
        ///
        /// Called on a thread of its own once the body is complete, so that with a decryptor no bytes arrive before the
        /// end, and the length of the body is not announced.
        public var decryptor: (@Sendable (_ body: Data, _ response: LoaderResponse) -> Data?)?

        /// Makes hooks that change nothing.
        public init() {}

        /// Whether requests have to pass them before they are queued.
        var changeRequests: Bool { headersFilter != nil || requestModifier != nil }
    }
}

extension ImageDownloader.Configuration {
    /// The request as it goes out: with the downloader's headers, and what the hooks make of it.
    func prepared(_ request: LoaderRequest) throws(WebImageError) -> LoaderRequest {
        var request = request
        request.headers = completeHeaders(of: request)
        if let filter = hooks.headersFilter { request.headers = filter(request.url, request.headers) }
        guard let modifier = hooks.requestModifier else { return request }
        guard let modified = modifier(request) else {
            throw .requestRefused(url: request.url.separatedFromUserInfo.url)
        }
        return modified
    }

    /// The request's headers, with the downloader's where it has none of that name.
    func completeHeaders(of request: LoaderRequest) -> [String: String] {
        let own = request.headers.fieldsByName
        var complete = addedFields(to: request).merging(own) { _, own in own }
        if acceptsContentCodings, own["accept-encoding"] == nil {
            complete["accept-encoding"] = HTTPField(name: "Accept-Encoding", value: "gzip, deflate")
        }
        return Dictionary(complete.values.map { ($0.name, $0.value) }) { first, _ in first }
    }

    /// The downloader's own headers as far as the request's server may see them, by name in lower case.
    func addedFields(to request: LoaderRequest) -> [String: HTTPField] {
        let fields = headers.fieldsByName
        guard request.isForAnotherOrigin else { return fields }
        return fields.filter { RequestHeaders.namesForAnyOrigin.contains($0.key) }
    }

    /// The downloader's own credential, if the request's server may see it.
    func addedCredential(to request: LoaderRequest) -> Credential? { request.isForAnotherOrigin ? nil : credential }

    /// Why an answer with that status and type is not taken; `nil` when it is.
    func refusal(of head: TransferHead, url: URL) -> WebImageError? {
        if let acceptableStatusCodes, !acceptableStatusCodes.contains(head.statusCode) {
            return .httpStatus(code: head.statusCode, url: url)
        }
        if let acceptableContentTypes, let type = head.contentType,
            !acceptableContentTypes.contains(where: { $0.lowercased() == type })
        {
            return .unacceptableContentType(type, url: url)
        }
        return nil
    }

    /// Why a body in those codings is not taken; `nil` when it is.
    ///
    /// - Parameter codings: of the body on the wire, whatever a hook has made of the head.
    func refusal(ofCodings codings: [String], accepted: Bool, url: URL) -> WebImageError? {
        let isDecodable =
            codings.isEmpty || accepted && codings.count == 1 && Self.decodableCodings.contains(codings[0])
        return isDecodable ? nil : .unsupportedContentCoding(codings.joined(separator: ", "), url: url)
    }

    /// Those whose decoded length is bounded by 1032 times the coded one; brotli's is not, and while a transfer is paused
    /// libcurl keeps a decoded piece in memory. One at a time, for the same reason.
    private static let decodableCodings: Set = ["gzip", "x-gzip", "deflate"]
}

extension TransferHead {
    /// The type of the body, in lower case and without parameters.
    var contentType: String? {
        let type = value("content-type")?.prefix { $0 != ";" }.lowercased()
        return type.map { $0.filter { $0 != " " && $0 != "\t" } }.flatMap { $0.isEmpty ? nil : $0 }
    }
}
