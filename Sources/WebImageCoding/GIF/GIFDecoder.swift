public import FoundationEssentials
public import WebImageCore

/// Reads GIF 87a and 89a: still and animated, interlaced, transparent, with palettes of the file or the frame.
///
/// The canvas begins clear, and is cleared where a frame asks for the background: the background colour is ignored, as
/// browsers do. What a frame has outside the canvas is cut off; only the first enlarges it.
public struct GIFDecoder: ImageDecoder {
    /// Makes a decoder.
    public init() {}

    /// ``ImageFormat/gif``.
    public var format: ImageFormat { .gif }

    /// Hops over all blocks and counts the frames.
    public func info(of data: Data) throws(WebImageError) -> ImageInfo {
        let file = try finishedFile(data, limits: .default)
        let size = try file.checkedSize()
        let isAnimation = file.frames.count > 1
        return ImageInfo(
            format: .gif, size: size, frameCount: max(1, file.frames.count),
            loopCount: isAnimation ? file.loopCount : nil,
            frameDurations: isAnimation ? file.frames.map(\.duration) : [], hasAlpha: file.hasAlpha)
    }

    /// Decodes the first frame and resamples the canvas to the size wanted.
    public func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        try options.withTimeLimit { (options) throws(WebImageError) in try picture(of: data, options: options) }
    }

    private func picture(of data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        let file = try finishedFile(data, limits: options.limits)
        let plan = try DecodingPlan(storedSize: file.checkedSize(), options: options)
        let frame = try file.checkedFirstFrame(options.damage)
        try options.limits.check(frame.size)
        return try options.withMemory(file.firstByteCount(plan: plan)) { (share) throws(WebImageError) in
            let first = try GIFFrameDecoder(frame, limits: options.limits)
            try first.unpack(frame.codes, cancellation: options.cancellation)
            return try file.image(first: first, plan: plan, share: share)
        }
    }

    /// The frames, found by hopping over all blocks; none is decoded.
    public func animation(of data: Data, options: DecodingOptions) throws(WebImageError) -> (any AnimationSource)? {
        let file = try finishedFile(data, limits: options.limits)
        let plan = try DecodingPlan(storedSize: file.checkedSize(), options: options)
        _ = try file.checkedFirstFrame(options.damage)
        guard let file = GIFAnimationFile(file, options: options), file.parts.count > 1 else { return nil }
        return try ComposedAnimation(file, plan: plan)
    }

    /// Shows the rows of the first frame as they come, then the frames that are whole.
    public func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)? {
        options.withTimeLimit(incremental: { IncrementalGIFDecoder(options: $0) })
    }

    private func finishedFile(_ data: Data, limits: DecodingLimits) throws(WebImageError) -> GIFFile {
        var file = GIFFile(frameLimit: limits.frameCount)
        try file.append(data)
        try limits.check(metadataByteCount: file.metadataByteCount)
        file.finish()
        return file
    }
}
