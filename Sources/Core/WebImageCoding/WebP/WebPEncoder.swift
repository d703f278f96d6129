internal import CWebImageKernels
internal import CWebImageWebP
internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// Encodes WebP with libwebp, lossy or lossless.
///
/// Several frames become an animated WebP. Durations are multiples of 1 ms, from 11 ms to 16,777,215 ms.
struct WebPEncoder: StreamingEncoder {
    init() {}

    var format: ImageFormat { .webp }

    /// Maps ``EncodingOptions/quality`` to libwebp's 0 to 100; see ``EncodingOptions/libraryQuality(of:)``.
    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        let file = try WebPImageEncoder(options: options).encode(image.pixels)
        return try options.addingMetadata(to: file, image.pixels.size, as: .webp)
    }

    func encode(
        _ animation: EncodableAnimation, options: EncodingOptions
    ) throws(WebImageError) -> Data {
        guard animation.frames.count != 1 else { return try still(animation, options: options) }
        var writer = try written(animation, options: options, to: nil)
        return try writer.finish()
    }

    func encode(
        _ animation: EncodableAnimation, options: EncodingOptions, to file: UnfinishedFile
    ) throws(WebImageError) {
        var writer = try written(animation, options: options, to: file)
        try writer.finish(file)
    }

    private func reader(
        _ animation: EncodableAnimation, options: EncodingOptions
    ) throws(WebImageError) -> EncodableFrameReader {
        try EncodableFrameReader(
            animation, format: .webp, maximumDimension: WebPImageEncoder.maximumDimension,
            cancellation: options.cancellation)
    }

    private func still(_ animation: EncodableAnimation, options: EncodingOptions) throws(WebImageError) -> Data {
        var reader = try reader(animation, options: options)
        guard let frame = try reader.nextFrame() else { throw .invalidFrames(reason: .none) }
        return try encode(Image(pixels: frame), options: options)
    }

    /// Returns a writer with all frames.
    ///
    /// - Parameter file: gets the frames as they are encoded; `nil` to keep them in memory.
    private func written(
        _ animation: EncodableAnimation, options: EncodingOptions, to file: UnfinishedFile?
    ) throws(WebImageError) -> WebPAnimationWriter {
        var reader = try reader(animation, options: options)
        let encoder = try WebPImageEncoder(options: options)
        var differences = FrameDifferences(canErase: true, startsAtEvenPixels: true, options: options)
        var clock = FrameClock(unitsPerSecond: 1000, minimum: 11, maximum: 0xFF_FFFF)
        var writer: WebPAnimationWriter?
        var index = 0
        func append(_ patch: FramePatch) throws(WebImageError) {
            // Holes would add an alpha plane to a lossy image, and blur at their edges.
            let (pixels, blend) = try patch.pixels(
                mayBlend: options.isLossless, cancellation: options.cancellation)
            let milliseconds = clock.units(for: animation.frames[index].duration)
            if writer == nil {
                writer = try WebPAnimationWriter(
                    size: patch.frame.size, loopCount: animation.loopCount, options: options)
            }
            try writer?.append(encoder.encode(pixels), of: patch, blend: blend, milliseconds: milliseconds)
            if let file { try writer?.flush(to: file) }
            index += 1
        }
        while let frame = try reader.nextFrame() {
            if let patch = try differences.append(frame) { try append(patch) }
        }
        if let patch = differences.finish() { try append(patch) }
        guard let writer else { throw .invalidFrames(reason: .none) }
        return writer
    }
}

extension EncodingOptions.WebPPreset {
    /// libwebp's constant.
    fileprivate var number: CWebImageWebP.WebPPreset {
        switch self {
        case .standard: WEBP_PRESET_DEFAULT
        case .picture: WEBP_PRESET_PICTURE
        case .photo: WEBP_PRESET_PHOTO
        case .drawing: WEBP_PRESET_DRAWING
        case .icon: WEBP_PRESET_ICON
        case .text: WEBP_PRESET_TEXT
        }
    }
}

/// Encodes images or frames with libwebp.
struct WebPImageEncoder {
    private var config = WebPConfig()
    private let cancellation: Cancellation?

