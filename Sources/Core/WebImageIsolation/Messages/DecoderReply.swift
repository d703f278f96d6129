package import WebImageCoding
package import WebImageCore

/// A reply of a decoder process.
package enum DecoderReply: Codable {
    /// The first message: what the decoder is, and which layers of its sandbox hold.
    case ready(version: String, SandboxReport)
    case failure(DecoderFailure)
    case info(ImageInfo)
    case probe(ImageProbe?)
    /// A file, EXIF and XMP, or a profile: where they are in the output.
    case parts([OutputPart])
    case image(DecodedImage)
    /// So many of the first rows of the image are in the output, and stay as they are. The request is still in progress.
    case rows(PixelLayout, count: Int)
    /// Of a file that is still arriving; `nil` if there is nothing new.
    case preview(DecodedImage?)
    /// `nil` for a still image.
    case animation(AnimationDescription?)
    /// The properties known so far of the file that is arriving.
    case arrived(ImageProbe?, AnimationDescription?)
    /// The decoder requests the frame of that index. The request is still in progress.
    case needsFrame(Int)
    /// The decoder requests a file of that length for what does not fit in memory. The request is still in progress.
    case needsSpool(byteCount: Int)
    /// The file of this session is not open, or not any more.
    case noSession
    case done
}

/// A reply, and the number of the request that it answers; 0 for the first message.
package struct NumberedReply: Codable {
    var number: Int
    var reply: DecoderReply

    package init(number: Int, reply: DecoderReply) { (self.number, self.reply) = (number, reply) }
}

/// Where bytes are in the output.
package struct OutputPart: Codable, Equatable {
    var offset: Int
    /// `nil` for a part that there is not.
    var byteCount: Int?

    package init(offset: Int, byteCount: Int?) { (self.offset, self.byteCount) = (offset, byteCount) }
}

/// An image in the output.
package struct DecodedImage: Codable {
    var pixels: PixelLayout
    var frameCount: Int
    var isPartial: Bool
    var isThumbnail: Bool
    var animation: AnimationDescription?
    /// How many of the first rows are as they were when the decoder reported them.
    var finishedRowCount: Int

    package init(
        pixels: PixelLayout, frameCount: Int, isPartial: Bool, isThumbnail: Bool, animation: AnimationDescription?,
        finishedRowCount: Int = 0
    ) {
        self.pixels = pixels
        self.finishedRowCount = finishedRowCount
        self.frameCount = frameCount
        self.isPartial = isPartial
        self.isThumbnail = isThumbnail
        self.animation = animation
    }
}

/// The properties of an animation, known before its frames are decoded.
package struct AnimationDescription: Codable {
    var frameSize: PixelSize
    var loopCount: Int
    var isComplete: Bool
    /// Most animations have many equal frames, one after the other.
    private var runs: [Run]

    private struct Run: Codable {
        var frame: AnimationFrame
        var count: Int
    }

    package init(frameSize: PixelSize, frames: [AnimationFrame], loopCount: Int, isComplete: Bool) {
        self.frameSize = frameSize
        self.loopCount = loopCount
        self.isComplete = isComplete
        runs = frames.reduce(into: []) { runs, frame in
            if runs.last?.frame == frame {
                runs[runs.count - 1].count += 1
            } else {
                runs.append(Run(frame: frame, count: 1))
            }
        }
    }

    /// - Parameter hasParts: whether frames have their stored parts.
    package init(_ source: any AnimationSource, hasParts: Bool = true) {
        self.init(
            frameSize: source.frameSize, frames: Self.sent(source.frames, hasParts: hasParts),
            loopCount: source.loopCount, isComplete: source.isComplete)
    }

    /// Returns frames within the bounds of a reply.
    package static func sent(_ frames: [AnimationFrame], hasParts: Bool = true) -> [AnimationFrame] {
        let hasParts = hasParts && frames.count <= partLimit
        return frames.map {
            AnimationFrame(
                duration: min($0.duration, FrameDuration.longest), isKeyframe: $0.isKeyframe,
                part: hasParts ? $0.part : nil)
        }
    }

    var frameCount: Int { runs.reduce(0) { $0 + $1.count } }

    /// The frames of a description that was checked.
    var frames: [AnimationFrame] { runs.flatMap { repeatElement($0.frame, count: $0.count) } }

    fileprivate func check() throws(InvalidMessage) {
        try frameSize.check(within: PixelSize.maximumDimension)
        try loopCount.check(in: 0...Int(Int32.max), "repetitions")
        var count = 0
        for run in runs {
            try run.frame.check()
            try run.count.check(in: 1...Self.frameLimit, "equal frames")
            count += run.count
            try count.check(in: 1...Self.frameLimit, "frames")
        }
        try count.check(in: 1...Self.frameLimit, "frames")
    }

    /// Far more than ``DecodingLimits/frameCount`` allows by default.
    fileprivate static let frameLimit = 1 << 20
    /// Each takes some 80 bytes of a message.
    private static let partLimit = 1 << 16
}

