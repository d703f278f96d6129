internal import WebImageCore

/// The whole frames of a GIF, for composing.
struct GIFAnimationFile: AnimationFile {
    let canvasSize: PixelSize
    let parts: [FramePart]
    let loopCount: Int
    let isComplete: Bool
    let byteCount: Int
    private let frames: [GIFFrame]
    private let limits: DecodingLimits
    private let damage: DecodingOptions.Damage
    /// The first frame, where it is decoded already.
    private var firstPixels: PixelBuffer?

    /// - Parameter isComplete: whether the file has no more frames than `frames`.
    init(frames: [GIFFrame], canvasSize: PixelSize, loopCount: Int, isComplete: Bool, options: DecodingOptions) {
        self.canvasSize = canvasSize
        self.frames = frames
        self.loopCount = loopCount
        self.isComplete = isComplete
        parts = frames.map { $0.part(on: canvasSize) }
        byteCount = frames.reduce(0) { $0 + $1.codes.count + ($1.palette?.count ?? 0) }
        limits = options.limits
        damage = options.damage
    }

    var format: ImageFormat { .gif }
    var orientation: ImageOrientation { .up }

    /// The same file, which need not decode its first frame again.
    func with(firstPixels: PixelBuffer) -> GIFAnimationFile {
        var copy = self
        copy.firstPixels = firstPixels
        return copy
    }

    func pixels(ofPart index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        if index == 0, let firstPixels { return firstPixels }
        let frame = frames[index]
        let decoder = try GIFFrameDecoder(frame, limits: limits)
        try decoder.unpack(frame.codes, isLast: true, cancellation: cancellation)
        try decoder.check(damage)
        return try decoder.pixels(of: parts[index], cancellation: cancellation)
    }
}
