package import WebImageCore

/// An animation whose frames are composed from the parts of a file, in any format.
///
/// Frames are composed at the size of the canvas, then resampled, converted and rotated like still images.
struct ComposedAnimation: AnimationSource {
    let identity: AnimationIdentity
    let frames: [AnimationFrame]
    let frameSize: PixelSize
    let file: any AnimationFile
    let starts: ReplayStarts
    private var plan: DecodingPlan
    /// The most memory to produce a frame.
    private let frameByteCount: Int

    /// - Parameter plan: the plan for the canvas. Its cancellation is ignored; each request for a frame has its own.
    init(_ file: any AnimationFile, plan: DecodingPlan) throws(WebImageError) {
        if !plan.options.firstFrameOnly {
            try plan.options.limits.check(frameCount: file.parts.count)
            try plan.options.limits.check(file.parts)
        }
        frameByteCount =
            plan.options.firstFrameOnly
            ? plan.byteCount(ofFirstFrameOf: file) : plan.byteCount(of: file)
        try plan.options.limits.check(memoryByteCount: frameByteCount)
        self.file = file
        identity = plan.options.animationIdentity ?? AnimationIdentity()
        let starts = ReplayStarts(of: file.parts, on: file.canvasSize)
        frames = file.parts.enumerated().map { index, part in
            AnimationFrame(duration: part.duration, isKeyframe: starts[index] == index)
        }
        self.starts = starts
        frameSize = file.orientation.upright(plan.targetSize)
        self.plan = plan
        self.plan.options.cancellation = nil
    }

    var loopCount: Int { file.loopCount }
    var isComplete: Bool { file.isComplete }
    var byteCount: Int { file.byteCount }

    fileprivate var limits: DecodingLimits { plan.options.limits }

    func makeFrameReader() -> any AnimationFrameReader { ComposedFrameReader(self) }

    /// Calls `body`, which produces a frame, within the limits on time and memory.
    func makingFrame<Result>(
        _ cancellation: Cancellation?, _ body: (Cancellation?) throws(WebImageError) -> Result
    ) throws(WebImageError) -> Result {
        try plan.options.limits.withTimeLimit(cancellation) { (cancellation) throws(WebImageError) in
            var options = plan.options
            options.cancellation = cancellation
            return try options.withMemory(frameByteCount) { (_) throws(WebImageError) in try body(cancellation) }
        }
    }

    /// Returns the image shown for a composed canvas.
    func image(of canvas: PixelBuffer, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        var plan = plan
        plan.options.cancellation = cancellation
        return try plan.image(of: canvas, format: file.format).pixels
    }
}

extension AnimationSource {
    /// The ``DecodingLimits/memoryByteCount`` of the decode that made this animation; `nil` for custom decoders.
    package var memoryByteLimit: Int? { (self as? ComposedAnimation)?.limits.memoryByteCount }
}

extension DecodingPlan {
    /// Returns the first frame of `file`, with the animation if there are several frames and the options don't want the
    /// first only.
    func image(of file: any AnimationFile) throws(WebImageError) -> Image {
        let animation = try ComposedAnimation(file, plan: self)
        let canvas = try ComposedFrameReader(animation).canvas(at: 0, cancellation: options.cancellation)
        var image = try image(of: canvas, format: file.format, frameCount: file.parts.count)
        if file.parts.count > 1, !options.firstFrameOnly { image.animation = animation }
        return image
    }
}

/// The animation of a file that is still arriving. It's rebuilt only after the number of frames has grown by a
/// sixteenth.
///
/// Rebuilding visits all frames, so with each of 50,000 frames it would take a billion steps. Up to 31 frames, each one
/// counts; later, up to a sixteenth of them may be missing. All rebuilt animations together have about 17 times the
/// frames of the last one.
struct ArrivingAnimation {
    private var made: (result: Result<ComposedAnimation?, WebImageError>, frameCount: Int, isComplete: Bool)?

    /// Returns the animation of `frameCount` frames, or of nearly all of them; `nil` for none.
    ///
    /// - Parameter isComplete: whether no further frame comes, and none may be missing.
    mutating func source(
        frameCount: Int, isComplete: Bool, make: () throws(WebImageError) -> ComposedAnimation?
    ) throws(WebImageError) -> ComposedAnimation? {
        guard frameCount > 0 else { return nil }
        if let made, made.isComplete == isComplete {
            let step = isComplete ? 1 : max(1, made.frameCount / 16)
            if made.frameCount..<made.frameCount + step ~= frameCount { return try made.result.get() }
        }
        let result = Result { () throws(WebImageError) in try make() }
        made = (result, frameCount, isComplete)
        return try result.get()
    }
}
