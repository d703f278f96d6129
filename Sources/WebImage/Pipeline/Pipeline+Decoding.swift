import FoundationEssentials
import WebImageCoding
import WebImageCore

extension Pipeline {
    /// What `bytes` are to become for `context`; blocks.
    func picture(
        of bytes: LoadedBytes, _ context: LoadContext, options: DecodingOptions
    ) throws(WebImageError) -> (image: Image, info: ImageInfo?) {
        if context.request.options.contains(.ignoreDecoding) {
            let info = try codecs.info(of: bytes.data)
            try options.limits.check(info.size)
            return (try Self.standIn(for: bytes.data, info), info)
        }
        return (try wholePicture(of: bytes.data, context, options: options), nil)
    }

    /// The pixels of `data`, and those of all frames where the request wants them now; blocks.
    func wholePicture(
        of data: Data, _ context: LoadContext, options: DecodingOptions
    ) throws(WebImageError) -> Image {
        let image = try codecs.decode(data, options: options)
        let preloads =
            context.request.options.contains(.preloadAllFrames)
            && !context.request.options.contains(.firstFrameOnly)
        return preloads ? try image.preloadingFrames(cancellation: options.cancellation) : image
    }

    /// A picture that says what the file is, and shows nothing.
    private static func standIn(for data: Data, _ info: ImageInfo) throws(WebImageError) -> Image {
        var pixel = try MutablePixelBuffer(width: 1, height: 1)
        pixel.withUnsafeMutableBytes { bytes in _ = bytes.initializeMemory(as: UInt8.self, repeating: 0) }
        return Image(
            pixels: pixel.freeze(isOpaque: false), format: info.format, frameCount: info.frameCount, data: data,
            isPartial: true)
    }
}
