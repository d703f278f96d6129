internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

/// The watermark of a service, decoded at its first use.
final class WatermarkImage: Sendable {
    private let data: Data
    private let image = Lock<Image?>(nil)
    private let opacity: Double
    /// Of its bytes and its opacity.
    let id: String

    /// - Parameter opacity: 0 to 1, of which that of each path is a share.
    init(_ data: Data, opacity: Double) {
        (self.data, self.opacity) = (data, min(max(opacity, 0), 1))
        id = "watermark-\(SHA256.hexDigest(of: [UInt8](data)).prefix(16))-\(self.opacity)"
    }

    func mark(
        _ codecs: CodecRegistry, _ limits: DecodingLimits, _ cancellation: Cancellation
    ) throws(WebImageError) -> RecipeSteps.Mark {
        if let image = image.withLock({ $0 }) { return RecipeSteps.Mark(image: image, id: id, opacity: opacity) }
        let options = DecodingOptions(
            firstFrameOnly: true, allowsDamage: false, limits: limits, cancellation: cancellation)
        let decoded = try codecs.decode(data, options: options)
        image.withLock { $0 = decoded }
        return RecipeSteps.Mark(image: decoded, id: id, opacity: opacity)
    }
}
