public import FoundationEssentials
public import WebImageCore

/// What a cache of images answers.
public struct ImageCacheResult: Sendable {
    /// The picture; `nil` where only bytes were asked for.
    public var image: Image?
    /// What the bytes say about themselves; only where bytes were asked for in place of pixels
    /// (``ImageQueryOptions/decodesForDisplay``).
    public var info: ImageInfo?
    /// The bytes as they are stored; for a hit in memory those that the picture kept, which most don't.
    public var data: Data?
    /// Where it was.
    public var tier: CacheTier
    /// What was stored with it.
    public var extendedData: Data?
    /// What an HTTP policy remembers of the answer the bytes came with; `nil` for a hit in memory.
    public var responseMetadata: Data?

    /// Makes an answer.
    public init(
        image: Image? = nil, info: ImageInfo? = nil, data: Data? = nil, tier: CacheTier, extendedData: Data? = nil,
        responseMetadata: Data? = nil
    ) {
        self.image = image
        self.info = info
        self.data = data
        self.tier = tier
        self.extendedData = extendedData
        self.responseMetadata = responseMetadata
    }
}

/// How a cache of images looks for a picture.
public struct ImageQueryOptions: Sendable, Hashable {
    /// Whether bytes from the disk are decoded; `true` by default. If not, the answer has the bytes and what their header
    /// says, but no pixels, and nothing is put into memory. A picture that is in memory comes with its pixels all the same.
    public var decodesForDisplay: Bool
    /// Whether the picture may be animated; `true` by default. If not, it is the first frame: a still picture that has one
    /// frame and no data.
    public var allowsAnimated: Bool
    /// How urgent the decoding is. Of several that share one answer, the most urgent decides.
    public var priority: LoadPriority

    /// Makes options.
    public init(decodesForDisplay: Bool = true, allowsAnimated: Bool = true, priority: LoadPriority = .normal) {
        self.decodesForDisplay = decodesForDisplay
        self.allowsAnimated = allowsAnimated
        self.priority = priority
    }
}
