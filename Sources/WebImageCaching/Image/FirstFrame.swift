internal import WebImageCore

extension ImageCacheKey {
    /// The key of the picture's first frame as a still picture: a variant of its own, so that whoever wants no animation does
    /// not take it from those who do.
    var firstFrame: ImageCacheKey {
        ImageCacheKey(source: source, variant: variant.map { "\($0)&first-frame" } ?? "first-frame")
    }
}

extension Image {
    /// Whether it has frames after the first: with it, or in its file.
    var isAnimated: Bool { frameCount > 1 || animation != nil }

    /// The first frame as a still picture, which shares the pixels.
    var firstFrame: Image {
        guard isAnimated else { return self }
        var still = self
        still.frameCount = 1
        still.data = nil
        still.animation = nil
        return still
    }
}
