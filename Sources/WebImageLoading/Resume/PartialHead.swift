internal import FoundationEssentials
internal import WebImageCore

/// What is kept of an answer beside the first bytes of its body, so that the rest can be asked for and both be told apart
/// from everything else.
struct PartialHead: Codable, Equatable {
    /// The ``LoaderRequest/partialBodyKey(scope:)`` of what was asked for.
    let key: String
    /// The hash of where the body came from in the end: validators say nothing about other places.
    let location: String
    let validator: StrongValidator
    /// As they came, without those about the connection, the length and cookies.
    let fields: [HTTPField]
    /// The length of the whole body; `nil` where the server did not say.
    let byteCount: Int64?

    /// The head of a body that can be continued; `nil` where it can't, or is not to be kept.
    init?(_ response: LoaderResponse, key: String) {
        let (headers, control) = (response.headers, CacheControl(response.headers))
        guard response.statusCode == 200, let validator = StrongValidator(headers), !control.has(.noStore),
            headers.areOfUncodedContent,
            !headers.elements(ofFieldNamed: "Accept-Ranges").contains(where: { $0.lowercased() == "none" }),
            !headers.elements(ofFieldNamed: "Vary").contains("*")
        else { return nil }
        self.init(
            key: key, location: Self.location(response.url), validator: validator,
            fields: headers.withoutMessageFields, byteCount: response.expectedByteCount)
    }

    private init(key: String, location: String, validator: StrongValidator, fields: [HTTPField], byteCount: Int64?) {
        (self.key, self.location, self.validator) = (key, location, validator)
        (self.fields, self.byteCount) = (fields, byteCount)
    }

    private static func location(_ url: URL) -> String {
        SHA256.hexDigest(of: Array(url.separatedFromUserInfo.url.withoutFragment.absoluteString.utf8))
    }

    /// The request's header fields with those that ask for the rest.
    func headersAskingForRest(from offset: Int64, over headers: [String: String]) -> [String: String] {
        var headers = headers
        headers["Range"] = "bytes=\(offset)-"
        headers["If-Range"] = validator.fieldValue
        return headers
    }

    /// The answer as a whole, if `response` brings the rest of this body and nothing else (RFC 9110, 15.3.7).
    ///
    /// - Returns: as a server would have answered that had been asked for everything: status 200, the length of the whole,
    ///   and the stored fields, those of the new answer in place of older ones.
    func wholeResponse(continuedBy response: LoaderResponse, from offset: Int64) -> LoaderResponse? {
        let headers = response.headers
        let ranges = headers.values(named: "Content-Range")
        guard response.statusCode == 206, ranges.count == 1, let range = ContentRange(ranges[0]),
            range.first == offset, let total = range.totalByteCount, range.last == total - 1,
            byteCount == nil || byteCount == total,
            response.expectedByteCount == nil || response.expectedByteCount == total - offset,
            validator.agrees(with: headers), !hasOtherDate(headers), Self.location(response.url) == location,
            headers.areOfUncodedContent,
            headers.values(named: "Content-Type").allSatisfy({ !$0.lowercased().hasPrefix("multipart/") })
        else { return nil }
        let news = headers.withoutMessageFields
        let newNames = Set(news.map { $0.name.lowercased() })
        var whole = response
        whole.statusCode = 200
        whole.expectedByteCount = total
        whole.headers = fields.filter { !newNames.contains($0.name.lowercased()) } + news
        whole.headers += headers.filter { $0.name.lowercased() == "set-cookie" }
        whole.headers.append(HTTPField(name: "Content-Length", value: "\(total)"))
        return whole
    }

    /// Whether `headers` tell of another time of the last change. The bytes are others then, though a careless server may have
    /// kept its entity tag; an answer need not repeat the date.
    private func hasOtherDate(_ headers: [HTTPField]) -> Bool {
        let (stored, new) = (fields.values(named: "Last-Modified"), headers.values(named: "Last-Modified"))
        guard !stored.isEmpty, !new.isEmpty, stored != new else { return false }
        let (storedDates, newDates) = (stored.compactMap { HTTPDate.parse($0) }, new.compactMap { HTTPDate.parse($0) })
        // One time can be written in three ways.
        return storedDates.count != 1 || stored.count != 1 || new.count != 1 || storedDates != newDates
    }

    /// Whether an answer that continues it still allows that it is kept.
    static func mayBeKept(_ response: LoaderResponse) -> Bool { !CacheControl(response.headers).has(.noStore) }
}

extension [HTTPField] {
    /// Whether the bytes of the body are those of the content.
    fileprivate var areOfUncodedContent: Bool {
        elements(ofFieldNamed: "Content-Encoding").allSatisfy { $0.lowercased() == "identity" }
    }

    /// Without the fields about one message or connection, and without cookies, which are not to lie on the disk.
    fileprivate var withoutMessageFields: [HTTPField] {
        withoutConnectionFields.filter {
            !["content-length", "content-range", "set-cookie"].contains($0.name.lowercased())
        }
    }
}
