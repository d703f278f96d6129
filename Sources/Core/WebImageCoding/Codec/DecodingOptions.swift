internal import FoundationEssentials
public import WebImageCore

/// How an image is decoded.
///
/// ```swift
/// let options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: 320, height: 240)), firstFrameOnly: true)
/// let image = try CodecRegistry.shared.decode(data, options: options)
/// ```
public struct DecodingOptions: Sendable {
    /// The size of the result; `nil`, the default, decodes every pixel.
    public var thumbnail: Thumbnail?
    /// The part to decode, in pixels of the upright image at its full size; `nil`, the default, decodes all of it. What is
    /// outside the image is left out.
    ///
    /// ``thumbnail`` and ``byteLimit`` apply to the part. JPEG and PNG hold the rows of the part only, so that a part of an
    /// image can be decoded that is too large for memory. The coefficients of a progressive JPEG are held as described at
    /// ``DecodingLimits/memoryByteCount``. TIFF takes the memory of the part, and of a row of strips or tiles. Other formats, lossless JPEG, and
    /// interlaced and animated PNG are decoded as a whole, and cropped.
    /// Incremental decoders and animations ignore it.
    ///
    /// ```swift
    /// var options = DecodingOptions()
    /// options.region = PixelRect(x: 8_000, y: 6_000, width: 1_024, height: 1_024)
    /// let tile = try CodecRegistry.shared.decode(data, options: options)
    /// ```
    ///
    /// A region with no pixel of the image throws ``WebImageError/DecodingFailure/unsupported(_:)``.
    public var region: PixelRect?
    /// The index of an image in a file with several, such as the sizes of an icon; `nil`, the default, is the one that
    /// suits the requested size best: the smallest with enough pixels, else the largest.
    public var page: Int?
    /// The maximum size of decoded pixels in bytes, 4 a pixel; larger images are scaled down proportionally. `nil`, the
    /// default, means no limit.
    public var byteLimit: Int?
    /// Pixels per point of the result; 1 by default.
    public var scale: Double
    /// Whether to decode only the first frame of an animation; otherwise the result has an
    /// ``Image/animation``. `false` by default.
    public var firstFrameOnly: Bool
    /// Whether truncated and damaged files are decoded up to the damage, as browsers do; `true` by default.
    ///
    /// The result has the rows before the damage (of a progressive image, the detail) and
    /// ``Image/isPartial`` set. Decoding throws if there are none, or if this is `false`.
    public var allowsDamage: Bool
    /// The limits above which files are refused.
    public var limits: DecodingLimits
    /// Polled while decoding; set it to stop.
    public var cancellation: Cancellation?
    /// Which image gets a decoder process first, if all are busy.
    public var priority = LoadPriority.normal
    /// Whether the colors of an RGB profile are kept instead of converted to sRGB, for a file that gets the same profile:
    /// see ``CodecRegistry/keptProfile(of:limits:)``. `false` by default. Custom decoders and those of GIF and icons convert them nevertheless.
    public var keepsColors = false
    /// Whether lossy WebP is decoded without the filter that smooths the edges of blocks: in a tenth less time, but blocks show at low quality.
    /// `false` by default.
    public var bypassesWebPFilter = false
    /// The identity of the animations decoded with these options; `nil` for a new one each time. An incremental decoder
    /// sets it to mark its animations as versions of the same one.
    var animationIdentity: AnimationIdentity?
    /// Shared by all decodes of the process; tests replace it.
    var budget = DecodingBudget.shared
    /// The directories for JPEG coefficients that do not fit in memory, in order of preference; tests replace it.
    var spoolDirectories: [String]?

    /// Creates options; the defaults decode the whole image.
    public init(
        thumbnail: Thumbnail? = nil, byteLimit: Int? = nil, scale: Double = 1, firstFrameOnly: Bool = false,
        allowsDamage: Bool = true, limits: DecodingLimits = .default, cancellation: Cancellation? = nil
    ) {
        self.thumbnail = thumbnail
        self.byteLimit = byteLimit
        self.scale = scale
        self.firstFrameOnly = firstFrameOnly
        self.allowsDamage = allowsDamage
        self.limits = limits
        self.cancellation = cancellation
    }

