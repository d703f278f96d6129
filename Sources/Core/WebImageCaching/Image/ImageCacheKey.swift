/// Identifies a cached image by its source and its variant.
///
/// ```swift
/// let key = ImageCacheKey(source: "drawing/1")
/// await ImageCache.shared.store(image, data: data, for: key)
/// ```
///
/// A text is a key wherever one is taken: ``source`` of an original.
///
/// ```swift
/// await ImageCache.shared.store(image, for: "drawing/1")
/// let stored = await ImageCache.shared.image(for: "drawing/\(number)")
/// ```
///
/// A variant never replaces the original, since their keys differ, in memory and on disk. Keys are compared by their
/// bytes, so texts that are only canonically equivalent in Unicode are different keys.
public struct ImageCacheKey: Sendable, Hashable, CustomStringConvertible {
    /// The absolute URL without its fragment, or the text that a cache key filter returned for it.
    public var source: String {
        didSet { hashValue = Self.hashValue(source, variant) }
    }
    /// The difference of this image from the fully decoded original, such as a thumbnail's size; `nil` for the
    /// original.
    public var variant: String? {
        didSet { hashValue = Self.hashValue(source, variant) }
    }
    /// The hash of both parts, computed once: a request looks its key up several times.
    public private(set) var hashValue: Int

    /// Creates a key.
    public init(source: String, variant: String? = nil) {
        self.source = source
        self.variant = variant
        hashValue = Self.hashValue(source, variant)
    }

    /// The key of the original bytes.
    public var original: ImageCacheKey { variant == nil ? self : ImageCacheKey(source: source) }

    /// Compares bytes.
    public static func == (first: ImageCacheKey, second: ImageCacheKey) -> Bool {
        guard first.hashValue == second.hashValue, first.source.hasSameBytes(as: second.source) else { return false }
        guard let variant = first.variant, let other = second.variant else {
            return first.variant == nil && second.variant == nil
        }
        return variant.hasSameBytes(as: other)
    }

    /// Feeds the hash of both parts to `hasher`.
    public func hash(into hasher: inout Hasher) { hasher.combine(hashValue) }

    private static func hashValue(_ source: String, _ variant: String?) -> Int {
        var hasher = Hasher()
        hasher.combine(source)
        if let variant { hasher.combine(variant) }
        return hasher.finalize()
    }
}

extension ImageCacheKey: ExpressibleByStringInterpolation {
    /// Creates the key of an original from its ``source``.
    public init(stringLiteral source: String) { self.init(source: source) }
}

extension ImageCacheKey {
    /// The key of the first frame as a still image. It is a separate variant, so that requests for still images do not
    /// replace the animation.
    var firstFrame: ImageCacheKey {
        ImageCacheKey(source: source, variant: variant.map { "\($0)&first-frame" } ?? "first-frame")
    }

    /// The maximum number of responses stored in addition to the latest one, if they differ by `Vary`.
    public static let alternateLimit = 8

    /// The key of another response for the same original, which `Vary` distinguishes from the latest.
    func alternate(_ slot: Int) -> ImageCacheKey { ImageCacheKey(source: source, variant: "vary=\(slot)") }

    /// The keys of all other responses for the URL that may be stored, which `Vary` distinguishes from the latest; empty for a key with a
    /// ``variant``.
    public var alternates: [ImageCacheKey] {
        variant == nil ? (0..<Self.alternateLimit).map(alternate) : []
    }
}
