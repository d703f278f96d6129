package import WebImageCore

/// An animation whose frames are put together from the parts of a file: for all formats that have several frames.
///
/// Frames are composed at the canvas's full size, then go the way of a still: resampled, converted, turned.
struct ComposedAnimation: AnimationSource {
    let identity: AnimationIdentity
    let frames: [AnimationFrame]
    let frameSize: PixelSize
    let file: any AnimationFile
    let starts: ReplayStarts
    private var plan: DecodingPlan
    /// The most memory that making a frame takes.
    private let frameByteCount: Int

    /// - Parameter plan: made for the file's canvas, and so within the limits. Its cancellation is not looked at: each
    ///   call for a frame brings its own.
    /// - Throws: ``WebImageError/tooManyFrames(limit:)``, ``WebImageError/animationTooLarge(byteCount:limit:)``,
    ///   ``WebImageError/decodingMemoryExceeded(byteCount:limit:)``.
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

    /// Calls `body`, which makes a frame, within the limits on time and memory.
    func makingFrame<Result>(
        _ cancellation: Cancellation?, _ body: (Cancellation?) throws(WebImageError) -> Result
    ) throws(WebImageError) -> Result {
        try plan.options.limits.withTimeLimit(cancellation) { (cancellation) throws(WebImageError) in
            var options = plan.options
            options.cancellation = cancellation
            return try options.withMemory(frameByteCount) { (_) throws(WebImageError) in try body(cancellation) }
        }
    }

    /// What is shown of a composed canvas.
    func picture(of canvas: PixelBuffer, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        var plan = plan
        plan.options.cancellation = cancellation
        return try plan.image(of: canvas, format: file.format).pixels
    }
}

extension AnimationSource {
    /// The ``DecodingLimits/memoryByteCount`` of the decode that made this animation; `nil` for animations of other decoders.
    package var memoryByteLimit: Int? { (self as? ComposedAnimation)?.limits.memoryByteCount }
}

extension DecodingPlan {
    /// The first frame of `file`; it has the animation with it where the file has several frames, unless the options
    /// want the first alone.
    func image(of file: any AnimationFile) throws(WebImageError) -> Image {
        let animation = try ComposedAnimation(file, plan: self)
        let canvas = try ComposedFrameReader(animation).canvas(at: 0, cancellation: options.cancellation)
        var image = try image(of: canvas, format: file.format, frameCount: file.parts.count)
        if file.parts.count > 1, !options.firstFrameOnly { image.animation = animation }
        return image
    }
}

/// The animation of a file whose frames are still arriving, made anew only when it has grown by a sixteenth.
///
/// Making one goes through all of its frames, so that a file of 50,000, asked for its animation with each of them, would take a
/// billion steps. Up to 31 frames each counts at once; later some wait for others, a sixteenth of all at the most. So
/// however the bytes come, all animations together have about 17 times the frames of the last one.
struct ArrivingAnimation {
    private var made: (result: Result<ComposedAnimation?, WebImageError>, frameCount: Int, isComplete: Bool)?

    /// The animation of `frameCount` frames, or of nearly all of them; `nil` for none.
    ///
    /// - Parameter isComplete: whether no further frame comes, and none is to be missing.
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