    /// Returns the size of the result for a file whose image has `size`, with orientation applied: as ``thumbnail`` and
    /// ``byteLimit`` ask, and never larger.
    public func targetSize(of size: PixelSize) -> PixelSize {
        let target = thumbnail?.targetSize(of: size) ?? size
        return byteLimit.map { target.scaledDown(toPixelCount: $0 / 4) } ?? target
    }

    /// Throws ``WebImageError/cancelled`` once ``cancellation`` is set.
    public func checkCancellation() throws(WebImageError) { try cancellation?.check() }
}

/// Limits that protect against hostile files: a few hundred bytes can claim four thousand megapixels.
///
/// ```swift
/// var limits = DecodingLimits.default
/// limits.pixelCount = 50_000_000
/// limits.processorTime = .seconds(5)
/// var request = WebImageRequest(url)
/// request.decodingLimits = limits
/// ```
///
/// Sides above 65,535 pixels are refused as well.
public struct DecodingLimits: Codable, Sendable, Hashable {
    /// The maximum number of pixels of one frame, checked before memory is allocated; 100 million by default. Exceeding
    /// it throws ``WebImageError/LimitFailure/pixels(size:limit:)``.
    public var pixelCount: Int
    /// The maximum number of scans of a progressive JPEG; 100 by default. Each scan is a pass over the image, and 88 KB
    /// can hold 8,000. Scans are counted as they are decoded, after the coefficients are allocated. Exceeding it throws
    /// ``WebImageError/LimitFailure/scans(limit:)``.
    public var scanCount: Int
    /// The maximum number of frames of an animation; 50,000 by default. A frame can take as little as 12 bytes of a
    /// file. Exceeding it throws ``WebImageError/LimitFailure/frames(limit:)``.
    public var frameCount: Int
    /// The maximum size of decoded pixels in bytes in one play of an animation, 4 a pixel, each frame at its stored
    /// size; 1 GiB by default. It limits the work of a player, not memory: decoded frames are not all kept. Not checked
    /// with ``DecodingOptions/firstFrameOnly``. Exceeding it throws ``WebImageError/LimitFailure/animation(byteCount:limit:)``.
    public var animationByteCount: Int
    /// The maximum size in bytes of everything in a file that is not image data: profiles, EXIF, XMP, text, comments,
    /// everything before a JPEG's first scan, GIF extensions, unknown chunks. 64 MiB by default. Exceeding it throws
    /// ``WebImageError/LimitFailure/metadata(byteCount:limit:)``.
    ///
    /// Counts bytes as stored. Only a PNG's color profile is decompressed; if the result exceeds this limit, or 4 MiB,
    /// the profile is ignored.
    public var metadataByteCount: Int
    /// The maximum memory, in bytes, of one decode: coefficients, pixels, resampling, color conversion, rotation,
    /// previews. 1 GiB by default. Each decoder computes its maximum before it allocates. Not counted: the file itself,
    /// the animation and preview that the caller holds, and libwebp's Huffman tables, for which a hostile lossless WebP
    /// may take 330 MB more.
    ///
    /// An image takes 4 bytes a pixel. Color conversion and rotation take as much again each, because the input of each
    /// step is held until the last step is done: 12 bytes a pixel for an image that needs both. The memory of the
    /// format's decoder is added.
    ///
    /// Near the limit there are no previews. Next, above 512 MiB too, thumbnails are made row by row. Finally, the
    /// coefficients of a progressive JPEG go to an unnamed file in `TMPDIR`, or in `/var/tmp` if `TMPDIR` is not set,
    /// is not writable, or is in memory; for a decoder process, the program creates it. If neither is writable,
    /// decoding throws ``WebImageError/ResourceFailure/temporaryFile(directory:errno:)``. Images that still do not fit
    /// throw ``WebImageError/LimitFailure/memory(byteCount:limit:)``.
    public var memoryByteCount: Int
    /// The maximum processor time of a decode, of all calls of an incremental decoder, of one frame of an animation, or of reading a header or
    /// metadata; 10 s by default. `nil` means no limit. Exceeding it throws ``WebImageError/LimitFailure/processorTime(limit:)``.
    ///
    /// Decoders of this package and custom ones stop at the next check of ``DecodingOptions/cancellation``. A custom decoder that never
    /// checks it is not stopped, and frames of its animations have no limit. A decoder process is ended by the kernel, up to 2 s later, and the time of all its threads counts. It is
    /// also ended after twice this time and a second by the clock, waiting included.
    public var processorTime: Duration?