    init(options: EncodingOptions) throws(WebImageError) {
        cancellation = options.cancellation
        let quality = Float(options.libraryQuality(of: .webp))
        guard WebPConfigPreset(&config, options.webPPreset.number, quality) != 0 else { throw Self.wrongVersion }
        config.method = Int32(options.webPEffort)
        if options.isLossless {
            config.lossless = 1
            // For lossless images this is an effort; these pairs are close to libwebp's presets.
            config.quality = [0, 20, 25, 50, 75, 90, 100][options.webPEffort]
        }
        config.alpha_quality = Int32((options.alphaQuality * 100).rounded())
    }

    /// Returns a complete file.
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
                // libwebp returns through its callers and never jumps, so a callback into Swift is safe.
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
                throw .outOfResources(reason: .memory(byteCount: pixels.byteCount))
            }
            throw .encoding(format: .webp, reason: .codec("libwebp error \(picture.error_code.rawValue)"))
        }
        // libwebp allocates with malloc.
        return Data(bytesNoCopy: bytes, count: output.size, deallocator: .free)
    }

    private func load(_ pixels: PixelBuffer, into picture: inout WebPPicture) throws(WebImageError) {
        let isLoaded: Bool
        if pixels.isOpaque {
            isLoaded = WebPPictureImportRGBX(&picture, pixels.row(0), Int32(pixels.bytesPerRow)) != 0
        } else {
            let straight = try pixels.straight()
            isLoaded = WebPPictureImportRGBA(&picture, straight.row(0), Int32(straight.bytesPerRow)) != 0
            withExtendedLifetime(straight) {}
        }
        guard isLoaded else { throw .outOfResources(reason: .memory(byteCount: pixels.byteCount)) }
    }

    private static let wrongVersion = WebImageError.encoding(
        format: .webp, reason: .codec("an incompatible version of libwebp"))
    static let maximumDimension = Int(WEBP_MAX_DIMENSION)
}

/// Writes the chunks of an animated WebP (RFC 9649): see ``WebPFile`` for their order.
struct WebPAnimationWriter {
    private var file = WebPChunkWriter()
    private var flags = WebPChunkWriter.animationFlag
    /// What is written behind the frames.
    private let metadata: ImageMetadata

    /// - Parameters:
    ///   - loopCount: 0 means forever; stored in 16 bits.
    ///   - options: those with metadata and a profile.
    init(size: PixelSize, loopCount: Int, options: EncodingOptions) throws(WebImageError) {
        metadata =
            try options.metadata?.describing(size, as: .webp, isSRGB: options.colorProfile == nil) ?? ImageMetadata()
        // The flags are set at the end.
        file.append(
            "VP8X",
            [0, 0, 0, 0] + WebPChunkWriter.bytes(of: size.width - 1, 3)
                + WebPChunkWriter.bytes(of: size.height - 1, 3))
        if let profile = options.writtenProfile {
            flags |= WebPChunkWriter.profileFlag
            file.append("ICCP", profile)
        }
        // A transparent background.
        file.append("ANIM", [0, 0, 0, 0] + WebPChunkWriter.bytes(of: min(max(loopCount, 0), 0xFFFF), 2))
    }

    /// Appends a frame.
    ///
    /// - Parameter still: an encoded still image, whose chunks become the frame's.
    mutating func append(
        _ still: Data, of patch: FramePatch, blend: FramePart.Blend, milliseconds: Int
    ) throws(WebImageError) {
        let area = patch.area
        let numbers = [
            area.columns.lowerBound / 2, area.rows.lowerBound / 2, area.columns.count - 1, area.rows.count - 1,
            milliseconds,
        ]
        var content = numbers.flatMap { WebPChunkWriter.bytes(of: $0, 3) }
        content.append((blend == .source ? 2 : 0) | (patch.disposal == .clear ? 1 : 0))
        let stillHasAlpha = try WebPFile(reading: still.bytes).hasAlpha
        if stillHasAlpha || !patch.frame.isOpaque { flags |= WebPChunkWriter.alphaFlag }
        file.append("ANMF", content, Self.frameChunks(of: still))
    }

