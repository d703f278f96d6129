public import WebImageCore

/// How much a decoder takes on: a file of a few hundred bytes can claim four thousand megapixels.
///
/// A side above ``MutablePixelBuffer/maximumDimension``, which is fixed, is refused as well.
public struct DecodingLimits: Sendable, Hashable {
    /// The most pixels of one frame; checked before memory is taken for them. Over it:
    /// ``WebImageError/imageTooLarge(size:pixelLimit:)``.
    public var pixelCount: Int
    /// The most scans of one progressive JPEG; each costs a pass over the picture, and 88 KB can hold 8,000 of them.
    /// They are counted as they come, when memory for the coefficients is there already. Over it:
    /// ``WebImageError/tooManyScans(limit:)``.
    public var scanCount: Int
    /// The most frames of an animation: each is remembered while the file is read, and 12 bytes can be one. Over it:
    /// ``WebImageError/tooManyFrames(limit:)``.
    public var frameCount: Int
    /// The most bytes of the pixels that one play of an animation unpacks, 4 a pixel, each frame as large as it is stored: what
    /// a file can make a player work. Frames are not kept, so it is no bound on memory. Pictures of which only the first
    /// frame is wanted are free of it. Over it: ``WebImageError/animationTooLarge(byteCount:limit:)``.
    public var animationByteCount: Int
    /// The most bytes of all that a file holds beside its pictures: profiles, EXIF and XMP, texts, comments, all that stands
    /// before a JPEG's first scan, extensions of a GIF, chunks that nobody knows. Over it:
    /// ``WebImageError/metadataTooLarge(byteCount:limit:)``.
    ///
    /// They count as they are stored. Only a PNG's colour profile is ever unpacked; one that unpacks to more than this counts
    /// as none, as does every profile over 4 MiB.
    public var metadataByteCount: Int
    /// The most memory, in bytes, that decoding one file takes at a time: coefficients, the decoded pixels, resampling, color
    /// conversion and rotation, previews. Each decoder works out how much it needs at the most before it takes any.
    /// The file itself does not count, nor the animation and the preview that the caller keeps. libwebp's Huffman tables do not
    /// count either: a hostile lossless WebP may take some 330 MB more for them.
    ///
    /// An image takes 4 bytes a pixel. Color conversion and rotation take as much again each, because the input of each step is
    /// held until the last step is done: 12 bytes a pixel for an image that needs both. What the format's decoder holds at the
    /// same time is added.
    ///
    /// Near the limit there are no previews; then a thumbnail is made row by row, and the coefficients of a progressive JPEG
    /// are kept in a file without a name in `TMPDIR`, or in `/var/tmp` where `TMPDIR` is not set, can't be written, or is in
    /// memory. If neither directory can be written: ``WebImageError/temporaryFile(directory:errno:)``. Images that still do not
    /// fit are refused: ``WebImageError/decodingMemoryExceeded(byteCount:limit:)``.
    public var memoryByteCount: Int
    /// The most processor time, in seconds, of a decode, of all calls of an incremental decoder together, or of one frame of an
    /// animation; `nil` for any. It is looked at where ``DecodingOptions/cancellation`` is. Over it:
    /// ``WebImageError/decodingTimedOut(seconds:)``.
    public var seconds: Double?

    /// 100 megapixels (400 MB decoded), 100 scans, 50,000 frames and 1 GiB of them, 64 MiB beside the pictures, 1 GiB of memory.
    /// Every JPEG of 50 megapixels decodes whole. An image of more than about 85 megapixels that needs both color conversion and
    /// rotation is refused: see ``memoryByteCount``. What photographs and layered drawings
    /// carry beside their pixels, such as previews and signed histories, comes to some tens of megabytes at the most. Time is
    /// not limited: the others bound it, to a few seconds, and how much is too much depends on the machine.
    public static let `default` = DecodingLimits()

    /// For servers that decode files given by users: 256 MiB of memory, in which every JPEG of 50 megapixels becomes a
    /// thumbnail, and 10 s of processor time; otherwise the same as ``default``.
    public static let server = DecodingLimits(memoryByteCount: 256 << 20, seconds: 10)

    /// Makes limits; each is that of ``default`` unless said otherwise.
    public init(
        pixelCount: Int = 100_000_000, scanCount: Int = 100, frameCount: Int = 50_000,
        animationByteCount: Int = 1 << 30, metadataByteCount: Int = 64 << 20,
        memoryByteCount: Int = 1 << 30, seconds: Double? = nil
    ) {
        self.pixelCount = pixelCount
        self.scanCount = scanCount
        self.frameCount = frameCount
        self.animationByteCount = animationByteCount
        self.metadataByteCount = metadataByteCount
        self.memoryByteCount = memoryByteCount
        self.seconds = seconds
    }

    /// Throws ``WebImageError/imageTooLarge(size:pixelLimit:)`` if a picture of `size` is over a limit.
    public func check(_ size: PixelSize) throws(WebImageError) {
        let longestSide = max(size.width, size.height)
        guard size.pixelCount <= pixelCount, longestSide <= MutablePixelBuffer.maximumDimension else {
            throw .imageTooLarge(size: size, pixelLimit: pixelCount)
        }
    }

    /// Throws ``WebImageError/tooManyFrames(limit:)`` if an animation is over a limit; readers ask with each frame.
    func check(frameCount count: Int) throws(WebImageError) {
        if count > frameCount { throw .tooManyFrames(limit: frameCount) }
    }

    /// Throws ``WebImageError/metadataTooLarge(byteCount:limit:)`` if so many bytes beside the pictures are over a limit;
    /// readers ask as the bytes arrive.
    func check(metadataByteCount count: Int) throws(WebImageError) {
        if count > metadataByteCount { throw .metadataTooLarge(byteCount: count, limit: metadataByteCount) }
    }

    /// Throws ``WebImageError/animationTooLarge(byteCount:limit:)`` if the frames of an animation are over a limit.
    func check(_ parts: [FramePart]) throws(WebImageError) {
        // At most 50,000 times 2^32 by default; others are cut to what fits.
        let pixelCount = parts.reduce(0) { sum, part in
            let (total, overflows) = sum.addingReportingOverflow(part.size.pixelCount)
            return overflows ? .max : total
        }
        let (byteCount, overflows) = pixelCount.multipliedReportingOverflow(by: 4)
        guard !overflows, byteCount <= animationByteCount else {
            throw .animationTooLarge(byteCount: overflows ? .max : byteCount, limit: animationByteCount)
        }
    }
}
