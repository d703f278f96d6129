internal import FoundationEssentials
package import WebImageCore

/// The errors of decoders and encoders. Their texts are those of libraries, and of what a hostile file made of them: the program
/// escapes them where it prints them, as it does with any text from a file.
extension WebImageError: MessageValue {
    package func write(to message: inout MessageWriter) {
        switch self {
        case .decoding(let format, let reason, _):
            message.write(byte: 0)
            message.write(format)
            message.write(reason)
        case .limitExceeded(let reason, _):
            message.write(byte: 1)
            message.write(reason)
        case .outOfResources(let reason, _):
            message.write(byte: 2)
            message.write(reason)
        case .encoding(let format, let reason):
            message.write(byte: 3)
            message.write(format)
            message.write(reason)
        case .invalidFrames(let reason):
            message.write(byte: 4)
            message.write(reason)
        case .cancelled: message.write(byte: 5)
        case .unrecognizedFormat(_, let bytes, _):
            message.write(byte: 6)
            message.write(bytes: bytes.prefix(16))
        default:
            // Decoders and encoders throw no others.
            message.write(byte: 7)
            message.write(String(description.prefix(300)))
        }
    }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        switch try message.byte() {
        case 0: self = .decoding(format: try message.value(), reason: try message.value())
        case 1: self = .limitExceeded(reason: try message.value())
        case 2: self = .outOfResources(reason: try message.value())
        case 3: self = .encoding(format: try message.value(), reason: try message.value())
        case 4: self = .invalidFrames(reason: try message.value())
        case 5: self = .cancelled
        case 6:
            let bytes = try message.content()
            self = .unrecognizedFormat(contentType: nil, leadingBytes: Array(bytes.prefix(16)))
        case 7: self = .processing(identifier: "webimage-decoder", reason: .failed(try message.shortText()))
        case let kind: throw InvalidMessage("there is no error \(kind)")
        }
    }
}

extension WebImageError.DecodingFailure: MessageValue {
    package func write(to message: inout MessageWriter) {
        switch self {
        case .truncated: message.write(byte: 0)
        case .corrupt(let text):
            message.write(byte: 1)
            message.write(text)
        case .unsupported(let text):
            message.write(byte: 2)
            message.write(text)
        case .page(let page, let count):
            message.write(byte: 3)
            message.write(page)
            message.write(count)
        case .noDecoder: message.write(byte: 4)
        }
    }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        switch try message.byte() {
        case 0: self = .truncated
        case 1: self = .corrupt(try message.shortText())
        case 2: self = .unsupported(try message.shortText())
        case 3: self = .page(try message.int(), count: try message.int())
        case 4: self = .noDecoder
        case let kind: throw InvalidMessage("there is no failure \(kind)")
        }
    }
}

extension WebImageError.LimitFailure: MessageValue {
    package func write(to message: inout MessageWriter) {
        switch self {
        case .pixels(let size, let limit): message.write(kind: 0, size.width, size.height, limit)
        case .side(let width, let height): message.write(kind: 1, width, height)
        case .frames(let limit): message.write(kind: 2, limit)
        case .animation(let byteCount, let limit): message.write(kind: 3, byteCount, limit)
        case .scans(let limit): message.write(kind: 4, limit)
        case .metadata(let byteCount, let limit): message.write(kind: 5, byteCount, limit)
        case .memory(let byteCount, let limit): message.write(kind: 6, byteCount, limit)
        case .processorTime(let seconds):
            message.write(byte: 7)
            message.write(seconds)
        case .complexity(let text):
            message.write(kind: 8)
            message.write(text)
        }
    }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        switch try message.byte() {
        case 0:
            // A size that was refused, which may be any.
            let size = PixelSize(width: try message.int(), height: try message.int())
            self = .pixels(size: size, limit: try message.int())
        case 1: self = .side(width: try message.int(), height: try message.int())
        case 2: self = .frames(limit: try message.int())
        case 3: self = .animation(byteCount: try message.int(), limit: try message.int())
        case 4: self = .scans(limit: try message.int())
        case 5: self = .metadata(byteCount: try message.int(), limit: try message.int())
        case 6: self = .memory(byteCount: try message.int(), limit: try message.int())
        case 7: self = .processorTime(seconds: try message.double())
        case 8: self = .complexity(try message.shortText())
        case let kind: throw InvalidMessage("there is no limit \(kind)")
        }
    }
}

