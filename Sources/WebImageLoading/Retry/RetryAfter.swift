package import FoundationEssentials

/// How long a server asks to be left alone (RFC 9110, 10.2.3).
package enum RetryAfter {
    /// What the answer's `Retry-After` says, in seconds or as a date; `nil` without one, and for one that is neither.
    ///
    /// A date is compared with the answer's own `Date`, if it has one: the server's clock need not be ours.
    package static func delay(of response: LoaderResponse, now: Date) -> Duration? {
        guard let text = response.headerValue("Retry-After") else { return nil }
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return .seconds(Int64(text) ?? .max / 1000)
        }
        guard let date = HTTPDate.parse(text, now: now) else { return nil }
        let sent = response.headerValue("Date").flatMap { HTTPDate.parse($0, now: now) } ?? now
        return .seconds(max(0, date.timeIntervalSince(sent)))
    }
}
