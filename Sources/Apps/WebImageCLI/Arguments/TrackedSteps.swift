internal import WebImage

/// What is done to a decoded image, where its gain map has to follow.
struct TrackedSteps: Sendable {
    let processors: [ImageProcessor]
    /// Those of decoding the map.
    let limits: DecodingLimits
}
