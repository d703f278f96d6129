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

    /// - Parameter file: finished or not; of its frames, the first as far as it is there, of the others those that are
    ///   whole. `nil` if there is none.
    init?(_ file: GIFFile, options: DecodingOptions) {
        guard let size = file.size, let first = file.frames.first ?? file.openFrame else { return nil }
        canvasSize = size
        frames = [first] + file.frames.dropFirst().filter(\.isWhole)
        parts = frames.map { $0.part(on: size) }
        loopCount = file.loopCount
        isComplete = file.end != nil && file.damage == nil
        byteCount = file.byteCount
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

    func workingByteCount(of size: PixelSize) -> Int { GIFFrameDecoder.workingByteCount(of: size) }

    func pixels(ofPart index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        if index == 0, let firstPixels { return firstPixels }
        let frame = frames[index]
        let decoder = try GIFFrameDecoder(frame, limits: limits)
        try decoder.unpack(frame.codes, cancellation: cancellation)
        try decoder.check(damage, isWhole: frame.isWhole)
        return try decoder.pixels(of: parts[index], cancellation: cancellation)
    }
}
