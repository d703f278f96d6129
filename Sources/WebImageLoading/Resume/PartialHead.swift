internal import FoundationEssentials
internal import WebImageCore

/// The part of a response that is stored with the first bytes of its body. It is needed to request the rest, and to
/// verify that both belong together.
struct PartialHead: Codable, Equatable {
    /// The ``LoaderRequest/partialBodyKey(scope:)`` of the request.
    let key: String
    /// The hash of the final URL, since validators apply to one URL only.
    let location: String
    let validator: StrongValidator
    /// The fields as received, without those about the connection, the length and cookies.
    let fields: [HTTPField]
    /// The length of the whole body; `nil` if unknown.
    let byteCount: Int64?

    /// Creates the head of a resumable body; `nil` if the body cannot be resumed or must not be stored.
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

    /// Returns the request's header fields with those that request the rest.
    func headersAskingForRest(from offset: Int64, over headers: [String: String]) -> [String: String] {
        var headers = headers
        headers["Range"] = "bytes=\(offset)-"
        headers["If-Range"] = validator.fieldValue
        return headers
    }

    /// Returns the complete response, if `response` contains exactly the rest of this body (RFC 9110, 15.3.7).
    ///
    /// - Returns: the response as if everything had been requested: status 200, the whole length, and the stored
    ///   fields, updated with those of the new response.
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

    /// Whether `headers` have a different modification date. The bytes are then different, even if the server did not
    /// change its entity tag. A response may omit the date.
    private func hasOtherDate(_ headers: [HTTPField]) -> Bool {
        let (stored, new) = (fields.values(named: "Last-Modified"), headers.values(named: "Last-Modified"))
        guard !stored.isEmpty, !new.isEmpty, stored != new else { return false }
        let (storedDates, newDates) = (stored.compactMap { HTTPDate.parse($0) }, new.compactMap { HTTPDate.parse($0) })
        // The same time can be written in three ways.
        return storedDates.count != 1 || stored.count != 1 || new.count != 1 || storedDates != newDates
    }

    /// Whether the continuing response still allows the body to be stored.
    static func mayBeKept(_ response: LoaderResponse) -> Bool { !CacheControl(response.headers).has(.noStore) }
}

extension [HTTPField] {
    /// Whether the content is not encoded, so that the body's bytes are those of the content.
    fileprivate var areOfUncodedContent: Bool {
        elements(ofFieldNamed: "Content-Encoding").allSatisfy { $0.lowercased() == "identity" }
    }

    /// The fields without those of a single message or connection, and without cookies, which must not be stored on
    /// disk.
    fileprivate var withoutMessageFields: [HTTPField] {
        withoutConnectionFields.filter {
            !["content-length", "content-range", "set-cookie"].contains($0.name.lowercased())
        }
    }
}
