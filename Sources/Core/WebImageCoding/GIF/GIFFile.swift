internal import FoundationEssentials
internal import WebImageCore

/// The blocks of a GIF (CompuServe GIF 89a), read as the bytes arrive, without decompressing pixels.
///
/// Complete frames are slices of the appended bytes: a file appended at once is never copied, one in many pieces once.
struct GIFFile: Sendable {
    /// The complete frames; after ``finish()`` also an incomplete last one.
    private(set) var frames: [GIFFrame] = []
    /// The frame whose descriptor has arrived, but not all of its blocks; without its codes.
    private(set) var openFrame: GIFFrame?
    /// The number of repetitions, 0 means forever; `nil` if the file does not specify it.
    private(set) var repeatCount: Int?
    /// The number of bytes appended.
    private(set) var byteCount = 0
    /// The bytes of skipped blocks.
    private(set) var metadataByteCount = 0
    /// Whether any frame has a transparent color.
    private var hasTransparentColor = false
    /// Why reading stopped; `nil` if it has not.
    private(set) var end: End?

    private var screen: PixelSize?
    private var globalPalette: Data?
    private var control = GIFFrame.Control()
    /// The codes of ``openFrame``, then the bytes not yet read.
    private var bytes = Data()
    /// The offset of the next block in ``bytes``.
    private var offset = 0
    private var stage = Stage.header
    private let frameLimit: Int

    init(frameLimit: Int = DecodingLimits.default.frameCount) { self.frameLimit = frameLimit }

    /// The part to read next.
    private enum Stage {
        case header
        /// The global palette and its length.
        case globalPalette(Int)
        /// The palette of the open frame and its length.
        case localPalette(Int)
        /// The first byte of a block.
        case introducer
        /// The block after Netscape's extension name.
        case repeatCount
        /// Blocks to skip.
        case ignored
        /// The minimum code size.
        case codeSize
        case codes
    }

    enum End: Sendable {
        /// The trailer.
        case trailer
        /// The file ends between blocks.
        case missingTrailer
        /// A byte that starts no block.
        case unknownBlock
        /// The file ends within a block.
        case incompleteBlock
    }

    /// Appends bytes and reads as far as possible.
    ///
    /// - Parameter stopsAtFrame: whether to stop after the first frame's descriptor.
    /// - Throws: ``WebImageError/decoding(format:reason:url:)`` if this is not a GIF.
    mutating func append(_ next: Data, stopsAtFrame: Bool = false) throws(WebImageError) {
        byteCount += next.count
        guard end == nil else { return }
        if bytes.isEmpty {
            bytes = next
        } else {
            // A slice keeps all of its memory, so it is copied when most of it has been read.
            if bytes.startIndex > bytes.count { bytes = bytes.withUnsafeBytes { Data($0) } }
            bytes.append(next)
        }
        while end == nil, !(stopsAtFrame && openFrame != nil), try readNext() {}
        if openCodes == nil { drop() }
    }

    /// Marks the end of the file.
    mutating func finish() {
        guard end == nil else { return }
        if case .introducer = stage, bytes.count == offset { end = .missingTrailer } else { end = .incompleteBlock }
        guard var frame = openFrame else { return }
        frame.codes = openCodes ?? Data()
        frame.palette = frame.palette ?? globalPalette
        frames.append(frame)
        openFrame = nil
        bytes = Data()
    }

    /// The canvas: the logical screen, extended to include the first frame. Some programs set the screen to 0×0, and
    /// browsers show the whole frame. `nil` before the first frame or the end.
    var size: PixelSize? {
        guard var size = screen, let first = frames.first ?? openFrame else { return end == nil ? nil : screen }
        size.width = max(size.width, first.left + first.size.width)
        size.height = max(size.height, first.top + first.size.height)
        return size
    }

    /// The first frame with its codes so far; `nil` before there are any. If a caller holds it, the next append copies
    /// its bytes.
    var firstFrame: GIFFrame? {
        if let first = frames.first { return first }
        guard var frame = openFrame, let codes = openCodes else { return nil }
        frame.codes = codes
        return frame
    }

    private var openCodes: Data? {
        if case .codes = stage, openFrame != nil { bytes } else { nil }
    }

