import FoundationEssentials
import WebImageCore

/// Decodes GIF 87a and 89a: still and animated, interlaced, transparent, with global and local palettes.
///
/// The canvas starts transparent, and becomes transparent where a frame restores the background: like browsers, the
/// decoder ignores the background color. Frames are cropped to the canvas; only the first frame enlarges it.
struct GIFDecoder: OwnDecoder {
    init() {}

    package var format: ImageFormat { .gif }

    package func info(of data: Data) throws(WebImageError) -> ImageInfo {
        let file = try finishedFile(data, limits: .default)
        let size = try file.checkedSize()
        let isAnimation = file.frames.count > 1
        return ImageInfo(
            format: .gif, size: size, frameCount: max(1, file.frames.count),
            loopCount: isAnimation ? file.loopCount : nil,
            frames: isAnimation ? file.frames.map { $0.part(on: size) }.frames(on: size) : [], hasAlpha: file.hasAlpha)
    }

    package func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        try options.withTimeLimit { (options) throws(WebImageError) in
            let file = try finishedFile(data, limits: options.limits)
            let plan = try DecodingPlan(storedSize: file.checkedSize(), options: options)
            let frame = try file.checkedFirstFrame(options)
            try options.limits.check(frame.size)
            return try options.withMemory(file.firstByteCount(plan: plan)) { (share) throws(WebImageError) in
                let first = try GIFFrameDecoder(frame, limits: options.limits)
                try first.unpack(frame.codes, cancellation: options.cancellation)
                return try file.image(first: first, plan: plan, share: share)
            }
        }
    }

    package func animation(of data: Data, options: DecodingOptions) throws(WebImageError) -> (any AnimationSource)? {
        let file = try finishedFile(data, limits: options.limits)
        let plan = try DecodingPlan(storedSize: file.checkedSize(), options: options)
        _ = try file.checkedFirstFrame(options)
        guard let file = GIFAnimationFile(file, options: options), file.parts.count > 1 else { return nil }
        return try ComposedAnimation(file, plan: plan)
    }

    /// Shows the rows of the first frame as they arrive, then the complete frames.
    package func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)? {
        options.withTimeLimit(incremental: { GIFIncrementalDecoder(options: $0) })
    }

    private func finishedFile(_ data: Data, limits: DecodingLimits) throws(WebImageError) -> GIFFile {
        var file = GIFFile(frameLimit: limits.frameCount)
        try file.append(data)
        try limits.check(metadataByteCount: file.metadataByteCount)
        file.finish()
        return file
    }
}

extension GIFDecoder {
    /// Reads the blocks up to the first frame, which may enlarge the canvas.
    package func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe? {
        var file = GIFFile()
        try file.append(prefix.prefix(ImageProbe.byteLimit), stopsAtFrame: true)
        return try file.probe()
    }
}

extension GIFFile {
    /// Why a finished file is incomplete; `nil` if it is complete.
    ///
    /// As in browsers, only a still image may lack its trailer: an animation may have lost frames.
    var damage: WebImageError? {
        let isStill = frames.count == 1 && frames[0].isWhole && repeatCount == nil
        return switch end {
        case .trailer: nil
        case .missingTrailer where isStill, .unknownBlock where isStill: nil
        case nil, .missingTrailer, .incompleteBlock: .decoding(format: .gif, reason: .truncated)
        case .unknownBlock: .decoding(format: .gif, reason: .corrupt("an unknown block"))
        }
    }

    /// Returns the canvas size of a finished file.
    func checkedSize() throws(WebImageError) -> PixelSize {
        guard let size else { throw .decoding(format: .gif, reason: .truncated) }
        guard size.width > 0, size.height > 0 else {
            let isTruncated = frames.isEmpty && (end == .missingTrailer || end == .incompleteBlock)
            throw .decoding(format: .gif, reason: isTruncated ? .truncated : .corrupt("a canvas of \(size) pixels"))
        }
        return size
    }

    /// Returns what is known so far; `nil` before the first frame.
    func probe() throws(WebImageError) -> ImageProbe? {
        guard let size else { return nil }
        guard size.width > 0, size.height > 0 else {
            throw .decoding(format: .gif, reason: .corrupt("a canvas of \(size) pixels"))
        }
        return ImageProbe(
            format: .gif, size: size, isAnimated: frames.count > 1 ? true : end == .trailer ? false : nil,
            hasAlpha: hasAlpha)
    }

    /// Returns the first frame of a finished file. Damage behind it is no reason to refuse it, if it alone is requested.
    func checkedFirstFrame(_ options: DecodingOptions) throws(WebImageError) -> GIFFrame {
        let isEnough = options.firstFrameOnly && frames.first?.isWhole == true
        if let damage, !options.allowsDamage && !isEnough || frames.isEmpty { throw damage }
        guard let frame = frames.first else { throw .decoding(format: .gif, reason: .corrupt("no frame")) }
        return frame
    }

    /// The maximum memory of the way that is tried first.
    func firstByteCount(plan: DecodingPlan) -> Int {
        guard let size, let frame = frames.first ?? openFrame else { return 0 }
        guard plan.targetSize != size, frame.size == size, frame.part(on: size).covers(size) else {
            return wholeByteCount(plan: plan)
        }
        return GIFFrameDecoder.workingByteCount(of: size) + plan.byteCount(resamplingRowsOf: size)
    }

