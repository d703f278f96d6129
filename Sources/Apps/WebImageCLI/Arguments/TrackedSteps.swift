internal import FoundationEssentials
internal import WebImage

/// What is done to a decoded image, where its gain map has to follow.
struct TrackedSteps: Sendable {
    private let processors: [ImageProcessor]
    /// Those of decoding the map.
    private let limits: DecodingLimits

    init(_ processors: [ImageProcessor], limits: DecodingLimits) {
        (self.processors, self.limits) = (processors, limits)
    }

    /// Returns the processed image, and the gain map that is right for it.
    ///
    /// - Parameter original: the file of the image; `nil` to look for no map.
    func result(
        of image: Image, original: Data?, codecs: CodecRegistry
    ) throws(WebImageError) -> (Image, GainMap?) {
        var geometry: ImageGeometry? = ImageGeometry()
        let image = try image.processed(by: processors, tracking: &geometry)
        guard let original, let geometry else { return (image, nil) }
        let map = try codecs.gainMap(
            of: original, codecs.info(of: original), for: image, showing: geometry,
            options: DecodingOptions(limits: limits))
        return (image, map)
    }
}
