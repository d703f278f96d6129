public import FoundationEssentials
internal import Glibc
public import WebImageCore

/// A decoder that finds gain maps.
package protocol GainMapDecoder: ImageDecoder {
    /// Returns the gain map of a file; `nil` without one that can be read.
    ///
    /// - Throws: ``WebImageError/decoding(format:reason:url:)`` if the image itself cannot be read.
    func gainMap(of data: Data) throws(WebImageError) -> StoredGainMap?
}

extension CodecRegistry {
    /// Decodes the gain map of a file whose image is decoded in sRGB, as by ``decode(_:options:)``. `nil` without one, for an animation, for an
    /// image in HDR, and for a map that is damaged or beyond the limits. Blocks the calling thread.
    ///
    /// ```swift
    /// var options = EncodingOptions(quality: 0.9)
    /// options.gainMap = try CodecRegistry.shared.gainMap(of: data)
    /// let file = try CodecRegistry.shared.encode(photo, as: .jpeg, options: options)
    /// ```
    ///
    /// - Parameters:
    ///   - data: a JPEG, AVIF or HEIC.
    ///   - limits: those on time and memory.
    ///   - cancellation: ends the work; `nil`, the default, for none.
    /// - Throws: the errors of ``info(of:limits:cancellation:)``.
    public func gainMap(
        of data: Data, limits: DecodingLimits = .default, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> GainMap? {
        let info = try info(of: data, limits: limits, cancellation: cancellation)
        return try gainMap(of: data, info, options: DecodingOptions(limits: limits, cancellation: cancellation))
    }

    /// Decodes the gain map of a file whose image was decoded in sRGB; `nil` without one that is right for that image. A map that is damaged or
    /// beyond the limits counts as none.
    ///
    /// - Throws: ``WebImageError/cancelled``, and what keeps decoders from working.
    func gainMap(
        of data: Data, _ info: ImageInfo, options: DecodingOptions
    ) throws(WebImageError) -> GainMap? {
        guard info.hasGainMap, info.frameCount == 1, !info.isHDR,
            let decoder = decoder(of: info.format)?
                .limited(to: options.limits, cancellation: options.cancellation) as? any GainMapDecoder
        else { return nil }
        do throws(WebImageError) {
            guard let stored = try decoder.gainMap(of: data), stored.metadata.brightens else { return nil }
            var mapOptions = DecodingOptions(
                firstFrameOnly: true, allowsDamage: false, limits: options.limits, cancellation: options.cancellation)
            mapOptions.priority = options.priority
            return try GainMap(stored, decode(stored.file, options: mapOptions), imageSize: info.size)
        } catch .decoding, .limitExceeded, .unrecognizedFormat {
            return nil
        }
    }

    /// Returns `file`, which is `image`, with a gain map, or without it where the format has none.
    func adding(
        _ map: GainMap, to file: Data, of image: Image, by encoder: any ImageEncoder, _ options: EncodingOptions
    ) throws(WebImageError) -> Data {
        // Behind transparent pixels is something that the map knows nothing of.
        guard GainMap.formats.contains(encoder.format), encoder.format == .avif || image.pixels.isOpaque else {
            return file
        }
        let size = image.pixels.size
        let map =
            size == map.imageSize
            ? map : try map.following(ImageGeometry(), to: size, cancellation: options.cancellation)
        var own = EncodingOptions(quality: options.quality, cancellation: options.cancellation)
        (own.isLossless, own.speed, own.optimizesHuffmanCodes) = (
            options.isLossless, options.speed, options.optimizesHuffmanCodes
        )
        own.qualityScale = options.qualityScale
        own.chroma = map.isGray ? .gray : .full
        let mapFile = try encoder.encode(Image(pixels: map.pixels), options: own)
        return encoder.format == .jpeg
            ? try map.added(toJPEG: file, mapFile) : try map.added(toAVIF: file, mapFile) ?? file
    }
}

extension ImageGeometry {
    /// Decodes the gain map of a file, and returns that of the image that shows this part of it; `nil` without one, and for an animation.
    ///
    /// - Parameters:
    ///   - info: of the file.
    ///   - image: made of the file's image.
    /// - Throws: ``WebImageError/cancelled``, and what keeps decoders from working.
    package func gainMap(
        of data: Data, _ info: ImageInfo, for image: Image, by codecs: CodecRegistry, options: DecodingOptions
    ) throws(WebImageError) -> GainMap? {
        guard image.animation == nil else { return nil }
        return try codecs.gainMap(of: data, info, options: options)?
            .following(self, to: image.pixels.size, cancellation: options.cancellation)
    }
}