    /// Moves the chunks so far to a file.
    mutating func flush(to target: UnfinishedFile) throws(WebImageError) { try file.flush(to: target) }

    /// Returns the file.
    ///
    /// - Throws: ``WebImageError/encoding(format:reason:)`` if it is longer than 4 GiB.
    mutating func finish() throws(WebImageError) -> Data {
        appendMetadata()
        file.setFlags(flags)
        return try file.finish()
    }

    /// Completes a file that has the chunks so far.
    ///
    /// - Throws: as ``finish()``, and the errors of writing.
    mutating func finish(_ target: UnfinishedFile) throws(WebImageError) {
        appendMetadata()
        try file.flush(to: target)
        try WebPChunkWriter.complete(target, flags: flags)
    }

    private mutating func appendMetadata() {
        if let exif = metadata.exif {
            flags |= WebPChunkWriter.exifFlag
            file.append("EXIF", [], exif)
        }
        if let xmp = metadata.xmp {
            flags |= WebPChunkWriter.xmpFlag
            file.append("XMP ", [], xmp)
        }
    }

    /// Returns the chunks of a still image after its header: alpha, if any, and the image.
    private static func frameChunks(of still: Data) -> Data {
        let data = still.bytes
        guard data.hasText("VP8X", at: 12), let length = data.integer(at: 16, count: 4, isBigEndian: false) else {
            return still.dropFirst(12)
        }
        return still.dropFirst(20 + length + length % 2)
    }
}

/// Writes the chunks of a WebP.
struct WebPChunkWriter {
    private var file = Data("RIFF\0\0\0\0WEBP".utf8)

    /// Appends a chunk with the bytes of `content` and `rest`.
    mutating func append(_ name: String, _ content: [UInt8], _ rest: Data = Data()) {
        file.append(contentsOf: name.utf8)
        file.append(contentsOf: Self.bytes(of: content.count + rest.count, 4))
        file.append(contentsOf: content)
        file.append(rest)
        if (content.count + rest.count) % 2 == 1 { file.append(0) }
    }

    /// Appends chunks of another file.
    mutating func append(chunks: Data) { file.append(chunks) }

    /// Sets the flags of VP8X, the first chunk.
    mutating func setFlags(_ flags: UInt8) { file[Self.flagsOffset] = flags }

    /// Moves the bytes so far to a file.
    mutating func flush(to target: UnfinishedFile) throws(WebImageError) {
        try target.append(file)
        file = Data()
    }

    /// Sets the length and the flags of VP8X in a file that has all bytes.
    ///
    /// - Throws: ``WebImageError/encoding(format:reason:)`` if it is longer than 4 GiB, and the errors of writing.
    static func complete(_ target: UnfinishedFile, flags: UInt8) throws(WebImageError) {
        try check(byteCount: target.byteCount)
        try target.overwrite(Data(bytes(of: target.byteCount - 8, 4)), at: 4)
        try target.overwrite(Data([flags]), at: flagsOffset)
    }

    /// Returns the file.
    ///
    /// - Throws: ``WebImageError/encoding(format:reason:)`` if it is longer than 4 GiB.
    mutating func finish() throws(WebImageError) -> Data {
        try Self.check(byteCount: file.count)
        file.replaceSubrange(4..<8, with: Self.bytes(of: file.count - 8, 4))
        return file
    }

    private static func check(byteCount: Int) throws(WebImageError) {
        guard byteCount <= UInt32.max - 1 else {
            throw .encoding(format: .webp, reason: .tooLong(byteCount: byteCount, limit: Int(UInt32.max - 1)))
        }
    }

    private static let flagsOffset = 20

    /// Little-endian.
    static func bytes(of number: Int, _ count: Int) -> [UInt8] { number.littleEndianBytes(count) }

    static let animationFlag: UInt8 = 0x02
    static let xmpFlag: UInt8 = 0x04
    static let exifFlag: UInt8 = 0x08
    static let alphaFlag: UInt8 = 0x10
    static let profileFlag: UInt8 = 0x20
}