    /// How often it plays, 0 means forever; the file stores the number of repetitions.
    var loopCount: Int {
        switch repeatCount {
        case nil: 1
        case 0: 0
        case let count?: count + 1
        }
    }

    /// Whether the first frame may leave pixels of the canvas transparent.
    var hasAlpha: Bool {
        guard let size, let first = frames.first ?? openFrame else { return false }
        return hasTransparentColor || !first.part(on: size).covers(size)
    }

    // MARK: Reading

    /// Reads one block; returns `false` if it is incomplete or ends the file.
    private mutating func readNext() throws(WebImageError) -> Bool {
        // A separate reference, so that the span does not borrow `self`.
        let bytes = bytes
        let data = bytes.bytes
        switch stage {
        case .header: return try readHeader(data)
        case .globalPalette(let count), .localPalette(let count):
            guard data.byteCount - offset >= count else { return false }
            let palette = bytes.dropFirst(offset).prefix(count)
            offset += count
            if openFrame == nil {
                globalPalette = palette
                stage = .introducer
            } else {
                openFrame?.palette = palette
                stage = .codeSize
            }
            return true
        case .introducer: return try readIntroducer(data)
        case .repeatCount:
            guard let block = nextBlock(data) else { return false }
            if block.count == 3, data.byte(at: block.lowerBound) == 1 {
                repeatCount = data.integer(at: block.lowerBound + 1, count: 2, isBigEndian: false)
            }
            stage = block.isEmpty ? .introducer : .ignored
            return true
        case .ignored:
            guard let block = nextBlock(data) else { return false }
            metadataByteCount += block.count + 1
            if block.isEmpty { stage = .introducer }
            return true
        case .codeSize:
            guard offset < data.byteCount else { return false }
            drop()
            offset = 1
            stage = .codes
            return true
        case .codes:
            guard let block = nextBlock(data) else { return false }
            if block.isEmpty { closeFrame() }
            return true
        }
    }

    private mutating func readHeader(_ data: RawSpan) throws(WebImageError) -> Bool {
        guard data.byteCount >= 13 else { return false }
        guard data.hasText("GIF87a", at: 0) || data.hasText("GIF89a", at: 0),
            let width = data.integer(at: 6, count: 2, isBigEndian: false),
            let height = data.integer(at: 8, count: 2, isBigEndian: false), let flags = data.byte(at: 10)
        else { throw .decoding(format: .gif, reason: .corrupt("no GIF signature")) }
        screen = PixelSize(width: width, height: height)
        offset = 13
        stage = Self.paletteLength(flags).map(Stage.globalPalette) ?? .introducer
        return true
    }

    private mutating func readIntroducer(_ data: RawSpan) throws(WebImageError) -> Bool {
        switch data.byte(at: offset) {
        case nil: return false
        case 0x21: return readExtension(data)
        case 0x2C: return try readDescriptor(data)
        case 0x3B: end = .trailer
        default: end = .unknownBlock
        }
        return false
    }

    /// Reads the label and the first block of an extension.
    private mutating func readExtension(_ data: RawSpan) -> Bool {
        guard let label = data.byte(at: offset + 1), let length = data.byte(at: offset + 2),
            offset + 3 + Int(length) <= data.byteCount
        else { return false }
        let start = offset + 3
        if label == 0xF9, length >= 4 { control = GIFFrame.Control(reading: data, at: start) }
        // Netscape's extension, and a copy of it.
        let setsRepeatCount =
            label == 0xFF && length == 11
            && (data.hasText("NETSCAPE2.0", at: start) || data.hasText("ANIMEXTS1.0", at: start))
        if label != 0xF9 { metadataByteCount += Int(length) + 3 }
        offset = start + Int(length)
        stage = length == 0 ? .introducer : setsRepeatCount ? .repeatCount : .ignored
        return true
    }

