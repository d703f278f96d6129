internal import CWebImageKernels
internal import CWebImageWebP
public import FoundationEssentials
internal import Glibc
public import WebImageCore

/// Writes lossy WebP with libwebp; alpha is kept without loss.
public struct WebPEncoder: ImageEncoder {
    /// Makes an encoder.
    public init() {}

    /// ``ImageFormat/webp``.
    public var format: ImageFormat { .webp }

    /// Encodes the picture. ``EncodingOptions/quality`` 0 to 1 becomes libwebp's 0 to 100.
    public func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        let pixels = image.pixels
        let maximumDimension = Int(WEBP_MAX_DIMENSION)
        guard max(pixels.width, pixels.height) <= maximumDimension else {
            throw .encoding(format: .webp, reason: .tooLarge(pixels.size, maximumDimension: maximumDimension))
        }
        var config = WebPConfig()
        var picture = WebPPicture()
        guard WebPConfigInit(&config) != 0, WebPPictureInit(&picture) != 0 else {
            throw .encoding(format: .webp, reason: .codec("another version of libwebp"))
        }
        config.quality = Float(options.quality * 100)
        picture.width = Int32(pixels.width)
        picture.height = Int32(pixels.height)
        defer { WebPPictureFree(&picture) }
        try load(pixels, into: &picture)

        var output = WebPMemoryWriter()
        WebPMemoryWriterInit(&output)
        let isEncoded = withUnsafeMutablePointer(to: &output) { output in
            picture.writer = WebPMemoryWrite
            picture.custom_ptr = UnsafeMutableRawPointer(output)
            guard let cancellation = options.cancellation else { return WebPEncode(&config, &picture) != 0 }
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
            try options.cancellation?.check()
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
}
