internal import WebImageCore

/// What an image is found by: where its bytes come from, and what was made of them.
///
/// A variant never takes the place of the original: their keys differ, in memory and on disk. Keys compare by their bytes,
/// so that texts which only Unicode calls equivalent are different keys.
public struct ImageCacheKey: Sendable, Hashable, CustomStringConvertible {
    /// The absolute URL without its fragment (or whatever stands for it).
    public var source: String
    /// What distinguishes this image from the original as decoded whole, such as a thumbnail's size; `nil` for the
    /// original.
    public var variant: String?

    /// Makes a key.
    public init(source: String, variant: String? = nil) {
        self.source = source
        self.variant = variant
    }

    /// The key of the bytes as they came.
    public var original: ImageCacheKey { ImageCacheKey(source: source) }

    /// Whether both have the same bytes.
    public static func == (first: ImageCacheKey, second: ImageCacheKey) -> Bool {
        guard first.source.hasSameBytes(as: second.source) else { return false }
        guard let variant = first.variant, let other = second.variant else {
            return first.variant == nil && second.variant == nil
        }
        return variant.hasSameBytes(as: other)
    }

    /// Feeds both parts to the hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(source)
        hasher.combine(variant)
    }
}
