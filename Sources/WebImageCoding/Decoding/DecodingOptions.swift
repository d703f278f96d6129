internal import FoundationEssentials
public import WebImageCore

/// What a decoder is asked for.
public struct DecodingOptions: Sendable {
    /// The size wanted; `nil`, the default, decodes every pixel.
    public var thumbnail: Thumbnail?
    /// The most bytes that the decoded pixels may take, 4 a pixel; a picture that would take more is scaled down,
    /// keeping its proportions. `nil`, the default, for any number.
    public var byteLimit: Int?
    /// Pixels in a point of the result; 1 by default.
    public var scale: Double
    /// Whether the first frame of a moving picture is enough; if not, the picture has an
    /// ``WebImageCore/Image/animation``. `false` by default.
    public var firstFrameOnly: Bool
    /// What to do with a file that ends early, or is damaged behind its first rows.
    public var damage: Damage
    /// What to refuse.
    public var limits: DecodingLimits
    /// Polled while decoding; set it to stop.
    public var cancellation: Cancellation?
    /// That of the animations made with these options; `nil` for a new one each time. An incremental decoder has one, so
    /// that its animations are known to be versions of one file's.
    var animationIdentity: AnimationIdentity?
    /// What all decodes of the process share; tests have their own.
    package var budget = DecodingBudget.shared
    /// The directories to try, in their order, for the coefficients of a JPEG that do not fit into memory; tests have their own.
    var spoolDirectories: [String]?

    /// Makes options; the defaults decode the whole picture.
    public init(
        thumbnail: Thumbnail? = nil, byteLimit: Int? = nil, scale: Double = 1, firstFrameOnly: Bool = false,
        damage: Damage = .showGoodPart,
        limits: DecodingLimits = .default, cancellation: Cancellation? = nil
    ) {
        self.thumbnail = thumbnail
        self.byteLimit = byteLimit
        self.scale = scale
        self.firstFrameOnly = firstFrameOnly
        self.damage = damage
        self.limits = limits
        self.cancellation = cancellation
    }

    /// What becomes of a damaged file.
    public enum Damage: Sendable, Hashable {
        /// The rows (or, of a progressive picture, the detail) before the damage, as browsers show them, with
        /// ``WebImageCore/Image/isPartial`` set; an error where there are none.
        case showGoodPart
        /// An error.
        case refuse
    }

    /// Throws ``WebImageError/cancelled`` once ``cancellation`` is set.
    public func checkCancellation() throws(WebImageError) { try cancellation?.check() }
}

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

extension DecodingLimits {
    /// Calls `body` with a flag that is set when `cancellation` is and, if time is limited, ends the work when it is over.
    ///
    /// What has such a flag already is a part of larger work, which has the limit.
    func withTimeLimit<Result>(
        _ cancellation: Cancellation?, _ body: (Cancellation?) throws(WebImageError) -> Result
    ) throws(WebImageError) -> Result {
        guard let seconds, cancellation?.budget == nil else { return try body(cancellation) }
        let budget = TimeBudget(seconds: seconds)
        return try budget.running { () throws(WebImageError) in try body(Cancellation(cancellation, within: budget)) }
    }
}

extension DecodingOptions {
    /// Calls `body` with options that also end the work when its time is over.
    func withTimeLimit<Result>(
        _ body: (DecodingOptions) throws(WebImageError) -> Result
    ) throws(WebImageError) -> Result {
        try limits.withTimeLimit(cancellation) { (cancellation) throws(WebImageError) in
            var options = self
            options.cancellation = cancellation
            return try body(options)
        }
    }

    /// What `make` makes of these options, with a limit on the time of all its calls together if there is one.
    func withTimeLimit(
        incremental make: (DecodingOptions) -> any IncrementalImageDecoder
    ) -> any IncrementalImageDecoder {
        guard let seconds = limits.seconds, cancellation?.budget == nil else { return make(self) }
        let budget = TimeBudget(seconds: seconds)
        var options = self
        options.cancellation = Cancellation(cancellation, within: budget)
        return TimeLimitedDecoder(make(options), budget: budget)
    }
}

/// Counts the time that the calls of another decoder take.
private final class TimeLimitedDecoder: IncrementalImageDecoder {
    private let decoder: any IncrementalImageDecoder
    private let budget: TimeBudget

    init(_ decoder: any IncrementalImageDecoder, budget: TimeBudget) {
        self.decoder = decoder
        self.budget = budget
    }

    var probe: ImageProbe? { decoder.probe }
    var animation: (any AnimationSource)? { decoder.animation }

    func append(_ bytes: Data) throws(WebImageError) {
        try budget.running { () throws(WebImageError) in try decoder.append(bytes) }
    }

    func preview() throws(WebImageError) -> Image? {
        try budget.running { () throws(WebImageError) in try decoder.preview() }
    }

    func finish() throws(WebImageError) -> Image {
        try budget.running { () throws(WebImageError) in try decoder.finish() }
    }
}
