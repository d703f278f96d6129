internal import CWebImageKernels
internal import CWebImageWebP
internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// Encodes pictures, or the frames of an animation, with libwebp.
struct WebPPictureEncoder {
    private var config = WebPConfig()
    private let cancellation: Cancellation?

    init(options: EncodingOptions) throws(WebImageError) {
        cancellation = options.cancellation
        guard WebPConfigInit(&config) != 0 else { throw Self.wrongVersion }
        config.method = Int32(options.webP.effort)
        config.quality = Float(options.quality * 100)
        if options.webP.isLossless {
            config.lossless = 1
            // In lossless pictures it is another kind of effort; these pairs are near those of libwebp's own presets.
            config.quality = [0, 20, 25, 50, 75, 90, 100][options.webP.effort]
        }
        config.alpha_quality = Int32((options.webP.alphaQuality * 100).rounded())
    }

    /// A whole file.
    func encode(_ pixels: PixelBuffer) throws(WebImageError) -> Data {
        guard max(pixels.width, pixels.height) <= Self.maximumDimension else {
            throw .encoding(
                format: .webp, reason: .tooLarge(pixels.size, maximumDimension: Self.maximumDimension))
        }
        var config = config
        var picture = WebPPicture()
        guard WebPPictureInit(&picture) != 0 else { throw Self.wrongVersion }
        picture.use_argb = config.lossless
        picture.width = Int32(pixels.width)
        picture.height = Int32(pixels.height)
        defer { WebPPictureFree(&picture) }
        try cancellation?.check()
        try load(pixels, into: &picture)

        var output = WebPMemoryWriter()
        WebPMemoryWriterInit(&output)
        let isEncoded = withUnsafeMutablePointer(to: &output) { output in
            picture.writer = WebPMemoryWrite
            picture.custom_ptr = UnsafeMutableRawPointer(output)
            guard let cancellation else { return WebPEncode(&config, &picture) != 0 }
            return withExtendedLifetime(cancellation) {
                picture.user_data = Unmanaged.passUnretained(cancellation).toOpaque()
                // libwebp returns through its callers and never jumps: a callback into Swift is safe.
                picture.progress_hook = { _, picture in
                    guard let flag = picture?.pointee.user_data else { return 1 }
                    return Unmanaged<Cancellation>.fromOpaque(flag).takeUnretainedValue().isCancelled ? 0 : 1
                }
                return WebPEncode(&config, &picture) != 0
            }
        }
        guard isEncoded, let bytes = output.mem else {
            WebPMemoryWriterClear(&output)
            if picture.error_code == VP8_ENC_ERROR_USER_ABORT { throw .cancelled }
            if [VP8_ENC_ERROR_OUT_OF_MEMORY, VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY].contains(picture.error_code) {
                throw .outOfMemory(byteCount: pixels.byteCount)
            }
            throw .encoding(format: .webp, reason: .codec("libwebp error \(picture.error_code.rawValue)"))
        }
        // libwebp's memory comes from malloc.
        return Data(bytesNoCopy: bytes, count: output.size, deallocator: .free)
    }

    private func load(_ pixels: PixelBuffer, into picture: inout WebPPicture) throws(WebImageError) {
        let source = pixels.baseAddress.assumingMemoryBound(to: UInt8.self)
        let isLoaded: Bool
        if pixels.isOpaque {
            isLoaded = WebPPictureImportRGBX(&picture, source, Int32(pixels.bytesPerRow)) != 0
        } else {
            var straight = try MutablePixelBuffer(width: pixels.width, height: pixels.height)
            let stride = straight.bytesPerRow
            isLoaded = straight.withUnsafeMutableBytes { bytes in
                guard let destination = bytes.bindMemory(to: UInt8.self).baseAddress else { return false }
                for row in 0..<pixels.height {
                    cwi_unpremultiply(source + row * pixels.bytesPerRow, destination + row * stride, pixels.width)
                }
                return WebPPictureImportRGBA(&picture, destination, Int32(stride)) != 0
            }
        }
        guard isLoaded else { throw .outOfMemory(byteCount: pixels.byteCount) }
    }

    private static let wrongVersion = WebImageError.encoding(
        format: .webp, reason: .codec("another version of libwebp"))
    static let maximumDimension = Int(WEBP_MAX_DIMENSION)
}
