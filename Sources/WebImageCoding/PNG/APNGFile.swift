internal import FoundationEssentials
internal import WebImageCore

/// The frames of an APNG, each decoded when it is asked for: from the file itself, as a picture of its own.
struct APNGFile: AnimationFile {
    let canvasSize: PixelSize
    let orientation: ImageOrientation
    let parts: [FramePart]
    let loopCount: Int
    let isComplete: Bool
    /// Whether programs that know no APNG show the first frame.
    let beginsWithStill: Bool

    private let pictures: [PNGPicture]
    private let layout: PNGLayout
    /// The longest zlib stream of a frame that is joined from several chunks.
    private let joinedByteCount: Int
    private let data: Data
    private let damage: DecodingOptions.Damage

    /// Those frames of `file` that are whole; `nil` if there are none, or if it is a still.
    init?(
        _ file: PNGFile, data: Data, orientation: ImageOrientation, damage: DecodingOptions.Damage = .refuse
    ) {
        guard let still = file.still, let sequence = file.animation, sequence.isAnimated, sequence.wholeFrameCount > 0
        else { return nil }
        let frames = sequence.frames.prefix(sequence.wholeFrameCount)
        parts = frames.map { frame in
            var part = frame.part
            part.isOpaque = !still.hasAlpha
            return part
        }
        pictures = frames.enumerated().map { index, frame in
            guard index > 0 || !sequence.beginsWithStill else { return still }
            var picture = still
            picture.layout = still.layout.resized(to: frame.part.size)
            picture.chunks = frame.chunks
            return picture
        }
        layout = still.layout
        joinedByteCount = pictures.reduce(0) { max($0, $1.joinedByteCount) }
        canvasSize = still.layout.size
        self.orientation = orientation
        loopCount = sequence.loopCount
        isComplete = sequence.isComplete
        beginsWithStill = sequence.beginsWithStill
        self.data = data
        self.damage = damage
    }

    var format: ImageFormat { .png }
    var byteCount: Int { data.count }

    func workingByteCount(of size: PixelSize) -> Int {
        // It is asked for each frame, so it must not go over all of them.
        joinedByteCount + layout.resized(to: size).workingByteCount
    }

    func pixels(ofPart index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        let decoded = try pictures[index].decoded(
            from: data.bytes, shortage: .corrupt("rows are missing"), cancellation: cancellation)
        // Where the first frame takes the still's place, the still is better than a part of it.
        let mayBePartial = damage == .showGoodPart && (index > 0 || beginsWithStill)
        if let failure = decoded.failure, !mayBePartial { throw failure }
        return decoded.pixels
    }
}
