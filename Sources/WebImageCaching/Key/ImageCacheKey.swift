/// What a picture is found by: where its bytes come from, and what was made of them.
///
/// A variant never takes the place of the original: their keys differ, in memory and on disk.
public struct ImageCacheKey: Sendable, Hashable, CustomStringConvertible {
    /// The absolute URL (or whatever stands for it).
    public var source: String
    /// What distinguishes this picture from the original as decoded whole, such as a thumbnail's size; `nil` for the
    /// original.
    public var variant: String?

    /// Makes a key.
    public init(source: String, variant: String? = nil) {
        self.source = source
        self.variant = variant
    }

    /// The key of the bytes as they came.
    public var original: ImageCacheKey { ImageCacheKey(source: source) }

    /// `source`, or `source#variant`.
    public var description: String { variant.map { "\(source)#\($0)" } ?? source }
}
