package import WebImageCoding
package import WebImageCore

/// What a decoder process returns.
package enum DecoderReply {
    /// The first message: what the decoder is, and which layers of its sandbox hold.
    case ready(version: String, SandboxReport)
    case failure(WebImageError)
    case info(ImageInfo)
    case probe(ImageProbe?)
    /// A file, EXIF and XMP, or a profile: their lengths, one after the other in the output from `offset` on.
    case parts(offset: Int, [Int?])
    case image(DecodedImage)
    /// Of a file that is still arriving; `nil` if there is nothing new.
    case preview(DecodedImage?)
    /// `nil` for a still image.
    case animation(AnimationDescription?)
    /// What the file that is arriving has shown so far.
    case arrived(ImageProbe?, AnimationDescription?)
    /// The decoder requests the frame of that index. The request is still in progress.
    case needsFrame(Int)
    /// The decoder requests a file of that length for what does not fit in memory. The request is still in progress.
    case needsSpool(byteCount: Int)
    /// The file of this session is not open, or not any more.
    case noSession
    case done
}

/// An image in the output.
package struct DecodedImage {
    package var pixels: PixelLayout
    package var scale: Double
    package var frameCount: Int
    package var isPartial: Bool
    package var isThumbnail: Bool
    package var animation: AnimationDescription?

    package init(
        pixels: PixelLayout, scale: Double, frameCount: Int, isPartial: Bool, isThumbnail: Bool,
        animation: AnimationDescription?
    ) {
        self.pixels = pixels
        self.scale = scale
        self.frameCount = frameCount
        self.isPartial = isPartial
        self.isThumbnail = isThumbnail
        self.animation = animation
    }
}

/// What is known about an animation before its frames are decoded.
package struct AnimationDescription {
    package var frameSize: PixelSize
    package var frames: [AnimationFrame]
    package var loopCount: Int
    package var isComplete: Bool

    package init(frameSize: PixelSize, frames: [AnimationFrame], loopCount: Int, isComplete: Bool) {
        self.frameSize = frameSize
        self.frames = frames
        self.loopCount = loopCount
        self.isComplete = isComplete
    }

    package init(_ source: any AnimationSource) {
        self.init(
            frameSize: source.frameSize, frames: source.frames, loopCount: source.loopCount,
            isComplete: source.isComplete)
    }
}

extension DecoderReply: MessageValue {
    package func write(to message: inout MessageWriter) {
        switch self {
        case .ready(let version, let report):
            message.write(byte: 0)
            message.write(version)
            message.write(report)
        case .failure(let error):
            message.write(byte: 1)
            message.write(error)
        case .info(let info):
            message.write(byte: 2)
            message.write(info)
        case .probe(let probe):
            message.write(byte: 3)
            message.write(probe) { $0.write($1) }
        case .parts(let offset, let lengths):
            message.write(byte: 4)
            message.write(offset)
            message.write(lengths.count)
            for length in lengths { message.write(length) { $0.write($1) } }
        case .image(let image):
            message.write(byte: 5)
            message.write(image)
        case .preview(let image):
            message.write(byte: 6)
            message.write(image) { $0.write($1) }
        case .animation(let animation):
            message.write(byte: 7)
            message.write(animation) { $0.write($1) }
        case .arrived(let probe, let animation):
            message.write(byte: 8)
            message.write(probe) { $0.write($1) }
            message.write(animation) { $0.write($1) }
        case .needsFrame(let index):
            message.write(byte: 9)
            message.write(index)
        case .done: message.write(byte: 10)
        case .noSession: message.write(byte: 11)
        case .needsSpool(let byteCount):
            message.write(byte: 12)
            message.write(byteCount)
        }
    }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        switch try message.byte() {
        case 0: self = .ready(version: try message.text(), try message.value())
        case 1: self = .failure(try message.value())
        case 2: self = .info(try message.value())
        case 3: self = .probe(try message.optionalValue())
        case 4:
            let offset = try message.length()
            var lengths: [Int?] = []
            for _ in 0..<(try message.count(atMost: 3)) {
                lengths.append(try message.optional { (message) throws(InvalidMessage) in try message.length() })
            }
            self = .parts(offset: offset, lengths)
        case 5: self = .image(try message.value())
        case 6: self = .preview(try message.optionalValue())
        case 7: self = .animation(try message.optionalValue())
        case 8: self = .arrived(try message.optionalValue(), try message.optionalValue())
        case 9: self = .needsFrame(try message.count(atMost: 1 << 30))
        case 10: self = .done
        case 11: self = .noSession
        case 12: self = .needsSpool(byteCount: try message.length())
        case let kind: throw InvalidMessage("there is no reply \(kind)")
        }
        try message.end()
    }
}

extension DecodedImage: MessageValue {
    package func write(to message: inout MessageWriter) {
        message.write(pixels)
        message.write(scale)
        message.write(frameCount)
        message.write(isPartial)
        message.write(isThumbnail)
        message.write(animation) { $0.write($1) }
    }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        pixels = try message.value()
        scale = try message.double()
        frameCount = try message.count(atMost: 1 << 30)
        isPartial = try message.bool()
        isThumbnail = try message.bool()
        animation = try message.optionalValue()
        guard scale.isFinite, scale > 0, frameCount > 0 else { throw InvalidMessage("an image has no scale or frame") }
    }
}

extension PixelLayout: MessageValue {
    package func write(to message: inout MessageWriter) {
        message.write(offset)
        message.write(size)
        message.write(bytesPerRow)
        message.write(isOpaque)
    }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        offset = try message.length()
        size = try message.value()
        bytesPerRow = try message.count(atMost: MutablePixelBuffer.maximumDimension * 4)
        isOpaque = try message.bool()
        guard bytesPerRow >= size.width * 4, bytesPerRow % 4 == 0, offset % 4 == 0 else {
            throw InvalidMessage("rows of \(bytesPerRow) bytes are too short for \(size)")
        }
    }
}

extension AnimationDescription: MessageValue {
    /// A message has 64 KiB; more frames follow each other in runs of equal ones, as most animations have them.
    package func write(to message: inout MessageWriter) {
        message.write(frameSize)
        message.write(loopCount)
        message.write(isComplete)
        message.write(frames.count)
        var index = 0
        while index < frames.count {
            let frame = frames[index]
            let end = frames[index...].firstIndex { $0 != frame } ?? frames.count
            message.write(end - index)
            message.write(frame.duration)
            message.write(frame.isKeyframe)
            index = end
        }
    }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        frameSize = try message.value()
        loopCount = try message.count(atMost: Int(Int32.max))
        isComplete = try message.bool()
        let count = try message.count(atMost: Self.frameLimit)
        frames = []
        while frames.count < count {
            let length = try message.count(atMost: count - frames.count)
            let duration = try message.double()
            guard length > 0, duration.isFinite, duration >= 0 else { throw InvalidMessage("a frame has no duration") }
            let frame = AnimationFrame(duration: duration, isKeyframe: try message.bool())
            frames.append(contentsOf: repeatElement(frame, count: length))
        }
        guard count > 0 else { throw InvalidMessage("an animation has no frames") }
    }

    /// Far more than ``DecodingLimits/frameCount`` allows by default.
    private static let frameLimit = 1 << 20
}

extension MessageReader {
    /// Reads a length in memory.
    package mutating func length() throws(InvalidMessage) -> Int { try count(atMost: 1 << 40) }

    package mutating func optionalValue<Value: MessageValue>() throws(InvalidMessage) -> Value? {
        try optional { (message) throws(InvalidMessage) in try message.value() }
    }
}
