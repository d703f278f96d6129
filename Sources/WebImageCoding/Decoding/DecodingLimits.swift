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
    /// The most processor time, in seconds, of a decode, of all calls of an incremental decoder together, or of one frame of an
    /// animation; `nil` for any. It is looked at where ``DecodingOptions/cancellation`` is. Over it:
    /// ``WebImageError/decodingTimedOut(seconds:)``.
    public var seconds: Double?

    /// 100 megapixels (400 MB decoded), 100 scans, 50,000 frames and 1 GiB of them, 64 MiB beside the pictures: more than any
    /// camera's picture, less than a small server's memory. What photographs and layered drawings carry beside their
    /// pixels, such as previews and signed histories, comes to some tens of megabytes at the most. Time is not limited: the
    /// others bound it, to a few seconds, and how much is too much depends on the machine.
    public static let `default` = DecodingLimits()

    /// Makes limits; each is that of ``default`` unless said otherwise.
    public init(
        pixelCount: Int = 100_000_000, scanCount: Int = 100, frameCount: Int = 50_000,
        animationByteCount: Int = 1 << 30, metadataByteCount: Int = 64 << 20, seconds: Double? = nil
    ) {
        self.pixelCount = pixelCount
        self.scanCount = scanCount
        self.frameCount = frameCount
        self.animationByteCount = animationByteCount
        self.metadataByteCount = metadataByteCount
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
