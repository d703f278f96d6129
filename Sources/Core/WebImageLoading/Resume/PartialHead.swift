internal import FoundationEssentials
internal import WebImageCore

/// The part of a response that is stored with the first bytes of its body. It is needed to request the rest, and to
/// verify that both belong together.
struct PartialHead: Codable, Equatable {
    /// The ``LoaderRequest/partialBodyKey(scope:)`` of the request.
    let key: String
    /// The hash of the final URL, since validators apply to one URL only.
    let location: String
    /// The fields as received, without those about the connection, the length and cookies.
    let fields: [Field]
    /// The length of the whole body; `nil` if unknown.
    let byteCount: Int64?

    struct Field: Codable, Equatable {
        let name: String
        let value: String
    }

    /// Creates the head of a resumable body; `nil` if the body cannot be resumed or must not be stored.
    init?(_ response: LoaderResponse, key: String) {
        let (headers, control) = (response.headers, CacheControl(response.headers))
        guard response.statusCode == 200, StrongValidator(headers) != nil, !control.has(.noStore),
            headers.areOfUncodedContent,
            !headers.elements(ofFieldNamed: "Accept-Ranges").contains(where: { $0.lowercased() == "none" }),
            !headers.elements(ofFieldNamed: "Vary").contains("*")
        else { return nil }
        self.key = key
        location = Self.location(response.url)
        fields = headers.withoutMessageFields.map { Field(name: $0.name, value: $0.value) }
        byteCount = response.expectedByteCount
    }

    private static func location(_ url: URL) -> String {
        SHA256.hexDigest(of: Array(url.separatedFromUserInfo.url.withoutFragment.absoluteString.utf8))
    }

    /// Returns the header fields that request the rest.
    func headersForRest(from offset: Int, over headers: [String: String]) -> [String: String] {
        let range = ["Range": "bytes=\(offset)-", "If-Range": StrongValidator(storedFields)?.fieldValue ?? ""]
        return headers.merging(range) { $1 }
    }

    /// Returns the complete response, if `response` contains exactly the rest of this body (RFC 9110, 15.3.7).
    ///
    /// - Returns: the response as if everything had been requested: status 200, the whole length, and the stored
    ///   fields, updated with those of the new response.
    func wholeResponse(continuedBy response: LoaderResponse, from offset: Int) -> LoaderResponse? {
        let headers = response.headers
        let ranges = headers.values(named: "Content-Range").map { $0.split(separator: " ").joined(separator: " ") }
        guard response.statusCode == 206,
            let total = byteCount ?? ranges.first?.split(separator: "/").last?.decimalNumber,
            total > offset, ranges.map({ $0.lowercased() }) == ["bytes \(offset)-\(total - 1)/\(total)"],
            response.expectedByteCount ?? total - Int64(offset) == total - Int64(offset),
            let validator = StrongValidator(storedFields), validator.agrees(with: headers),
            !hasOtherDate(headers), Self.location(response.url) == location,
            headers.areOfUncodedContent,
            headers.values(named: "Content-Type").allSatisfy({ !$0.lowercased().hasPrefix("multipart/") })
        else { return nil }
        let news = headers.withoutMessageFields
        let newNames = Set(news.map { $0.name.lowercased() })
        var whole = response
        whole.statusCode = 200
        whole.expectedByteCount = total
        whole.headers = storedFields.filter { !newNames.contains($0.name.lowercased()) } + news
        whole.headers += headers.filter { $0.isNamed("set-cookie") }
        whole.headers.append(HTTPHeader(name: "Content-Length", value: "\(total)"))
        return whole
    }

    private var storedFields: [HTTPHeader] { fields.map { HTTPHeader(name: $0.name, value: $0.value) } }

    /// Whether `headers` have a different modification date. The bytes are then different, even if the server did not
    /// change its entity tag. A response may omit the date.
    private func hasOtherDate(_ headers: [HTTPHeader]) -> Bool {
        let (stored, new) = (storedFields.values(named: "Last-Modified"), headers.values(named: "Last-Modified"))
        guard !stored.isEmpty, !new.isEmpty, stored != new else { return false }
        let (storedDates, newDates) = (stored.compactMap { HTTPDate.parse($0) }, new.compactMap { HTTPDate.parse($0) })
        // The same time can be written in three ways.
        return storedDates.count != 1 || stored.count != 1 || new.count != 1 || storedDates != newDates
    }
}

/// The beginning of a body that was found on disk.
struct PartialBeginning: Sendable {
    let head: PartialHead
    /// The bytes that need not be requested.
    let bytes: Data
    /// Whether the file ends with ``bytes``. Of a complete body, the last byte is requested again, since a range cannot
    /// be empty. The response shows whether the other bytes are still valid.
    let isExtensible: Bool

    /// - Parameter bytes: all bytes of the file; `nil` is returned if they are too few or too many.
    init?(head: PartialHead, stored bytes: Data) {
        let used = head.byteCount.map { min(bytes.count, Int(clamping: $0 - 1)) } ?? bytes.count
        guard used > 0, Int64(bytes.count) <= head.byteCount ?? .max else { return nil }
        self.head = head
        self.bytes = bytes.prefix(used)
        isExtensible = used == bytes.count
    }
}

extension [HTTPHeader] {
    /// Whether the content is not encoded, so that the body's bytes are those of the content.
    fileprivate var areOfUncodedContent: Bool {
        elements(ofFieldNamed: "Content-Encoding").allSatisfy { $0.lowercased() == "identity" }
    }

    /// The fields without those of a single message or connection, and without cookies, which must not be stored on
    /// disk.
    fileprivate var withoutMessageFields: [HTTPHeader] {
        withoutConnectionFields.filter {
            !["content-length", "content-range", "set-cookie"].contains($0.name.lowercased())
        }
    }
}

/// A validator that proves that two responses are parts of the same bytes (RFC 9110, 8.8.1).
struct StrongValidator: Equatable {
    let fieldName: String
    /// An entity tag with its quotation marks, or the date exactly as the server sent it: the value of `If-Range`.
    let fieldValue: String

    /// Returns the strong validator of a response; `nil` for a response without a strong one.
    ///
    /// A date does not count if there is an entity tag, even a weak one (13.1.5).
    init?(_ headers: [HTTPHeader]) {
        let tags = headers.values(named: "ETag")
        guard tags.isEmpty else {
            guard tags.count == 1, let tag = EntityTag(tags[0]), !tag.isWeak else { return nil }
            (fieldName, fieldValue) = ("ETag", tag.opaqueTag)
            return
        }
        let (dates, times) = (headers.values(named: "Last-Modified"), headers.values(named: "Date"))
        guard dates.count == 1, times.count == 1, let modified = HTTPDate.parse(dates[0]),
            let time = HTTPDate.parse(times[0]), time.timeIntervalSince(modified) >= Self.secondsUntilDatesAreStrong
        else { return nil }
        (fieldName, fieldValue) = ("Last-Modified", dates[0])
    }

    /// Files may change twice within the one-second resolution of dates. Section 8.8.2.2 considers one second
    /// sufficient if both dates are from the same clock, which cannot be known here. Its predecessor, RFC 7232,
    /// required a minute.
    private static let secondsUntilDatesAreStrong = 60.0

    /// Whether a response declares that it is part of the same bytes. A response without a validator does not, since
    /// its server may not support `If-Range`.
    func agrees(with headers: [HTTPHeader]) -> Bool {
        headers.values(named: fieldName).map(\.trimmingHTTPSpace) == [fieldValue]
    }
}
