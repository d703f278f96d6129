internal import CWebImageKernels
internal import CWebImageWebP
public import FoundationEssentials
public import WebImageCore

/// Reads WebP with libwebp: lossy and lossless, with and without alpha; of an animation the first frame, on a clear
/// canvas.
public struct WebPDecoder: ImageDecoder {
    /// Makes a decoder.
    public init() {}

    /// ``ImageFormat/webp``.
    public var format: ImageFormat { .webp }

    /// Reads the header and hops over the other chunks.
    public func info(of data: Data) throws(WebImageError) -> ImageInfo {
        let file = try WebPFile(reading: data.bytes)
        let isAnimation = file.frames.count > 1
        return ImageInfo(
            format: .webp, size: file.orientation.upright(file.size), frameCount: max(1, file.frames.count),
            loopCount: isAnimation ? file.loopCount : nil,
            frameDurations: isAnimation ? file.frames.map(\.duration) : [], hasAlpha: file.hasAlpha,
            orientation: file.orientation, hasColorProfile: file.hasColorProfile,
            colorProfileName: file.colorProfile(in: data.bytes)?.name)
    }

    /// Decodes the picture and resamples it to the size wanted. libwebp could scale by itself, but no faster and with
    /// a coarser filter.
    public func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        let bytes = data.bytes
        let file = try WebPFile(reading: bytes)
        let plan = try DecodingPlan(
            storedSize: file.size, orientation: file.orientation, colors: file.colorConversion(in: bytes),
            options: options)
        guard file.isComplete else { throw .decoding(format: .webp, reason: .truncated) }
        let pixels: PixelBuffer
        if file.isAnimation {
            guard let frame = file.frames.first, frame.content.upperBound <= bytes.byteCount else {
                throw .decoding(format: .webp, reason: .corrupt("an animation without a whole frame"))
            }
            pixels = try canvas(
                of: file.size, with: bytes.extracting(frame.content), left: frame.left, top: frame.top,
                frameSize: frame.size, options: options)
        } else {
            pixels = try canvas(
                of: file.size, with: bytes, left: 0, top: 0, frameSize: file.size, options: options)
        }
        return try plan.image(of: pixels, format: .webp, frameCount: max(1, file.frames.count))
    }

    /// A canvas with one picture on it, clear around it.
    private func canvas(
        of size: PixelSize, with content: RawSpan, left: Int, top: Int, frameSize: PixelSize, options: DecodingOptions
    ) throws(WebImageError) -> PixelBuffer {
        guard left + frameSize.width <= size.width, top + frameSize.height <= size.height else {
            throw .decoding(format: .webp, reason: .corrupt("a frame outside its canvas"))
        }
        var buffer = try MutablePixelBuffer(width: size.width, height: size.height)
        if frameSize != size { try buffer.clear(cancellation: options.cancellation) }
        let stride = buffer.bytesPerRow
        let isOpaque = try buffer.withUnsafeMutableBytes { (canvas) throws(WebImageError) in
            let frame = UnsafeMutableRawBufferPointer(rebasing: canvas[(top * stride + left * 4)...])
            try content.withUnsafeBytes { (bytes) throws(WebImageError) in
                try Self.decode(bytes, size: frameSize, into: frame, stride: stride, options: options)
            }
            guard let pixels = canvas.bindMemory(to: UInt8.self).baseAddress else { return false }
            var isOpaque = true
            try size.forEachRowBatch(cancellation: options.cancellation) { rows in
                isOpaque = isOpaque && cwi_is_opaque(pixels + rows.lowerBound * stride, rows.count * size.width)
            }
            return isOpaque
        }
        return buffer.freeze(isOpaque: isOpaque)
    }

    /// Hands libwebp the data in pieces, to look at the cancellation flag in between; it decodes as far as it can, which
    /// may be far: 38 bytes of lossless data can stand for 99 megapixels, and it cannot be interrupted.
    private static func decode(
        _ bytes: UnsafeRawBufferPointer, size: PixelSize, into pixels: UnsafeMutableRawBufferPointer, stride: Int,
        options: DecodingOptions
    ) throws(WebImageError) {
        var config = WebPDecoderConfig()
        guard let data = bytes.bindMemory(to: UInt8.self).baseAddress,
            let start = pixels.bindMemory(to: UInt8.self).baseAddress, WebPInitDecoderConfig(&config) != 0
        else { throw .decoding(format: .webp, reason: .truncated) }
        let status = WebPGetFeatures(data, bytes.count, &config.input)
        guard status == VP8_STATUS_OK else { throw WebImageError(status) }
        guard Int(config.input.width) == size.width, Int(config.input.height) == size.height else {
            throw .decoding(format: .webp, reason: .corrupt("two sizes for one frame"))
        }
        config.output.colorspace = MODE_rgbA
        config.output.is_external_memory = 1
        config.output.u.RGBA = WebPRGBABuffer(rgba: start, stride: Int32(stride), size: pixels.count)
        // The decoder keeps the address of `config`.
        try withUnsafeMutablePointer(to: &config) { (config) throws(WebImageError) in
            guard let decoder = WebPIDecode(nil, 0, config) else { throw .outOfMemory(byteCount: pixels.count) }
            defer { WebPIDelete(decoder) }
            let step = max(4096, bytes.count / 64)
            var available = 0
            while true {
                try options.checkCancellation()
                available = min(available + step, bytes.count)
                let status = WebPIUpdate(decoder, data, available)
                if status == VP8_STATUS_OK { return }
                guard status == VP8_STATUS_SUSPENDED, available < bytes.count else { throw WebImageError(status) }
            }
        }
    }
}
