internal import FoundationEssentials

/// A validator that proves that two responses are parts of the same bytes (RFC 9110, 8.8.1), sent in `If-Range`.
enum StrongValidator: Codable, Equatable {
    /// An entity tag with its quotation marks.
    case entityTag(String)
    /// The date exactly as the server sent it.
    case lastModified(String)

    /// Returns the strong validator of a response; `nil` if there is none.
    ///
    /// A date does not count if there is an entity tag, even a weak one (13.1.5).
    init?(_ headers: [HTTPField]) {
        let tags = headers.values(named: "ETag")
        guard tags.isEmpty else {
            guard tags.count == 1, let tag = EntityTag(tags[0]), !tag.isWeak else { return nil }
            self = .entityTag(tag.opaqueTag)
            return
        }
        let (dates, times) = (headers.values(named: "Last-Modified"), headers.values(named: "Date"))
        guard dates.count == 1, times.count == 1, let modified = HTTPDate.parse(dates[0]),
            let time = HTTPDate.parse(times[0]), time.timeIntervalSince(modified) >= Self.secondsUntilDatesAreStrong
        else { return nil }
        self = .lastModified(dates[0])
    }

    /// Files may change twice within the one-second resolution of dates. Section 8.8.2.2 considers one second
    /// sufficient if both dates are from the same clock, which cannot be known here. Its predecessor, RFC 7232,
    /// required a minute.
    private static let secondsUntilDatesAreStrong = 60.0

    /// The value of the `If-Range` field.
    var fieldValue: String {
        switch self {
        case .entityTag(let tag): tag
        case .lastModified(let date): date
        }
    }

    /// Whether a response declares that it is part of the same bytes. A response without a validator does not, since
    /// its server may not support `If-Range`.
    func agrees(with headers: [HTTPField]) -> Bool {
        switch self {
        case .entityTag(let tag):
            let tags = headers.values(named: "ETag")
            return tags.count == 1 && EntityTag(tags[0]).map { !$0.isWeak && $0.opaqueTag == tag } ?? false
        case .lastModified(let date):
            return headers.values(named: "Last-Modified") == [date]
        }
    }
}
