internal import CWebImageWebP
public import FoundationEssentials
public import WebImageCore

/// Reads WebP with libwebp: lossy and lossless, with and without alpha, animated.
///
/// Of a file that is cut off, the rows that are there are shown, of an animation the frames that are whole, and of a damaged
/// frame its good rows. Where the first of them is damaged, these are all that is shown, as a still.
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
            frameDurations: isAnimation ? file.frames.map(\.part.duration) : [], hasAlpha: file.hasAlpha,
            orientation: file.orientation, hasColorProfile: file.hasColorProfile,
            colorProfileName: file.colorProfile(in: data.bytes)?.name)
    }

    /// Decodes the picture and resamples it to the size wanted, a large one while its rows are decoded. libwebp can scale by
    /// itself, but no faster and with a coarser filter: it does where memory is short.
    public func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        try options.withTimeLimit { (options) throws(WebImageError) in try picture(of: data, options: options) }
    }

    private func picture(of data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        let file = try WebPFile(reading: data.bytes, frameLimit: options.limits.frameCount)
        let plan = try DecodingPlan(file, in: data.bytes, options: options)
        try file.checkLength(of: data, options: options)
        var image = try image(of: file, in: data, plan: plan)
        if !file.isComplete(at: data.count) { image.isPartial = true }
        return image
    }

    private func image(of file: WebPFile, in data: Data, plan: DecodingPlan) throws(WebImageError) -> Image {
        if !file.frames.isEmpty {
            let animation = WebPAnimationFile(file, in: data, damage: plan.options.damage)
            do throws(WebImageError) {
                return try plan.options.withMemory(plan.byteCount(ofFirstFrameOf: animation)) {
                    (_) throws(WebImageError) in
                    try plan.image(of: animation)
                }
            } catch .decoding where plan.options.damage == .showGoodPart {
                // The first frame is damaged: see below whether it has good rows.
            }
        }
        // The first frame of an animation lies anywhere on the canvas, which is resampled as a whole.
        let memory =
            file.isAnimation
            ? WebPMemoryPlan(byteCount: plan.byteCount(ofFirstFrameOf: file)) : try plan.memoryPlan(for: file)
        return try plan.options.withMemory(memory.byteCount) { (_) throws(WebImageError) in
            try firstPicture(of: file, in: data, plan: plan, memory)
        }
    }

    private func firstPicture(
        of file: WebPFile, in data: Data, plan: DecodingPlan, _ memory: WebPMemoryPlan
    ) throws(WebImageError) -> Image {
        let options = plan.options
        let decoder = try file.makeFirstPictureDecoder(resampledTo: memory.passedSize, scaledTo: memory.scaledSize)
        try file.withFirstPicture(in: data.bytes) { (bytes) throws(WebImageError) in
            try decoder.decode(bytes, cancellation: options.cancellation)
        }
        let (pixels, isPartial) = try decoder.finish(damage: options.damage, cancellation: options.cancellation)
        let isStill = memory.passedSize != nil || memory.scaledSize != nil
        let canvas = isStill ? pixels : try file.canvas(with: pixels, options: options)
        var image = try plan.image(of: canvas, format: .webp, frameCount: max(1, file.frames.count))
        image.isPartial = isPartial
        return image
    }

    /// The frames of an animation with several; of one that is cut off, those that are whole.
    public func animation(of data: Data, options: DecodingOptions) throws(WebImageError) -> (any AnimationSource)? {
        let file = try WebPFile(reading: data.bytes, frameLimit: options.limits.frameCount)
        let plan = try DecodingPlan(file, in: data.bytes, options: options)
        try file.checkLength(of: data, options: options)
        return file.frames.count > 1
            ? try ComposedAnimation(WebPAnimationFile(file, in: data, damage: options.damage), plan: plan) : nil
    }

    /// A decoder for rows as they arrive, and for frames that are whole.
    ///
    /// At most four lossless pictures are shown while they arrive; the others wait for one of these to finish, or for
    /// their last byte. The orientation stands at the end of a file: previews are not turned, and their size may be the
    /// other way round than the final picture's.
    public func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)? {
        options.withTimeLimit(incremental: { WebPIncrementalDecoder(options: $0, slots: .shared) })
    }
}