    /// The default limits: 100 megapixels, 100 scans, 50,000 frames, 1 GiB of frames, 64 MiB of metadata, 1 GiB of
    /// memory, and 10 s. Every JPEG of 50 megapixels decodes at full size. An image of more than about 85
    /// megapixels that needs both color conversion and rotation is refused: see ``memoryByteCount``.
    public static let `default` = DecodingLimits()

    /// Limits for servers that decode user uploads: 256 MiB of memory, enough to make a thumbnail of any 50-megapixel
    /// JPEG, and 5 s. The others are the same as in ``default``.
    public static let server = DecodingLimits(memoryByteCount: 256 << 20, processorTime: .seconds(5))

    init(
        pixelCount: Int = 100_000_000, scanCount: Int = 100, frameCount: Int = 50_000,
        animationByteCount: Int = 1 << 30, metadataByteCount: Int = 64 << 20,
        memoryByteCount: Int = 1 << 30, processorTime: Duration? = .seconds(10)
    ) {
        self.pixelCount = pixelCount
        self.scanCount = scanCount
        self.frameCount = frameCount
        self.animationByteCount = animationByteCount
        self.metadataByteCount = metadataByteCount
        self.memoryByteCount = memoryByteCount
        self.processorTime = processorTime
    }

    /// Throws ``WebImageError/LimitFailure/pixels(size:limit:)`` if an image of `size` is over a limit.
    public func check(_ size: PixelSize) throws(WebImageError) {
        let longestSide = max(size.width, size.height)
        guard size.pixelCount <= pixelCount, longestSide <= PixelSize.maximumDimension else {
            throw .limitExceeded(reason: .pixels(size: size, limit: pixelCount))
        }
    }

    /// Throws ``WebImageError/LimitFailure/frames(limit:)`` if an animation with `count` frames is over the limit.
    public func check(frameCount count: Int) throws(WebImageError) {
        if count > frameCount { throw .limitExceeded(reason: .frames(limit: frameCount)) }
    }

    func check(metadataByteCount count: Int) throws(WebImageError) {
        if count > metadataByteCount {
            throw .limitExceeded(reason: .metadata(byteCount: count, limit: metadataByteCount))
        }
    }

    /// Throws ``WebImageError/LimitFailure/animation(byteCount:limit:)`` if the frames of an animation are over the
    /// limit.
    public func check(frameSizes: some Sequence<PixelSize>) throws(WebImageError) {
        // With custom limits the sum can overflow.
        let pixelCount = frameSizes.reduce(0) { sum, size in
            let (total, overflows) = sum.addingReportingOverflow(size.pixelCount)
            return overflows ? .max : total
        }
        let (byteCount, overflows) = pixelCount.multipliedReportingOverflow(by: 4)
        try check(animationByteCount: overflows ? .max : byteCount)
    }

    func check(animationByteCount count: Int) throws(WebImageError) {
        guard count <= animationByteCount else {
            throw .limitExceeded(reason: .animation(byteCount: count, limit: animationByteCount))
        }
    }
}
