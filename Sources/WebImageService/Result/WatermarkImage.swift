internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

/// The watermark of a service, decoded at its first use.
final class WatermarkImage: Sendable {
    private let data: Data
    private let image = Lock<Image?>(nil)
    /// Of its bytes.
    let id: String

    init(_ data: Data) {
        self.data = data
        id = "watermark-" + SHA256.hexDigest(of: [UInt8](data)).prefix(16)
    }

    func mark(
        _ codecs: CodecRegistry, _ limits: DecodingLimits, _ cancellation: Cancellation
    ) throws(WebImageError) -> RecipeSteps.Mark {
        if let image = image.withLock({ $0 }) { return RecipeSteps.Mark(image: image, id: id) }
        let options = DecodingOptions(
            firstFrameOnly: true, allowsDamage: false, limits: limits, cancellation: cancellation)
        let decoded = try codecs.decode(data, options: options)
        image.withLock { $0 = decoded }
        return RecipeSteps.Mark(image: decoded, id: id)
    }
}
