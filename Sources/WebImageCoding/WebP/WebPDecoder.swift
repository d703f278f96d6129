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
