import WebImageCoding
import WebImageCore

/// How a request's bytes become its picture, as far as the cache key does not tell: requests that differ in it get what one
/// key stands for, but not from the same work.
struct DecodingManner: Hashable, Sendable {
    var previews: PreviewStyle?
    var isUndecoded = false
    var queriesVariantOnDisk = false
    var storesVariantOnDisk = false
    var damage: DecodingOptions.Damage?
    var limits: DecodingLimits?
}

extension LoadContext {
    var manner: DecodingManner {
        var manner = DecodingManner(
            previews: request.options.previews, isUndecoded: request.options.contains(.ignoreDecoding))
        guard !request.hasStandardDetails else { return manner }
        manner.queriesVariantOnDisk = queriesVariantOnDisk
        manner.storesVariantOnDisk = storesVariantOnDisk
        manner.damage = request.details.damage
        manner.limits = request.details.decodingLimits
        return manner
    }

    /// What the decoder is asked for.
    func decodingOptions(
        _ pipeline: Pipeline, damage: DecodingOptions.Damage, cancellation: Cancellation
    ) -> DecodingOptions {
        DecodingOptions(
            thumbnail: request.thumbnail, byteLimit: request.pixelByteLimit, scale: request.resolvedScale,
            firstFrameOnly: request.options.contains(.firstFrameOnly), damage: damage,
            limits: request.box?.details.decodingLimits ?? pipeline.decodingLimits, cancellation: cancellation)
    }
}
