internal import WebImage

/// The steps after decoding, which the image's gain map has to follow.
struct TrackedSteps: Sendable {
    let processors: [ImageProcessor]
    /// Those of decoding the map.
    let limits: DecodingLimits
}
