internal import FoundationEssentials
internal import WebImageCore

/// The frames of an APNG, each decoded from the file when it is requested.
struct APNGFile: AnimationFile {
    let canvasSize: PixelSize
    let orientation: ImageOrientation
    let parts: [FramePart]
    let loopCount: Int
    let isComplete: Bool
    /// Whether the default image is the first frame.
    let beginsWithStill: Bool

    private let images: [PNGImage]
    private let layout: PNGLayout
    private let isDeep: Bool
    /// The longest zlib stream that is joined from several chunks.
    private let joinedByteCount: Int
    private let data: Data
    private let allowsDamage: Bool

    /// The complete frames of `file`; `nil` if there are none, or for a still image.
    init?(
        _ file: PNGFile, data: Data, orientation: ImageOrientation, allowsDamage: Bool = false
    ) {
        guard let still = file.still, let sequence = file.animation, sequence.isAnimated, sequence.wholeFrameCount > 0
        else { return nil }
        let frames = sequence.frames.prefix(sequence.wholeFrameCount)
        parts = frames.map { frame in
            var part = frame.part
            part.isOpaque = !still.hasAlpha
            return part
        }
        images = frames.enumerated().map { index, frame in
            guard index > 0 || !sequence.beginsWithStill else { return still }
            var image = still
            image.layout = still.layout.resized(to: frame.part.size)
            image.chunks = frame.chunks
            return image
        }
        layout = still.layout
        isDeep = still.deepConversion != nil
        joinedByteCount = images.reduce(0) { max($0, $1.joinedByteCount) }
        canvasSize = still.layout.size
        self.orientation = orientation
        loopCount = sequence.loopCount
        isComplete = sequence.isComplete
        beginsWithStill = sequence.beginsWithStill
        self.data = data
        self.allowsDamage = allowsDamage
    }

    var format: ImageFormat { .png }
    var byteCount: Int { data.count }

    func workingByteCount(of size: PixelSize) -> Int {
        // Called for each frame, so it must not visit all of them.
        let layout = layout.resized(to: size)
        return joinedByteCount + layout.workingByteCount + (isDeep ? layout.deepByteCount : 0)
    }

    func pixels(ofPart index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        let decoded = try images[index].decoded(
            from: data.bytes, missingRows: .corrupt("rows are missing"), cancellation: cancellation)
        // If the first frame replaces the default image, the latter is better than a part of the frame.
        let mayBePartial = allowsDamage && (index > 0 || beginsWithStill)
        if let failure = decoded.failure, !mayBePartial { throw failure }
        return decoded.pixels
    }
}

/// The frames of an APNG, checked against the rules of their order (W3C PNG, third edition, 11.3.7).
///
///     acTL  fcTL 0 ── IDAT …        the still is the first frame,
///           fcTL 1 ── fdAT 2, 3 …   the others follow, each behind its header
///           fcTL 4 ── fdAT 5 …
///
/// The sequence numbers of fcTL and fdAT count up without a gap. Breaking a rule ends the animation; browsers show the
/// default image then. A wrong number of frames breaks none: as in browsers, those that are there play, and no more than
/// the file claims. The first fcTL may precede acTL.
struct APNGSequence: Sendable {
    /// How often it plays; 0 means forever.
    let loopCount: Int
    /// Whether the default image is the first frame.
    private(set) var beginsWithStill = false
    /// The frames whose header has arrived, complete or not.
    private(set) var frames: [Frame] = []
    /// Whether all frames are complete.
    private(set) var isComplete = false
    /// Whether the frames that the file claims are there; what follows is ignored.
    private var isFull = false

    private let canvasSize: PixelSize
    /// The number of frames that the file claims.
    let frameCount: Int
    private var nextNumber = 0
    private var dataChunkCount = 0

    struct Frame: Sendable {
        /// `isOpaque` is not set.
        fileprivate(set) var part: FramePart
        /// Its data; empty if it is the default image.
        fileprivate(set) var chunks: [PNGChunk] = []
    }