// MARK: - Checks

extension DecoderReply {
    /// Reads the reply to a request, and checks all numbers in it, since a file may have taken the process over.
    init(_ message: Channel.Message, to number: Int) throws(InvalidMessage) {
        // A process has nothing to give.
        guard message.memory.isEmpty else { throw InvalidMessage("it comes with memory") }
        let numbered: NumberedReply = try MessageDecoder.value(of: message.bytes, from: .process)
        guard numbered.number == number else { throw InvalidMessage("it is no reply to request \(number)") }
        self = numbered.reply
        try check()
    }

    private func check() throws(InvalidMessage) {
        switch self {
        case .ready, .noSession, .done: break
        // Its numbers are only printed.
        case .failure: break
        case .info(let info):
            try info.size.check(within: Self.declaredSide)
            try info.frameCount.check(in: 1...Self.countLimit, "frames")
            try info.pageCount.check(in: 1...Self.countLimit, "pages")
            try info.loopCount?.check(in: 0...Int(Int32.max), "repetitions")
            try info.frames.count.check(in: 0...AnimationDescription.frameLimit, "described frames")
            for frame in info.frames { try frame.check() }
            try info.bitDepth.check(in: 0...Int(UInt16.max), "bits of a channel")
        case .probe(let probe): try probe?.size.check(within: Self.declaredSide)
        case .parts(let parts):
            for part in parts {
                try part.offset.check(in: 0...Self.byteLimit, "bytes before a part")
                try part.byteCount?.check(in: 0...Self.byteLimit, "bytes of a part")
            }
        case .image(let image), .preview(let image?):
            try image.pixels.check()
            try image.finishedRowCount.check(in: 0...image.pixels.size.height, "finished rows")
            try image.frameCount.check(in: 1...Self.countLimit, "frames")
            try image.animation?.check()
        case .preview(nil): break
        case .rows(let layout, let count):
            try layout.check()
            try count.check(in: 1...layout.size.height, "finished rows")
        case .animation(let animation): try animation?.check()
        case .arrived(let probe, let animation):
            try probe?.size.check(within: Self.declaredSide)
            try animation?.check()
        case .needsFrame(let index): try index.check(in: 0...Self.countLimit, "frames before one")
        case .needsSpool(let byteCount): try byteCount.check(in: 1...Self.byteLimit, "bytes of a file")
        }
    }

    /// A file may declare a size that no image can have.
    fileprivate static let declaredSide = Int(UInt32.max)
    private static let countLimit = 1 << 30
    private static let byteLimit = 1 << 40
}

extension PixelLayout {
    fileprivate func check() throws(InvalidMessage) {
        try size.check(within: PixelSize.maximumDimension)
        try offset.check(in: 0...1 << 40, "bytes before the pixels")
        try bytesPerRow.check(in: size.width * 4...PixelSize.maximumDimension * 4, "bytes of a row")
        guard bytesPerRow % 4 == 0, offset % 4 == 0 else { throw InvalidMessage("pixels are not aligned") }
    }
}

extension PixelSize {
    fileprivate func check(within limit: Int) throws(InvalidMessage) {
        try width.check(in: 1...limit, "pixels of width")
        try height.check(in: 1...limit, "pixels of height")
    }
}

extension Int {
    fileprivate func check(in range: ClosedRange<Int>, _ what: String) throws(InvalidMessage) {
        guard range.contains(self) else { throw InvalidMessage("it has \(self) \(what)") }
    }
}

extension AnimationFrame {
    fileprivate func check() throws(InvalidMessage) {
        guard (.zero...FrameDuration.longest).contains(duration) else {
            throw InvalidMessage("a frame is shown for \(duration.inWords)")
        }
        guard let rect = part?.rect else { return }
        for number in [rect.x, rect.y, rect.width, rect.height] {
            try number.check(in: 0...DecoderReply.declaredSide, "pixels of a frame")
        }
    }
}
