extension ImageCacheKey {
    /// How many other answers there may be beside an original: for requests that differ in what the server's Vary names.
    package static let alternateLimit = 8

    /// What the disk finds one of them by. No key's ``description`` has a `\` before a `v`.
    ///
    /// - Parameter name: what it finds the original by.
    package static func alternate(of name: String, _ slot: Int) -> String { "\(name)\\vary=\(slot)" }

    /// What the disk finds them by, if there are any; empty for a variant.
    package var alternates: [String] {
        guard variant == nil else { return [] }
        let name = description
        return (0..<Self.alternateLimit).map { Self.alternate(of: name, $0) }
    }
}
