internal import FoundationEssentials
internal import WebImageCore

/// Decodes a GIF while its bytes arrive.
///
/// The first frame is decompressed as it arrives; the others are kept compressed for the animation. The cost of a call
/// depends on the new bytes, not on the number of frames.
final class GIFIncrementalDecoder: IncrementalImageDecoder {
    private var options: DecodingOptions
    private var file: GIFFile
    private var plan: DecodingPlan?
    private var first: GIFFrameDecoder?
    /// The memory for previews.
    private var share: DecodingShare?
    /// The image of the first frame, once it is complete.
    private var completeFirstFrame: Image?
    private var frames = ArrivingAnimation()
    /// The state shown by the last preview.
    private var previewed = Progress()

    private struct Progress: Equatable {
        var rowCount = 0
        var frameCount = 1
    }

    init(options: DecodingOptions) {
        self.options = options
        self.options.animationIdentity = AnimationIdentity()
        file = GIFFile(frameLimit: options.limits.frameCount)
    }

    var probe: ImageProbe? { try? file.probe() }

    var animation: (any AnimationSource)? { try? arrivedFrames() }

    func append(_ bytes: Data) throws(WebImageError) {
        try options.checkCancellation()
        try file.append(bytes)
        try options.limits.check(metadataByteCount: file.metadataByteCount)
        if plan == nil, let size = file.size, size.width > 0, size.height > 0 {
            plan = try DecodingPlan(storedSize: size, options: options)
        }
        guard let plan, first?.isWaiting != false, let frame = file.firstFrame else { return }
        if first == nil {
            try options.limits.check(frame.size)
            // Without memory for previews it only collects bytes.
            share = options.previewShare(file.byteCountWithPreviews(plan: plan))
            if share == nil { return }
        }
        try unpack(frame)
    }

    func preview() throws(WebImageError) -> Image? {
        guard let plan, let first, let share, first.rowCount > 0 else { return nil }
        let frames = file.frames.count > 1 ? try arrivedFrames() : nil
        let progress = Progress(rowCount: first.rowCount, frameCount: frames?.frameCount ?? 1)
        guard progress != previewed else { return nil }
        var image = try firstFrame(first, plan, share)
        if let frames {
            image.animation = frames
            image.frameCount = frames.frameCount
        }
        previewed = progress
        return image
    }

    func finish() throws(WebImageError) -> Image {
        file.finish()
        let size = try file.checkedSize()
        if plan == nil { plan = try DecodingPlan(storedSize: size, options: options) }
        let frame = try file.checkedFirstFrame(options)
        guard let plan else { preconditionFailure("it was made above") }
        if let share {
            self.share = nil
            return try image(frame, plan, share)
        }
        try options.limits.check(frame.size)
        return try options.withMemory(file.firstByteCount(plan: plan)) { (share) throws(WebImageError) in
            try image(frame, plan, share)
        }
    }

    private func image(
        _ frame: GIFFrame, _ plan: DecodingPlan, _ share: DecodingShare
    ) throws(WebImageError) -> Image {
        try unpack(frame)
        guard let first else { preconditionFailure("it was made above") }
        return try file.image(first: first, plan: plan, share: share)
    }

    private func unpack(_ frame: GIFFrame) throws(WebImageError) {
        if first == nil { first = try GIFFrameDecoder(frame, limits: options.limits) }
        try first?.unpack(frame.codes, cancellation: options.cancellation)
    }

    /// Returns the first frame so far.
    private func firstFrame(
        _ first: GIFFrameDecoder, _ plan: DecodingPlan, _ share: DecodingShare
    ) throws(WebImageError) -> Image {
        if let completeFirstFrame { return completeFirstFrame }
        var stillPlan = plan
        stillPlan.options.firstFrameOnly = true
        var image = try file.image(first: first, plan: stillPlan, share: share)
        image.isPartial = true
        image.frameCount = 1
        if file.frames.first?.isWhole == true { completeFirstFrame = image }
        return image
    }

    /// Returns the complete frames, unless the file is a still image.
    private func arrivedFrames() throws(WebImageError) -> ComposedAnimation? {
        guard let plan, !options.firstFrameOnly, isAnimated, file.frames.first?.isWhole == true else { return nil }
        return try frames.source(frameCount: file.frames.count, isComplete: file.end != nil) {
            () throws(WebImageError) in
            guard let frames = GIFAnimationFile(file, options: options) else { return nil }
            return try ComposedAnimation(frames, plan: plan)
        }
    }

    private var isAnimated: Bool { file.frames.count + (file.openFrame == nil ? 0 : 1) > 1 }
}
