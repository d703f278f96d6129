package import WebImageCoding
package import WebImageCore

/// What a program requests from a decoder process.
///
///     program ──▶ header, request, [memory] ──▶ decoder
///     program ◀── number, reply ◀── decoder
///
/// A file is in the input: memory that comes with the request, or memory that is kept. Pixels and files go to the output, which is kept.
package enum DecoderRequest {
    /// The properties of a file.
    case info(ImageFormat)
    /// What the first bytes of a file tell.
    case probe(ImageFormat)
    /// EXIF and XMP, in the output.
    case metadata(ImageFormat)
    /// The color profile, in the output.
    case profile(ImageFormat)
    /// The gain map, in the output: a file, its metadata, and its colors.
    case gainMap(ImageFormat)
    /// The image, or the first frame of an animation, in the output.
    case decode(ImageFormat, DecodingOptions)
    /// What is known about the frames of an animation.
    case animation(ImageFormat, DecodingOptions)
    /// Opens a file for reading its frames.
    case openFrames(session: Int, ImageFormat, DecodingOptions)
    /// A frame, in the output.
    case frame(session: Int, index: Int)
    /// Opens a file that is still arriving.
    case openIncremental(session: Int, ImageFormat, DecodingOptions)
    /// The next bytes of the file.
    case append(session: Int)
    /// The image so far, in the output.
    case preview(session: Int)
    /// The image after the last bytes, in the output.
    case finish(session: Int)
    /// Closes a file.
    case close(session: Int)
    /// Encodes the pixels in the input; the file is in the output.
    case encode(ImageFormat, EncodingOptions, PixelLayout)
    /// Encodes an animation. The decoder requests its frames with ``DecoderReply/needsFrame(_:)``.
    case encodeAnimation(
        ImageFormat, EncodingOptions, size: PixelSize, isOpaque: Bool, loopCount: Int, durations: [Double])
    /// A frame that the decoder requested, in the input.
    case encodedFrame(PixelLayout)
    /// The file that the decoder requested, in the input. Without an input, all directories for temporary files are in
    /// memory.
    case spool(directory: String)
    /// Why there is no such file.
    case noSpool(WebImageError)
    /// The memory that comes with it is the input of the next requests that have none of their own. No reply.
    case keepInput
    /// The memory that comes with it is the output of the next requests. No reply.
    case keepOutput
    /// Gives back what earlier requests took. No reply.
    case rest
    /// Stops the request of that number.
    case cancel
}

/// What precedes every request.
package struct RequestHeader: MessageValue {
    /// Counts the requests, so that replies are those of a request.
    package var number: Int
    /// How many threads the decoder may use now. It does not see the decoders beside it.
    package var threadCount: Int
    /// The length of the file in the kept input; 0 if the request has no input, or one of its own.
    package var inputByteCount: Int

    package init(number: Int, threadCount: Int, inputByteCount: Int) {
        self.number = number
        self.threadCount = threadCount
        self.inputByteCount = inputByteCount
    }

    package func write(to message: inout MessageWriter) {
        message.write(number)
        message.write(threadCount)
        message.write(inputByteCount)
    }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        number = try message.int()
        threadCount = max(1, try message.count(atMost: 1 << 16))
        inputByteCount = try message.length()
    }
}

/// Where pixels are in memory.
package struct PixelLayout: Equatable {
    /// The distance to the first byte of the first row, in bytes.
    package var offset: Int
    package var size: PixelSize
    package var bytesPerRow: Int
    package var isOpaque: Bool

    package init(offset: Int, size: PixelSize, bytesPerRow: Int, isOpaque: Bool) {
        self.offset = offset
        self.size = size
        self.bytesPerRow = bytesPerRow
        self.isOpaque = isOpaque
    }

    /// From the first byte of the first row to the end of the last, in bytes.
    package var byteCount: Int { bytesPerRow * (size.height - 1) + size.width * 4 }
}

