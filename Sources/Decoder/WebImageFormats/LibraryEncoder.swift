internal import CWebImageFormats
internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

/// Encodes one format with its library.
struct LibraryEncoder: ImageEncoder {
    let library: LibraryFormat

    init(_ library: LibraryFormat) { self.library = library }

    var format: ImageFormat { library.format }

    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        let writer = try LibraryWriter(
            library, size: image.pixels.size, hasAlpha: !image.pixels.isOpaque, frameCount: 1, loopCount: 0,
            options: options)
        try writer.append(image.pixels, milliseconds: 0)
        return try writer.finish()
    }
}

/// Encodes stills and animations. Durations are whole milliseconds.
struct LibraryAnimationEncoder: AnimationEncoder {
    private let stills: LibraryEncoder

    init(_ library: LibraryFormat) { stills = LibraryEncoder(library) }

    var format: ImageFormat { stills.format }

    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        try stills.encode(image, options: options)
    }

    func encode(_ animation: EncodableAnimation, options: EncodingOptions) throws(WebImageError) -> Data {
        var reader = try EncodableFrameReader(
            animation, format: format, maximumDimension: PixelSize.maximumDimension,
            cancellation: options.cancellation)
        var clock = FrameClock(unitsPerSecond: 1000, minimum: 11, maximum: Int(Int32.max))
        var writer: LibraryWriter?
        var index = 0
        while let pixels = try reader.nextFrame() {
            if writer == nil {
                writer = try LibraryWriter(
                    stills.library, size: pixels.size, hasAlpha: animation.mayHaveAlpha,
                    frameCount: animation.frames.count, loopCount: animation.loopCount, options: options)
            }
            try writer?.append(pixels, milliseconds: clock.units(for: animation.frames[index].duration))
            index += 1
        }
        guard let writer else { throw .invalidFrames(reason: .none) }
        return try writer.finish()
    }
}

/// A file that a library writes. Used by one thread.
private final class LibraryWriter {
    private let library: LibraryFormat
    private let handle: OpaquePointer
    private let cancellation: Cancellation?
    private let metadata: ImageMetadata?
    /// For a TIFF: the others get it with the pixels, or name their color space.
    private let profile: [UInt8]?
    /// EXIF, XMP and the profile, to which the library has pointers.
    private let metadataBytes: UnsafeMutableBufferPointer<UInt8>

    init(
        _ library: LibraryFormat, size: PixelSize, hasAlpha: Bool, frameCount: Int, loopCount: Int,
        options: EncodingOptions
    ) throws(WebImageError) {
        try options.cancellation?.check()
        var encoding = cwi_encoding()
        encoding.width = UInt32(size.width)
        encoding.height = UInt32(size.height)
        encoding.has_alpha = hasAlpha
        encoding.is_lossless = options.isLossless
        encoding.quality = options.libraryQuality(of: library.format).rounded()
        encoding.has_full_chroma = options.hasFullChroma
        encoding.alpha_quality = (options.alphaQuality * 100).rounded()
        encoding.speed = Int32(options.speed)
        encoding.thread_count = Int32(DecodingQueue.threadCount(forEachOf: 1))
        encoding.frame_count = Int32(clamping: frameCount)
        encoding.loop_count = Int32(clamping: max(0, loopCount))
        let metadata = try options.metadata?.describing(size, as: library.format, isSRGB: options.colorProfile == nil)
        let (exif, xmp) = library == .tiff ? (nil, nil) : (metadata?.exif, metadata?.xmp)
        let profileBytes = library == .tiff ? [] : options.colorProfile?.bytes ?? []
        let metadataBytes = UnsafeMutableBufferPointer<UInt8>.allocate(
            capacity: (exif?.count ?? 0) + (xmp?.count ?? 0) + profileBytes.count)
        _ = metadataBytes.initialize(fromContentsOf: Array((exif ?? Data()) + (xmp ?? Data())) + profileBytes)
        if let exif, let start = metadataBytes.baseAddress {
            (encoding.exif, encoding.exif_length) = (UnsafePointer(start), exif.count)
        }
        if let xmp, let start = metadataBytes.baseAddress {
            (encoding.xmp, encoding.xmp_length) = (UnsafePointer(start + (exif?.count ?? 0)), xmp.count)
        }
        if !profileBytes.isEmpty, let start = metadataBytes.baseAddress {
            let offset = (exif?.count ?? 0) + (xmp?.count ?? 0)
            (encoding.profile, encoding.profile_length) = (UnsafePointer(start + offset), profileBytes.count)
        }
        (self.metadata, self.metadataBytes) = (metadata, metadataBytes)
        profile = options.writtenProfile
        var handle: OpaquePointer?
        let result = cwi_encoder_open(library.library, &encoding, &handle)
        try result.check(encoding: library.format, size: size)
        guard let handle else { throw .encoding(format: library.format, reason: .codec("no encoder")) }
        self.library = library
        self.handle = handle
        cancellation = options.cancellation
    }

    deinit {
        cwi_encoder_close(handle)
        metadataBytes.deallocate()
    }

    func append(_ pixels: PixelBuffer, milliseconds: Int) throws(WebImageError) {
        try cancellation?.check()
        let straight = pixels.isOpaque ? pixels : try pixels.straight()
        let result = cwi_encoder_add(
            handle, straight.row(0), straight.bytesPerRow, Int32(clamping: milliseconds))
        withExtendedLifetime(straight) {}
        try result.check(encoding: library.format, size: pixels.size)
    }

    func finish() throws(WebImageError) -> Data {
        try cancellation?.check()
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        let result = cwi_encoder_finish(handle, &bytes, &count)
        try result.check(encoding: library.format, size: PixelSize(width: 0, height: 0))
        guard let bytes else { throw .encoding(format: library.format, reason: .codec("no output")) }
        let file = Data(bytesNoCopy: bytes, count: count, deallocator: .free)
        guard library == .tiff, metadata != nil || profile != nil else { return file }
        return (metadata ?? ImageMetadata()).added(toTIFF: file, profile: profile)
    }
}

extension cwi_result {
    fileprivate func check(encoding format: ImageFormat, size: PixelSize) throws(WebImageError) {
        switch status {
        case CWI_OK: return
        case CWI_NO_LIBRARY: throw .isolation(format: format, reason: .unavailable(text))
        case CWI_NO_MEMORY: throw .outOfResources(reason: .memory(byteCount: size.pixelByteCount))
        default: throw .encoding(format: format, reason: .codec(text))
        }
    }
}