extension DecodingPlan {
    /// For the canvas of a WebP.
    init(_ file: WebPFile, in data: RawSpan, options: DecodingOptions) throws(WebImageError) {
        try options.limits.check(metadataByteCount: file.metadataByteCount)
        try self.init(
            storedSize: file.size, orientation: file.orientation, colors: file.colorConversion(in: data),
            options: options)
    }
}

extension WebPFile {
    /// Throws if the options refuse data that are shorter than they say, or if they are whole and hold no frame.
    func checkLength(of data: Data, options: DecodingOptions) throws(WebImageError) {
        if !isComplete(at: data.count) {
            if options.damage == .refuse { throw .decoding(format: .webp, reason: .truncated) }
        } else if isAnimation, frames.isEmpty {
            throw .decoding(format: .webp, reason: .corrupt("an animation without a whole frame"))
        }
    }

    /// Where the first picture lies on the canvas: all of it, but for an animation.
    var firstPart: FramePart {
        let whole = FramePart(
            left: 0, top: 0, size: size, duration: 0, blend: .source, disposal: .keep, isOpaque: !hasAlpha)
        return firstFrame?.part ?? whole
    }

    /// The first frame of an animation, as soon as there is its header.
    private var firstFrame: Frame? { isAnimation ? frames.first ?? nextFrame : nil }

    /// Takes memory for the first picture, or for its rows, which come out at another size.
    func makeFirstPictureDecoder(
        resampledTo targetSize: PixelSize? = nil, scaledTo scaledSize: PixelSize? = nil
    ) throws(WebImageError) -> WebPPictureDecoder {
        try WebPPictureDecoder(
            size: firstPart.size, byteCount: firstFrame?.content.count ?? announcedByteCount,
            resampledTo: targetSize, scaledTo: scaledSize)
    }

    /// Calls `body` with what is there of the first picture: of a still the whole file, of an animation its first frame's
    /// chunks.
    func withFirstPicture(
        in data: RawSpan, _ body: (UnsafeRawBufferPointer) throws(WebImageError) -> Void
    ) throws(WebImageError) {
        guard isAnimation else {
            // What stands behind the file's announced end is no part of it: libwebp would read on there, or not, as pieces come.
            return try data.extracting(0..<min(data.byteCount, announcedByteCount)).withUnsafeBytes(body)
        }
        guard let content = firstFrame?.content, content.lowerBound < data.byteCount else { return }
        try data.extracting(content.clamped(to: 0..<data.byteCount)).withUnsafeBytes(body)
    }

    /// The first picture's pixels on the canvas, clear around them.
    func canvas(with pixels: PixelBuffer, options: DecodingOptions) throws(WebImageError) -> PixelBuffer {
        guard pixels.size != size else { return pixels }
        var canvas = try MutablePixelBuffer(width: size.width, height: size.height)
        try canvas.clear(cancellation: options.cancellation)
        try canvas.draw(pixels, of: firstPart, cancellation: options.cancellation)
        return canvas.freeze(isOpaque: false)
    }
}

/// The whole frames of an animated WebP.
struct WebPAnimationFile: AnimationFile {
    private let file: WebPFile
    private let data: Data
    let parts: [FramePart]
    let orientation: ImageOrientation
    private let damage: DecodingOptions.Damage

    /// - Parameter data: the bytes in which `file` was found.
    init(_ file: WebPFile, in data: Data, damage: DecodingOptions.Damage) {
        self.file = file
        self.data = data
        parts = file.frames.map(\.part)
        orientation = file.orientation
        self.damage = damage
    }

    var format: ImageFormat { .webp }
    var canvasSize: PixelSize { file.size }
    var loopCount: Int { file.loopCount ?? 0 }
    var isComplete: Bool { file.isComplete(at: data.count) }
    var byteCount: Int { data.count }

    /// Each frame may be lossless.
    func workingByteCount(of size: PixelSize) -> Int {
        WebPPictureDecoder.workingByteCount(of: size, isLossless: true, hasAlpha: false)
    }

    func pixels(ofPart index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        let content = file.frames[index].content
        let decoder = try WebPPictureDecoder(size: parts[index].size, byteCount: content.count)
        try data.bytes.extracting(content).withUnsafeBytes { (bytes) throws(WebImageError) in
            try decoder.decode(bytes, cancellation: cancellation)
        }
        // A damaged first frame makes a still of the file: see ``WebPDecoder``.
        return try decoder.finish(damage: index == 0 ? .refuse : damage, cancellation: cancellation).pixels
    }
}

