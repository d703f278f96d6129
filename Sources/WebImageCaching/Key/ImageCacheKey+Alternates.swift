extension ImageCacheKey {
    /// How many other answers there may be beside an original: for requests that differ in what the server's Vary names.
    package static let alternateLimit = 8

    /// What the disk finds one of them by.
    ///
    /// - Parameter name: what it finds the original by.
    package static func alternate(of name: String, _ slot: Int) -> String { "\(name)|vary=\(slot)" }

    /// What the disk finds them by, if there are any; empty for a variant.
    package var alternates: [String] {
        variant == nil ? (0..<Self.alternateLimit).map { Self.alternate(of: source, $0) } : []
    }
}
