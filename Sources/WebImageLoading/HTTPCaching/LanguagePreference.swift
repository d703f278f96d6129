/// One element of an `Accept-Language` field (RFC 9110, 12.5.4), such as `de-CH;q=0.8`.
struct LanguagePreference: Hashable {
    /// In lower case: case has no meaning in language tags (RFC 5646, 2.1.1).
    let range: String
    /// In thousandths, 0 to 1000.
    let weight: Int

    /// `nil` for an element of another form.
    init?(_ element: String) {
        let parts = element.split(separator: ";", omittingEmptySubsequences: false)
            .map { String($0).trimmingHTTPSpace.lowercased() }
        guard parts.count <= 2, let range = parts.first, !range.isEmpty else { return nil }
        self.range = range
        guard parts.count == 2 else {
            weight = 1000
            return
        }
        guard parts[1].hasPrefix("q="), let weight = Self.weight(parts[1].dropFirst(2)) else { return nil }
        self.weight = weight
    }

    /// One text for all fields that ask for the same: case, spaces and the form of weights make no difference, nor does the
    /// order of the elements, which states no preference by the standard. A field of another form stays as it is.
    static func normalized(_ elements: [String]) -> String {
        let preferences = elements.compactMap(LanguagePreference.init)
        guard preferences.count == elements.count else { return elements.joined(separator: ",") }
        return preferences.sorted { ($1.weight, $0.range) < ($0.weight, $1.range) }
            .map(\.text).joined(separator: ",")
    }

    /// Of weights 1 is left out, and others have three decimals.
    private var text: String {
        guard weight < 1000 else { return range }
        let decimals = String(weight)
        return "\(range);q=0." + String(repeating: "0", count: 3 - decimals.utf8.count) + decimals
    }

    /// `0`, `1`, or one of them with up to three decimals (RFC 9110, 12.4.2), in thousandths.
    private static func weight(_ text: Substring) -> Int? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let decimals = parts.count == 2 ? parts[1] : ""
        guard ["0", "1"].contains(parts[0]), decimals.utf8.count <= 3,
            decimals.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let thousandths = Int(decimals + String(repeating: "0", count: 3 - decimals.utf8.count))
        else { return nil }
        let weight = (parts[0] == "1" ? 1000 : 0) + thousandths
        return weight <= 1000 ? weight : nil
    }
}
