/// Which bytes of a body an answer brings: `bytes 100-199/200` (RFC 9110, 14.4).
struct ContentRange: Equatable {
    /// The places of its first and last byte, counted from 0.
    let first: Int64, last: Int64
    /// The length of the whole body; `nil` where the server does not know it.
    let totalByteCount: Int64?

    /// `nil` for what is no range of bytes, or an impossible one.
    init?(_ text: String) {
        let words = text.trimmingHTTPSpace.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = String(words[1]).trimmingHTTPSpace.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last else {
            return nil
        }
        if parts[1] == "*" {
            totalByteCount = nil
        } else {
            guard let total = Self.number(parts[1]), last < total else { return nil }
            totalByteCount = total
        }
        (self.first, self.last) = (first, last)
    }

    /// Digits alone: `Int64` would take a sign as well. `nil` also for numbers that do not fit.
    private static func number(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text)
    }
}
