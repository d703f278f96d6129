internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

extension ImageCache {
    /// The bytes that stand for a picture on disk.
    ///
    /// Bytes that are there are taken as they are: `data`, or those the picture kept. Only a picture without is encoded.
    func bytes(of image: Image, data: Data?, for key: ImageCacheKey) throws(WebImageError) -> Data {
        let bytes = data ?? image.originalData
        if let serialized = configuration.serializer?(image, bytes, key) { return serialized }
        if let bytes { return bytes }
        return try encoded(image)
    }

    /// In the picture's own format where that can be written and holds it, else PNG if pixels may be transparent or
    /// it moves, else JPEG.
    private func encoded(_ image: Image) throws(WebImageError) -> Data {
        let options = EncodingOptions(quality: configuration.encodingQuality)
        if let format = image.format, holds(image, format) {
            do throws(WebImageError) {
                return try configuration.codecs.encode(image, as: format, options: options)
            } catch .encoding(_, let reason) where reason.isAboutFormat {
                // Another format may do.
            }
        }
        let needsPNG = !image.pixels.isOpaque || image.animation != nil
        return try configuration.codecs.encode(image, as: needsPNG ? .png : .jpeg, options: options)
    }

    /// JPEG has no alpha; GIF has few colours, and only for what moves nothing better.
    private func holds(_ image: Image, _ format: ImageFormat) -> Bool {
        switch format {
        case .jpeg: image.pixels.isOpaque
        case .gif: image.animation != nil
        default: true
        }
    }
}

extension Image {
    /// The bytes it kept, with all frames of an animation; `nil` where they are not its own, but those of the original that it
    /// was made of.
    var originalData: Data? { isThumbnail || isTransformed ? nil : data }
}

extension WebImageError.EncodingFailure {
    /// Whether another format may hold the picture.
    fileprivate var isAboutFormat: Bool {
        switch self {
        case .noEncoder, .tooLarge, .noAnimation: true
        case .noFrames, .duration, .frameSize, .frameNumber, .tooLong, .codec: false
        }
    }
}