    /// Reads acTL; `nil` if it is invalid.
    init?(reading chunk: PNGChunk, in data: RawSpan, canvasSize: PixelSize) {
        guard chunk.content.count == 8, chunk.isIntact(in: data),
            let frameCount = data.integer(at: chunk.content.lowerBound, count: 4, isBigEndian: true), frameCount > 0,
            let loopCount = data.integer(at: chunk.content.lowerBound + 4, count: 4, isBigEndian: true)
        else { return nil }
        self.frameCount = frameCount
        self.loopCount = loopCount
        self.canvasSize = canvasSize
    }

    /// The number of complete frames. The last one is complete only at the end of the file.
    var wholeFrameCount: Int { isComplete || isFull ? frames.count : max(0, frames.count - 1) }

    /// Whether it is more than a still image.
    var isAnimated: Bool { frames.count > 1 || frames.count == 1 && !beginsWithStill }

    /// Called at the first IDAT.
    mutating func beginStill() { beginsWithStill = !frames.isEmpty }

    /// Reads fcTL or fdAT; returns whether it follows the rules.
    mutating func read(_ chunk: PNGChunk, in data: RawSpan, isBehindStill: Bool) -> Bool {
        let content = chunk.content
        guard !isFull, chunk.isWhole || content.count >= 4 else { return true }
        guard content.count >= 4,
            data.integer(at: content.lowerBound, count: 4, isBigEndian: true) == nextNumber
        else { return false }
        if chunk.name == .frameData {
            guard isBehindStill, !frames.isEmpty, !(frames.count == 1 && beginsWithStill),
                dataChunkCount < PNGFile.dataChunkLimit
            else { return false }
            if chunk.isWhole { dataChunkCount += 1 }
            frames[frames.count - 1].chunks.append(chunk)
        } else {
            guard isLastFrameBegun, let part = part(reading: chunk, in: data) else { return false }
            if isBehindStill, frames.count == frameCount {
                isFull = true
                return true
            }
            if !isBehindStill {
                guard frames.isEmpty, part.size == canvasSize else { return false }
            }
            frames.append(Frame(part: part))
        }
        if chunk.isWhole { nextNumber += 1 }
        return true
    }

    /// Drops an incomplete chunk.
    mutating func dropIncompleteChunk() {
        guard let last = frames.indices.last, frames[last].chunks.last?.isWhole == false else { return }
        frames[last].chunks.removeLast()
    }

    /// Called at the end of the file; returns whether the last frame has data.
    mutating func end() -> Bool {
        isComplete = isLastFrameBegun && !frames.isEmpty
        return isComplete
    }

    /// Whether the last frame, if any, has data.
    private var isLastFrameBegun: Bool {
        guard let last = frames.last else { return true }
        return !last.chunks.isEmpty || frames.count == 1 && beginsWithStill
    }

    private func part(reading chunk: PNGChunk, in data: RawSpan) -> FramePart? {
        func integer(at offset: Int, count: Int) -> Int? {
            data.integer(at: chunk.content.lowerBound + offset, count: count, isBigEndian: true)
        }
        guard chunk.content.count == 26, chunk.isIntact(in: data),
            let width = integer(at: 4, count: 4), let height = integer(at: 8, count: 4),
            let left = integer(at: 12, count: 4), let top = integer(at: 16, count: 4),
            width > 0, height > 0, left + width <= canvasSize.width, top + height <= canvasSize.height,
            let numerator = integer(at: 20, count: 2), let denominator = integer(at: 22, count: 2),
            let disposal = integer(at: 24, count: 1).flatMap(Self.disposal),
            let blend = integer(at: 25, count: 1).flatMap(Self.blend)
        else { return nil }
        // A denominator of 0 means hundredths.
        let duration = Duration.seconds(numerator) / (denominator == 0 ? 100 : denominator)
        return FramePart(
            left: left, top: top, size: PixelSize(width: width, height: height),
            duration: FrameDuration.played(duration), blend: blend,
            disposal: disposal, isOpaque: false)
    }

    private static func disposal(_ number: Int) -> FramePart.Disposal? {
        switch number {
        case 0: .keep
        case 1: .clear
        case 2: .restore
        default: nil
        }
    }

    private static func blend(_ number: Int) -> FramePart.Blend? {
        switch number {
        case 0: .source
        case 1: .over
        default: nil
        }
    }
}
