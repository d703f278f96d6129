internal import FoundationEssentials

/// What proves that two answers are parts of the same bytes (RFC 9110, 8.8.1), as it is sent in `If-Range`.
enum StrongValidator: Codable, Equatable {
    /// With its quotation marks.
    case entityTag(String)
    /// The date in the server's own words.
    case lastModified(String)

    /// The validator of an answer; `nil` where it has none that is strong.
    ///
    /// A date is none beside an entity tag, however weak that is (13.1.5).
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

    /// Files may change twice within the second that a date can tell. 8.8.2.2 takes one second for enough where both dates
    /// come from one clock, which can't be known here; a minute is what its predecessor, RFC 7232, asked for.
    private static let secondsUntilDatesAreStrong = 60.0

    /// The value of `If-Range`.
    var fieldValue: String {
        switch self {
        case .entityTag(let tag): tag
        case .lastModified(let date): date
        }
    }

    /// Whether an answer says of itself that it is part of the same bytes. One that says nothing does not: its server may
    /// not know `If-Range`.
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
