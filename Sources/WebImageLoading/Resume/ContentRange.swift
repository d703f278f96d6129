/// The range of a body in a partial response: `bytes 100-199/200` (RFC 9110, 14.4).
struct ContentRange: Equatable {
    /// The positions of the first and last byte, starting at 0.
    let first: Int64, last: Int64
    /// The length of the whole body; `nil` if the server does not know it.
    let totalByteCount: Int64?

    /// Parses a byte range; `nil` for other units and invalid ranges.
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

    /// Accepts only digits, since `Int64` also accepts a sign. Returns `nil` for numbers that overflow.
    private static func number(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text)
    }
}