    /// The memory of the whole canvas with the first frame on it.
    private func wholeByteCount(plan: DecodingPlan) -> Int {
        guard let size, let frame = frames.first ?? openFrame else { return 0 }
        // A frame that extends beyond the canvas is decompressed completely.
        return plan.byteCount(
            ofFirst: frame.part(on: size), on: size, workingByteCount: GIFFrameDecoder.workingByteCount(of: frame.size))
    }

    /// The memory with previews: a canvas of the rows so far, and the last preview, which the caller still holds.
    func byteCountWithPreviews(plan: DecodingPlan) -> Int {
        wholeByteCount(plan: plan) + plan.targetSize.pixelByteCount
    }

    /// Returns the image of a file, finished or not, from the part of the first frame that is decompressed.
    ///
    /// - Parameter share: memory of at least ``firstByteCount(plan:)``.
    func image(
        first: GIFFrameDecoder, plan: DecodingPlan, share: DecodingShare
    ) throws(WebImageError) -> Image {
        // In a file that is still arriving, missing rows are not damage.
        if end != nil {
            try first.check(allowsDamage: plan.options.allowsDamage, isWhole: frames.first?.isWhole == true)
        }
        guard let file = GIFAnimationFile(self, options: plan.options) else {
            throw .decoding(format: .gif, reason: .corrupt("no frame"))
        }
        var image: Image
        if let thumbnail = try thumbnail(of: file, first: first, plan: plan) {
            image = thumbnail
        } else {
            try plan.options.grow(share, to: wholeByteCount(plan: plan))
            image = try canvasImage(of: file, first: first, plan: plan)
        }
        image.isPartial = end == nil || damage != nil || !first.isComplete
        return image
    }

    private func canvasImage(
        of file: GIFAnimationFile, first: GIFFrameDecoder, plan: DecodingPlan
    ) throws(WebImageError) -> Image {
        let pixels = try first.pixels(of: file.parts[0], cancellation: plan.options.cancellation)
        var image = try plan.image(of: file.with(firstPixels: pixels))
        // Without those pixels, which the image has copied.
        if image.animation != nil { image.animation = try ComposedAnimation(file, plan: plan) }
        return image
    }

    /// Returns the thumbnail without a canvas in memory; `nil` unless the first frame is the whole canvas.
    private func thumbnail(
        of file: GIFAnimationFile, first: GIFFrameDecoder, plan: DecodingPlan
    ) throws(WebImageError) -> Image? {
        guard plan.targetSize != file.canvasSize, first.size == file.canvasSize, file.parts[0].covers(file.canvasSize)
        else { return nil }
        // Created before the pixels because it checks the limits.
        let isAnimated = file.parts.count > 1 && !plan.options.firstFrameOnly
        let animation = isAnimated ? try ComposedAnimation(file, plan: plan) : nil
        guard let pixels = try first.resampled(to: plan.targetSize, cancellation: plan.options.cancellation) else {
            return nil
        }
        var image = try plan.image(of: pixels, format: .gif, frameCount: file.parts.count)
        image.animation = animation
        return image
    }
}

/// The complete frames of a GIF.
struct GIFAnimationFile: AnimationFile {
    let canvasSize: PixelSize
    let parts: [FramePart]
    let loopCount: Int
    let isComplete: Bool
    let byteCount: Int
    private let frames: [GIFFrame]
    private let limits: DecodingLimits
    private let allowsDamage: Bool
    /// The pixels of the first frame, if it is decoded already.
    private var firstPixels: PixelBuffer?

    /// - Parameter file: finished or not. Its first frame may be incomplete; others are left out. `nil` without frames.
    init?(_ file: GIFFile, options: DecodingOptions) {
        guard let size = file.size, let first = file.frames.first ?? file.openFrame else { return nil }
        canvasSize = size
        frames = [first] + file.frames.dropFirst().filter(\.isWhole)
        parts = frames.map { $0.part(on: size) }
        loopCount = file.loopCount
        isComplete = file.end != nil && file.damage == nil
        byteCount = file.byteCount
        limits = options.limits
        allowsDamage = options.allowsDamage
    }

    var format: ImageFormat { .gif }
    var orientation: ImageOrientation { .up }

    /// Returns a copy that does not decode the first frame again.
    func with(firstPixels: PixelBuffer) -> GIFAnimationFile {
        var copy = self
        copy.firstPixels = firstPixels
        return copy
    }

    func workingByteCount(of size: PixelSize) -> Int { GIFFrameDecoder.workingByteCount(of: size) }

    func pixels(ofPart index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        if index == 0, let firstPixels { return firstPixels }
        let frame = frames[index]
        let decoder = try GIFFrameDecoder(frame, limits: limits)
        try decoder.unpack(frame.codes, cancellation: cancellation)
        try decoder.check(allowsDamage: allowsDamage, isWhole: frame.isWhole)
        return try decoder.pixels(of: parts[index], cancellation: cancellation)
    }
}