    private mutating func readDescriptor(_ data: RawSpan) throws(WebImageError) -> Bool {
        guard frames.count < frameLimit else { throw .limitExceeded(reason: .frames(limit: frameLimit)) }
        let start = offset + 1
        func number(at position: Int) -> Int? { data.integer(at: start + position, count: 2, isBigEndian: false) }
        guard let left = number(at: 0), let top = number(at: 2), let width = number(at: 4), let height = number(at: 6),
            let flags = data.byte(at: start + 8)
        else { return false }
        offset = start + 9
        let paletteLength = Self.paletteLength(flags)
        openFrame = GIFFrame(
            left: left, top: top, size: PixelSize(width: width, height: height), isInterlaced: flags & 0x40 != 0,
            palette: paletteLength == nil ? globalPalette : nil, duration: control.duration,
            transparentIndex: control.transparentIndex, disposal: control.disposal)
        hasTransparentColor = hasTransparentColor || control.transparentIndex != nil
        control = GIFFrame.Control()
        stage = paletteLength.map(Stage.localPalette) ?? .codeSize
        return true
    }

    private mutating func closeFrame() {
        guard var frame = openFrame else { return }
        frame.codes = bytes.prefix(offset)
        frame.isWhole = true
        frames.append(frame)
        openFrame = nil
        drop()
        stage = .introducer
    }

    /// Skips the next block and returns its range; `nil` if it is incomplete.
    private mutating func nextBlock(_ data: RawSpan) -> Range<Int>? {
        guard let length = data.byte(at: offset), offset + 1 + Int(length) <= data.byteCount else { return nil }
        let start = offset + 1
        offset = start + Int(length)
        return start..<offset
    }

    /// The length of the palette that `flags` announce.
    private static func paletteLength(_ flags: UInt8) -> Int? { flags & 0x80 != 0 ? 3 << (Int(flags & 7) + 1) : nil }

    /// Drops the bytes that have been read.
    private mutating func drop() {
        bytes = bytes.dropFirst(offset)
        offset = 0
    }
}

/// A frame of a GIF as stored.
struct GIFFrame: Sendable {
    /// The position on the canvas; the frame may extend beyond it.
    let left: Int
    let top: Int
    let size: PixelSize
    let isInterlaced: Bool
    /// Three bytes per color; local or global. `nil` if there is none.
    var palette: Data?
    let duration: Duration
    let transparentIndex: UInt8?
    let disposal: FramePart.Disposal
    /// The minimum code size, then blocks of codes, each preceded by its length, up to one of length 0. Incomplete
    /// while the frame is arriving, or if the file is truncated.
    var codes = Data()
    /// Whether ``codes`` is complete.
    var isWhole = false

    /// Returns the part of a canvas of `canvasSize` that the frame changes.
    func part(on canvasSize: PixelSize) -> FramePart {
        let width = min(size.width, canvasSize.width - left)
        let height = min(size.height, canvasSize.height - top)
        let isVisible = width > 0 && height > 0
        return FramePart(
            left: isVisible ? left : 0, top: isVisible ? top : 0,
            size: isVisible ? PixelSize(width: width, height: height) : PixelSize(width: 0, height: 0),
            duration: duration, blend: .over, disposal: disposal, isOpaque: isOpaque)
    }

    /// Whether every possible index has an opaque color.
    private var isOpaque: Bool {
        guard transparentIndex == nil, let minimumCodeSize = codes.first else { return false }
        guard let palette else { return true }
        return palette.count >= 3 << min(minimumCodeSize, 8)
    }

    /// The graphic control extension of the next frame.
    struct Control {
        var duration = FrameDuration.played(.zero)
        var transparentIndex: UInt8?
        var disposal = FramePart.Disposal.keep

        init() {}

        /// - Parameter offset: the offset of the block's content.
        init(reading data: RawSpan, at offset: Int) {
            guard let flags = data.byte(at: offset),
                let hundredths = data.integer(at: offset + 1, count: 2, isBigEndian: false)
            else { return }
            duration = FrameDuration.played(.milliseconds(hundredths * 10))
            transparentIndex = flags & 1 != 0 ? data.byte(at: offset + 3) : nil
            // Browsers treat 4 like 3, since some old programs took the value for a set of bits. Larger values are
            // reserved and mean keep.
            disposal =
                switch flags >> 2 & 7 {
                case 2: .clear
                case 3, 4: .restore
                default: .keep
                }
        }
    }
}
