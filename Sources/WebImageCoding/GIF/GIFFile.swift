internal import WebImageCore

/// The blocks of a GIF (CompuServe GIF 89a), found by hopping from length to length; no pixel is unpacked.
struct GIFFile {
    /// The canvas: the logical screen, or more where the first frame reaches beyond it. Some programs leave the screen at
    /// 0×0; browsers show the frame whole.
    private(set) var size: PixelSize
    /// Every frame whose descriptor is there, whole or not.
    private(set) var frames: [Frame] = []
    /// What stopped the reading.
    private(set) var end = End.cutBlock
    /// Extra plays, 0 for ever; `nil` where the file does not ask to be repeated.
    private(set) var repeatCount: Int?

    private let globalPalette: Range<Int>?

    /// What stands behind the last whole block.
    enum End {
        /// The block that ends the file.
        case trailer
        /// Nothing.
        case missingTrailer
        /// A byte that begins no block.
        case strayByte
        /// A part of a block.
        case cutBlock
    }

    /// One frame; ranges and offsets count from the file's first byte.
    struct Frame {
        let left: Int
        let top: Int
        let size: PixelSize
        let isInterlaced: Bool
        /// Three bytes a colour; its own, or the file's.
        let palette: Range<Int>?
        let transparentIndex: UInt8?
        /// In seconds.
        let duration: Double
        /// Where the minimum code size stands, with the compressed blocks behind it.
        let dataOffset: Int

        /// Whether it touches every pixel of a canvas of `canvasSize`.
        func covers(_ canvasSize: PixelSize) -> Bool { left == 0 && top == 0 && size == canvasSize }
    }

    init(reading data: RawSpan) throws(WebImageError) {
        guard let width = data.integer(at: 6, count: 2, isBigEndian: false),
            let height = data.integer(at: 8, count: 2, isBigEndian: false), let flags = data.byte(at: 10)
        else { throw .decoding(format: .gif, reason: .truncated) }
        size = PixelSize(width: width, height: height)
        var offset = 13
        globalPalette = Self.palette(flags: flags, at: &offset)
        readBlocks(of: data, from: offset)
        if let first = frames.first {
            size.width = max(width, first.left + first.size.width)
            size.height = max(height, first.top + first.size.height)
        }
        guard size.width > 0, size.height > 0 else {
            let isCut = frames.isEmpty && (end == .missingTrailer || end == .cutBlock)
            throw .decoding(format: .gif, reason: isCut ? .truncated : .corrupt("a canvas of \(size) pixels"))
        }
    }

    /// Throws unless every block is there.
    ///
    /// Only a still may lack its trailer, as browsers show it then: it has no more to come, while an animation may have
    /// lost any number of frames.
    func checkCompleteness() throws(WebImageError) {
        let isStill = frames.count == 1 && repeatCount == nil
        switch end {
        case .trailer: return
        case .missingTrailer where isStill, .strayByte where isStill: return
        case .missingTrailer, .cutBlock: throw .decoding(format: .gif, reason: .truncated)
        case .strayByte: throw .decoding(format: .gif, reason: .corrupt("a byte that begins no block"))
        }
    }

    /// How often it plays; `nil` for a still. The file counts repetitions, after the first play.
    var loopCount: Int? {
        guard frames.count > 1 else { return nil }
        return switch repeatCount {
        case nil: 1
        case 0: 0
        case let count?: count + 1
        }
    }

    /// Whether the first frame may leave pixels of the canvas clear.
    var hasAlpha: Bool {
        frames.contains { $0.transparentIndex != nil } || frames.first.map { !$0.covers(size) } == true
    }

    /// Stops behind the last whole block, and sets ``end``.
    private mutating func readBlocks(of data: RawSpan, from start: Int) {
        var offset = start
        var control = Control()
        while let introducer = data.byte(at: offset) {
            offset += 1
            switch introducer {
            case 0x21:
                guard let label = data.byte(at: offset) else { return }
                offset += 1
                if label == 0xF9 { control = Control(reading: data, at: offset) }
                if label == 0xFF, let count = Self.repeatCount(reading: data, at: offset) { repeatCount = count }
            case 0x2C:
                guard let frame = frame(reading: data, at: &offset, control: control) else { return }
                frames.append(frame)
                control = Control()
            case 0x3B:
                end = .trailer
                return
            default:
                end = .strayByte
                return
            }
            guard let next = Self.endOfSubBlocks(in: data, from: offset) else { return }
            offset = next
        }
        end = .missingTrailer
    }

    /// Reads a descriptor and leaves `offset` at the first compressed block.
    private func frame(reading data: RawSpan, at offset: inout Int, control: Control) -> Frame? {
        func number(at position: Int) -> Int? { data.integer(at: position, count: 2, isBigEndian: false) }
        guard let left = number(at: offset), let top = number(at: offset + 2), let width = number(at: offset + 4),
            let height = number(at: offset + 6), let flags = data.byte(at: offset + 8)
        else { return nil }
        offset += 9
        let palette = Self.palette(flags: flags, at: &offset)
        let dataOffset = offset
        offset += 1
        return Frame(
            left: left, top: top, size: PixelSize(width: width, height: height), isInterlaced: flags & 0x40 != 0,
            palette: palette ?? globalPalette, transparentIndex: control.transparentIndex, duration: control.duration,
            dataOffset: dataOffset)
    }

    /// The palette that `flags` announce, if any; moves `offset` behind it.
    private static func palette(flags: UInt8, at offset: inout Int) -> Range<Int>? {
        guard flags & 0x80 != 0 else { return nil }
        let start = offset
        offset += 3 << (Int(flags & 7) + 1)
        return start..<offset
    }

    private static func endOfSubBlocks(in data: RawSpan, from start: Int) -> Int? {
        var offset = start
        while let length = data.byte(at: offset) {
            offset += 1 + Int(length)
            if length == 0 { return offset }
        }
        return nil
    }

    /// The number of repetitions in Netscape's extension, which every browser obeys.
    private static func repeatCount(reading data: RawSpan, at offset: Int) -> Int? {
        guard data.byte(at: offset) == 11,
            data.hasText("NETSCAPE2.0", at: offset + 1) || data.hasText("ANIMEXTS1.0", at: offset + 1),
            data.byte(at: offset + 12) == 3, data.byte(at: offset + 13) == 1
        else { return nil }
        return data.integer(at: offset + 14, count: 2, isBigEndian: false)
    }

    /// The graphic control extension, which belongs to the frame that follows.
    private struct Control {
        var duration = FrameDuration.played(0)
        var transparentIndex: UInt8?

        init() {}

        init(reading data: RawSpan, at offset: Int) {
            guard let flags = data.byte(at: offset + 1),
                let hundredths = data.integer(at: offset + 2, count: 2, isBigEndian: false)
            else { return }
            duration = FrameDuration.played(Double(hundredths) / 100)
            transparentIndex = flags & 1 != 0 ? data.byte(at: offset + 4) : nil
        }
    }
}

extension GIFFile.Frame {
    /// The compressed bytes, without the lengths between them, and whether their end mark is there.
    func compressedBytes(in data: RawSpan) -> (bytes: [UInt8], isComplete: Bool) {
        var bytes: [UInt8] = []
        var offset = dataOffset + 1
        while let length = data.byte(at: offset) {
            if length == 0 { return (bytes, true) }
            let end = min(offset + 1 + Int(length), data.byteCount)
            data.extracting(offset + 1..<end).withUnsafeBytes { bytes.append(contentsOf: $0) }
            offset += 1 + Int(length)
        }
        return (bytes, false)
    }
}