extension DecoderRequest: MessageValue {
    package func write(to message: inout MessageWriter) {
        switch self {
        case .info(let format): message.write(kind: 0, format)
        case .probe(let format): message.write(kind: 1, format)
        case .metadata(let format): message.write(kind: 2, format)
        case .profile(let format): message.write(kind: 3, format)
        case .decode(let format, let options):
            message.write(kind: 4, format)
            message.write(options)
        case .animation(let format, let options):
            message.write(kind: 5, format)
            message.write(options)
        case .openFrames(let session, let format, let options):
            message.write(kind: 6, format)
            message.write(options)
            message.write(session)
        case .frame(let session, let index):
            message.write(byte: 7)
            message.write(session)
            message.write(index)
        case .openIncremental(let session, let format, let options):
            message.write(kind: 8, format)
            message.write(options)
            message.write(session)
        case .append(let session): message.write(kind: 9, session: session)
        case .preview(let session): message.write(kind: 10, session: session)
        case .finish(let session): message.write(kind: 11, session: session)
        case .close(let session): message.write(kind: 12, session: session)
        case .encode(let format, let options, let layout):
            message.write(kind: 13, format)
            message.write(options)
            message.write(layout)
        case .encodeAnimation(let format, let options, let size, let isOpaque, let loopCount, let durations):
            message.write(kind: 14, format)
            message.write(options)
            message.write(size)
            message.write(isOpaque)
            message.write(loopCount)
            message.write(durations.count)
            for duration in durations { message.write(duration) }
        case .encodedFrame(let layout):
            message.write(byte: 15)
            message.write(layout)
        case .cancel: message.write(byte: 16)
        case .spool(let directory):
            message.write(byte: 17)
            message.write(directory)
        case .noSpool(let error):
            message.write(byte: 18)
            message.write(error)
        case .keepInput: message.write(byte: 19)
        case .keepOutput: message.write(byte: 20)
        case .rest: message.write(byte: 21)
        case .gainMap(let format): message.write(kind: 22, format)
        }
    }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        switch try message.byte() {
        case 0: self = .info(try message.value())
        case 1: self = .probe(try message.value())
        case 2: self = .metadata(try message.value())
        case 3: self = .profile(try message.value())
        case 4: self = .decode(try message.value(), try message.value())
        case 5: self = .animation(try message.value(), try message.value())
        case 6:
            let (format, options): (ImageFormat, DecodingOptions) = (try message.value(), try message.value())
            self = .openFrames(session: try message.int(), format, options)
        case 7: self = .frame(session: try message.int(), index: try message.int())
        case 8:
            let (format, options): (ImageFormat, DecodingOptions) = (try message.value(), try message.value())
            self = .openIncremental(session: try message.int(), format, options)
        case 9: self = .append(session: try message.int())
        case 10: self = .preview(session: try message.int())
        case 11: self = .finish(session: try message.int())
        case 12: self = .close(session: try message.int())
        case 13: self = .encode(try message.value(), try message.value(), try message.value())
        case 14:
            let (format, options): (ImageFormat, EncodingOptions) = (try message.value(), try message.value())
            let (size, isOpaque): (PixelSize, Bool) = (try message.value(), try message.bool())
            let loopCount = try message.int()
            var durations: [Double] = []
            for _ in 0..<(try message.count(atMost: message.remainingCount / 8)) {
                durations.append(try message.double())
            }
            self = .encodeAnimation(
                format, options, size: size, isOpaque: isOpaque, loopCount: loopCount, durations: durations)
        case 15: self = .encodedFrame(try message.value())
        case 16: self = .cancel
        case 17: self = .spool(directory: try message.text())
        case 18: self = .noSpool(try message.value())
        case 19: self = .keepInput
        case 20: self = .keepOutput
        case 21: self = .rest
        case 22: self = .gainMap(try message.value())
        case let kind: throw InvalidMessage("there is no request \(kind)")
        }
    }
}

extension MessageWriter {
    fileprivate mutating func write(kind: UInt8, _ format: ImageFormat) {
        write(byte: kind)
        write(format)
    }

    fileprivate mutating func write(kind: UInt8, session: Int) {
        write(byte: kind)
        write(session)
    }
}
