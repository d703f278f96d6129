/// What tells one representation of a resource from the next: an ETag (RFC 9110, 8.8.3).
package struct EntityTag: Hashable, Sendable {
    /// With its quotation marks, and without the `W/`.
    package let opaqueTag: String
    /// Whether two with the same tag may differ in bytes, though not in meaning.
    package let isWeak: Bool

    /// `nil` for text that is no entity tag.
    package init?(_ text: String) {
        var text = text.trimmingHTTPSpace[...]
        isWeak = text.hasPrefix("W/")
        if isWeak { text = text.dropFirst(2) }
        guard text.utf8.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return nil }
        // Between the marks: anything that shows, but no further mark.
        guard text.dropFirst().dropLast().utf8.allSatisfy({ $0 == 0x21 || (0x23...0x7E).contains($0) || $0 >= 0x80 })
        else { return nil }
        opaqueTag = String(text)
    }

    /// As it is sent.
    package var description: String { (isWeak ? "W/" : "") + opaqueTag }

    /// Whether both stand for the same bytes: neither is weak.
    package func matchesStrongly(_ other: EntityTag) -> Bool { !isWeak && self == other }

    /// Whether both stand for the same content.
    package func matchesWeakly(_ other: EntityTag) -> Bool { opaqueTag == other.opaqueTag }
}