/// How a WebP that is no animation is decoded within the limit on memory.
struct WebPMemoryPlan {
    /// The size to which the rows are resampled as they come.
    var passedSize: PixelSize?
    /// The size to which libwebp scales them.
    var scaledSize: PixelSize?
    /// The most that decoding takes so.
    var byteCount = 0
}

extension DecodingPlan {
    /// The way to decode `file` that looks best and fits into memory.
    ///
    /// - Throws: ``WebImageError/decodingMemoryExceeded(byteCount:limit:)``, with what the most economical way takes.
    func memoryPlan(for file: WebPFile) throws(WebImageError) -> WebPMemoryPlan {
        let working = WebPPictureDecoder.workingByteCount(
            of: file.size, isLossless: file.isLossless, hasAlpha: file.hasAlpha)
        let limit = options.limits.memoryByteCount
        var memory = WebPMemoryPlan()
        if targetSize != file.size, file.size.pixelByteCount > Self.keptByteCount {
            memory.passedSize = targetSize
            // All rows may come at once: a few bytes can stand for them.
            memory.byteCount = working + file.size.pixelByteCount + byteCount(resamplingRowsOf: file.size)
        } else {
            memory.byteCount = working + byteCount(from: file.size)
        }
        if memory.byteCount <= limit { return memory }
        var least = memory.byteCount
        for factor in [2, 1] where targetSize != file.size {
            let size = PixelSize(
                width: min(targetSize.width * factor, file.size.width),
                height: min(targetSize.height * factor, file.size.height))
            // libwebp keeps a row of sums for each row that comes out.
            let byteCount = working + byteCount(from: size) + size.width * 64
            if byteCount <= limit { return WebPMemoryPlan(scaledSize: size, byteCount: byteCount) }
            least = min(least, byteCount)
        }
        throw .decodingMemoryExceeded(byteCount: least, limit: limit)
    }

    /// What decoding the first frame of `file` takes, whole or not.
    func byteCount(ofFirstFrameOf file: WebPFile) -> Int {
        byteCount(
            ofFirst: file.firstPart, on: file.size,
            workingByteCount: WebPPictureDecoder.workingByteCount(
                of: file.firstPart.size, isLossless: true, hasAlpha: false))
    }

    /// What decoding the first picture of `file` takes with previews: the rows so far, a copy of them, on a canvas perhaps, and
    /// the last preview, which the caller still has.
    func byteCountWithPreviews(of file: WebPFile, pictureSize: PixelSize, isLossless: Bool) -> Int {
        WebPPictureDecoder.workingByteCount(of: pictureSize, isLossless: isLossless, hasAlpha: file.hasAlpha)
            + pictureSize.pixelByteCount * (pictureSize == file.size ? 1 : 2) + byteCount(from: file.size)
            + targetSize.pixelByteCount
    }

    /// What the pixels of a picture may take though a thumbnail is wanted: it comes cheaper from the pool than from the system.
    private static let keptByteCount = 8 << 20
}

extension WebPPictureDecoder {
    /// What libwebp takes besides the output for a picture of `size`.
    static func workingByteCount(of size: PixelSize, isLossless: Bool, hasAlpha: Bool) -> Int {
        // Rows of blocks, and what is known of each block.
        let rows = size.width * 256 + (1 << 20)
        // Lossless pixels have 4 bytes, what predicts them and their colours up to half a byte. Alpha has one, and may be
        // coded as lossless pixels are.
        let lossless = size.pixelCount * 4 + size.pixelCount / 2
        if isLossless { return lossless + rows }
        return (hasAlpha ? size.pixelCount + lossless : 0) + rows
    }
}

extension WebPDecoder {
    /// Reads the header of the file, or of a plain still's picture.
    public func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe? {
        do throws(WebImageError) {
            return ImageProbe(try WebPFile(reading: prefix.prefix(ImageProbe.byteLimit).bytes))
        } catch .decoding(_, .truncated) {
            return nil
        }
    }
}

extension ImageProbe {
    /// What the chunks so far tell; the orientation stands behind the pixels.
    init(_ file: WebPFile) {
        self.init(
            format: .webp, size: file.orientation.upright(file.size), orientation: file.orientation,
            isAnimated: file.isAnimation, hasAlpha: file.hasAlpha)
    }
}