extension WebImageError.ResourceFailure: MessageValue {
    package func write(to message: inout MessageWriter) {
        switch self {
        case .memory(let byteCount): message.write(kind: 0, byteCount)
        case .thread: message.write(kind: 1)
        case .decodingThreads(let format, let count):
            message.write(kind: 3, count)
            message.write(format)
        case .temporaryFile(let directory, let errno):
            message.write(kind: 2, Int(errno))
            message.write(directory)
        }
    }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        switch try message.byte() {
        case 0: self = .memory(byteCount: try message.int())
        case 1: self = .thread
        case 2:
            let errno = Int32(clamping: try message.int())
            self = .temporaryFile(directory: try message.shortText(), errno: errno)
        case 3:
            let count = try message.int()
            self = .decodingThreads(format: try message.value(), count: count)
        case let kind: throw InvalidMessage("there is no resource \(kind)")
        }
    }
}

extension WebImageError.EncodingFailure: MessageValue {
    package func write(to message: inout MessageWriter) {
        switch self {
        case .noEncoder: message.write(kind: 0)
        case .tooLarge(let size, let limit): message.write(kind: 1, size.width, size.height, limit)
        case .noAnimation: message.write(kind: 2)
        case .frameNumber(let number, let count): message.write(kind: 3, number, count)
        case .tooLong(let byteCount, let limit): message.write(kind: 4, byteCount, limit)
        case .invalidMetadata: message.write(kind: 5)
        case .metadataTooLong(let byteCount, let limit): message.write(kind: 6, byteCount, limit)
        case .codec(let text):
            message.write(kind: 7)
            message.write(text)
        }
    }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        switch try message.byte() {
        case 0: self = .noEncoder
        case 1:
            let size = PixelSize(width: try message.int(), height: try message.int())
            self = .tooLarge(size, maximumDimension: try message.int())
        case 2: self = .noAnimation
        case 3: self = .frameNumber(try message.int(), frameCount: try message.int())
        case 4: self = .tooLong(byteCount: try message.int(), limit: try message.int())
        case 5: self = .invalidMetadata
        case 6: self = .metadataTooLong(byteCount: try message.int(), limit: try message.int())
        case 7: self = .codec(try message.shortText())
        case let kind: throw InvalidMessage("there is no failure \(kind)")
        }
    }
}

extension WebImageError.FrameFailure: MessageValue {
    package func write(to message: inout MessageWriter) {
        switch self {
        case .none: message.write(kind: 0)
        case .durationCount(let count, let frameCount): message.write(kind: 1, count, frameCount)
        case .duration(let duration, let frame):
            message.write(kind: 2, frame)
            message.write(duration)
        case .size(let size, let frame, let expected):
            message.write(kind: 3, size.width, size.height, frame, expected.width, expected.height)
        case .outsideSheet(let rect, let frame, let sheet):
            message.write(kind: 4, rect.x, rect.y, rect.width, rect.height, frame, sheet.width, sheet.height)
        }
    }

    package init(from message: inout MessageReader) throws(InvalidMessage) {
        func size(_ message: inout MessageReader) throws(InvalidMessage) -> PixelSize {
            PixelSize(width: try message.int(), height: try message.int())
        }
        switch try message.byte() {
        case 0: self = .none
        case 1: self = .durationCount(try message.int(), frameCount: try message.int())
        case 2:
            let frame = try message.int()
            self = .duration(try message.double(), frame: frame)
        case 3: self = .size(try size(&message), frame: try message.int(), expected: try size(&message))
        case 4:
            let rect = PixelRect(
                x: try message.int(), y: try message.int(), width: try message.int(), height: try message.int())
            self = .outsideSheet(rect, frame: try message.int(), sheet: try size(&message))
        case let kind: throw InvalidMessage("there is no failure \(kind)")
        }
    }
}

extension MessageWriter {
    fileprivate mutating func write(kind: UInt8, _ values: Int...) {
        write(byte: kind)
        for value in values { write(value) }
    }
}

extension MessageReader {
    /// Reads a text of a library; a longer one is cut.
    fileprivate mutating func shortText() throws(InvalidMessage) -> String { String(try text().prefix(300)) }
}
