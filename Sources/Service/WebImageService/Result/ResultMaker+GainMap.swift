internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

extension ResultMaker {
    /// Returns the gain map that is right for a result; `nil` if the source has none, or if something was done that it cannot follow.
    ///
    /// - Parameter geometry: which part of the source the result shows.
    func gainMap(
        of source: Data, _ info: ImageInfo, for image: Image, _ geometry: ImageGeometry?, _ cancellation: Cancellation
    ) throws(WebImageError) -> GainMap? {
        guard let geometry else { return nil }
        return try geometry.gainMap(
            of: source, info, for: image, by: codecs,
            options: DecodingOptions(limits: limits.decoding, cancellation: cancellation))
    }
}

extension Recipe {
    /// Whether a result can have the source's gain map. Pixels that hide something must not be seen in the map, and an embedded thumbnail may
    /// be another picture.
    var mayKeepGainMap: Bool { keepsGainMap && pixelSize <= 1 && !usesEmbeddedThumbnail }
}
