package import FoundationEssentials

/// The time after which a server accepts another request (RFC 9110, 10.2.3).
package enum RetryAfter {
    /// Returns the delay from the response's `Retry-After` field, in seconds or as a date; `nil` if it is missing or
    /// invalid.
    ///
    /// A date is compared with the response's `Date` field if there is one, since the server's clock may differ.
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
