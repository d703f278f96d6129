internal import FoundationEssentials
internal import SystemText
internal import WebImageCore
internal import WebImageLoading

/// The answer with a result: whole, a part, or nothing if the client has it.
struct ResultAnswer {
    let request: ServiceRequest
    let order: Order
    let result: StoredResult
    let origin: ResultStore.Origin
    let now: Date
    /// That of an answer with the whole result.
    var status = 200
    /// How long clients may use it at most, in seconds; `nil` for its whole lifetime.
    var longestLifetime: Int?

    var answer: ServiceAnswer {
        let fields = commonFields
        let count = result.body.count
        // An answer with the status of an error has no conditions and no parts.
        if (200..<300).contains(status) {
            guard meetsPreconditions else { return Self.withoutBody(412, fields) }
            if isCurrent {
                var answer = ServiceAnswer(status: 304, headers: fields)
                answer.unsentByteCount = count
                return answer
            }
        }
        var status = status
        var own: [HTTPHeader] = [HTTPHeader(name: "Content-Type", value: result.head.contentType)]
        own.add("Content-Disposition", disposition)
        own.add("X-Content-Type-Options", "nosniff")
        // A browser shows an SVG as a document, which can contain programs, forms, and addresses of other servers.
        own.add("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
        own.add("Accept-Ranges", "bytes")
        var range = 0..<count
        switch status == 200 ? requestedRange : .whole {
        case .whole: break
        case .part(let part):
            (status, range) = (206, part)
            own.add("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(count)")
        case .unsatisfiable:
            return Self.withoutBody(416, fields + [HTTPHeader(name: "Content-Range", value: "bytes */\(count)")])
        }
        own.add("Content-Length", "\(range.count)")
        let body = request.method == "HEAD" ? ServiceAnswer.Body(Data()) : result.body[range]
        return ServiceAnswer(status: status, headers: fields + own, body: body)
    }

    /// An answer that holds for this request only: no cache may send it to others.
    private static func withoutBody(_ status: Int, _ fields: [HTTPHeader]) -> ServiceAnswer {
        var fields = fields.filter { !$0.isNamed("Cache-Control") }
        fields.add("Cache-Control", "no-store")
        fields.add("Content-Length", "0")
        return ServiceAnswer(status: status, headers: fields)
    }

    private var tag: String { "\"\(result.head.tag)\"" }
    /// `nil` for a result that is not stored: the next one is made at another time, also of the same bytes.
    private var modified: Date? { isStored ? Date(timeIntervalSince1970: result.head.modified) : nil }
    private var isStored: Bool { result.head.isStorable && result.isFresh(at: now) }

    /// The fields that a 304 has, too.
    private var commonFields: [HTTPHeader] {
        var fields: [HTTPHeader] = []
        fields.add("ETag", tag)
        if let modified { fields.add("Last-Modified", HTTPDate.format(modified)) }
        fields.add("Cache-Control", result.head.isStorable ? "public, max-age=\(remainingSeconds)" : "no-store")
        if !order.varyingFields.isEmpty { fields.add("Vary", order.varyingFields.joined(separator: ", ")) }
        // Browsers send hints only to servers that want them.
        if order.varyingFields.contains("Sec-CH-DPR") { fields.add("Accept-CH", "Sec-CH-DPR, Sec-CH-Width") }
        fields.add("Cache-Status", cacheStatus)
        return fields
    }

    private var remainingSeconds: Int {
        var end = result.head.expires
        if let expires = order.delivery.expires { end = min(end, Double(expires)) }
        let seconds = max(0, Int(min((end - now.timeIntervalSince1970).rounded(), 1e10)))
        return min(seconds, longestLifetime ?? seconds)
    }

    /// RFC 9211.
    private var cacheStatus: String {
        switch origin {
        case .memory, .disk, .shared: "webimage; hit; ttl=\(remainingSeconds); detail=\(origin.rawValue)"
        case .made: "webimage; fwd=uri-miss" + storing
        case .renewed: "webimage; fwd=stale" + storing
        case .joined: "webimage; fwd=uri-miss; collapsed"
        case .joinedRenewal: "webimage; fwd=stale; collapsed"
        }
    }

    private var storing: String { isStored ? "; stored" : "" }

    // MARK: Conditions (RFC 9110, 13)

    /// Whether the result is the one that the client means. Comes before the other conditions.
    private var meetsPreconditions: Bool {
        // Weak tags are equal to none.
        if let tags = request.header("If-Match") { return tags.listElements.contains { $0 == "*" || $0 == tag } }
        guard let modified else { return true }
        return date(in: "If-Unmodified-Since").map { modified <= $0 } ?? true
    }

    /// Whether the client has the result.
    private var isCurrent: Bool {
        if let tags = request.header("If-None-Match") { return Self.list(tags, contains: tag) }
        guard let modified else { return false }
        return date(in: "If-Modified-Since").map { modified <= $0 } ?? false
    }

    /// `nil` for a missing or an invalid one.
    private func date(in field: String) -> Date? {
        request.header(field).flatMap { HTTPDate.parse($0, now: now) }
    }

    private static func list(_ list: String, contains tag: String) -> Bool {
        list.listElements.contains { item in
            // A weak comparison ignores the mark of weak tags.
            item == "*" || (item.hasPrefix("W/") ? item.dropFirst(2) : item[...]) == tag
        }
    }

    private enum RequestedRange { case whole, part(Range<Int>), unsatisfiable }

    /// Several ranges at once count as none, as a server may decide.
    private var requestedRange: RequestedRange {
        guard request.method == "GET", let text = request.header("Range"), text.hasPrefix("bytes="), mayBePartial else {
            return .whole
        }
        let count = result.body.count
        let bounds = text.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2, bounds.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }) else {
            return .whole
        }
        switch (Int(bounds[0]), Int(bounds[1])) {
        case (let first?, let last):
            guard bounds[1].isEmpty || last.map({ $0 >= first }) ?? true else { return .whole }
            guard first < count else { return .unsatisfiable }
            return .part(first..<min(count, (last ?? count - 1).advancedSaturating()))
        case (nil, let length?) where bounds[0].isEmpty:
            guard length > 0, count > 0 else { return .unsatisfiable }
            return .part(max(0, count - length)..<count)
        default: return .whole
        }
    }

    /// Whether the part that the client has is of this result. A date is no answer: two results can be made in one second.
    private var mayBePartial: Bool { request.header("If-Range").map { $0 == tag } ?? true }

    // MARK: File names

    /// RFC 6266, with the name in ASCII and as it is.
    private var disposition: String {
        let kind = order.delivery.isAttachment ? "attachment" : "inline"
        let name = fileName + "." + result.head.fileExtension
        let plain = name.unicodeScalars.map { scalar in
            scalar.isASCII && scalar.value >= 0x20 && scalar.value != 0x7F && !"\"\\%".unicodeScalars.contains(scalar)
                ? Character(scalar) : "_"
        }
        var text = "\(kind); filename=\"\(String(plain))\""
        if !name.utf8.allSatisfy({ $0 < 0x80 }) { text += "; filename*=UTF-8''" + name.utf8.percentEncoded() }
        return text
    }

    /// Without its extension.
    private var fileName: String {
        var name = order.delivery.fileName ?? ""
        if name.isEmpty {
            name = order.url.lastPathComponent
            if let dot = name.lastIndex(of: "."), dot != name.startIndex { name = String(name[..<dot]) }
        }
        name = String(
            String.UnicodeScalarView(name.unicodeScalars.filter { $0.value >= 0x20 && $0 != "/" && $0.value != 0x7F }))
        return name.isEmpty || name == "." ? "image" : String(name.prefix(128))
    }
}

extension Int {
    fileprivate func advancedSaturating() -> Int { self == .max ? self : self + 1 }
}
