internal import CWebImageDeflate
internal import WebImageCore

/// The chunks of the images in a PNG. It can continue after more bytes have arrived. The checksums of pixel data are
/// checked when they are decompressed.
struct PNGFile: Sendable {
    /// The default image, which programs without APNG support show; `nil` before the header.
    private(set) var still: PNGImage?
    /// The frames of an APNG; `nil` for others, and for one that breaks a rule, which is a still image then.
    private(set) var animation: APNGSequence?
    /// Why reading stopped.
    private(set) var end = End.missing

    /// The bytes of chunks that a decoder may skip, as far as they have arrived.
    var metadataByteCount: Int { wholeMetadataByteCount + openMetadataByteCount }
    private var wholeMetadataByteCount = 0
    private var openMetadataByteCount = 0

    private var chunks = PNGChunks()
    private var stage = Stage.beforeData

    enum End: Sendable, Equatable {
        /// More bytes are needed.
        case missing
        /// The end chunk was read.
        case whole
        /// The file is invalid.
        case damaged(String)
    }

    private enum Stage {
        case beforeData, inData, afterData
    }

    /// Reads the new chunks in the file's bytes so far.
    mutating func read(_ data: RawSpan) {
        guard let hasSignature = PNGChunks.hasSignature(data) else { return }
        guard hasSignature else {
            end = .damaged("no signature")
            return
        }
        // An incomplete chunk is read again, longer.
        if stage == .inData, still?.chunks.last?.isWhole == false { still?.chunks.removeLast() }
        animation?.dropIncompleteChunk()
        while end == .missing, let chunk = chunks.next(in: data) {
            guard chunk.name.isValid else {
                end = .damaged("an invalid chunk name")
                return
            }
            countMetadata(chunk)
            if !chunk.isWhole && chunk.name != .data && chunk.name != .frameData { return }
            read(chunk, in: data)
            guard chunk.isWhole else { return }
        }
    }

    private mutating func countMetadata(_ chunk: PNGChunk) {
        let isMetadata = chunk.name.isAncillary && chunk.name != .frame && chunk.name != .frameData
        openMetadataByteCount = isMetadata && !chunk.isWhole ? chunk.content.count : 0
        if isMetadata, chunk.isWhole { wholeMetadataByteCount += chunk.content.count }
    }

    private mutating func read(_ chunk: PNGChunk, in data: RawSpan) {
        if still == nil || chunk.name == .header {
            readHeader(chunk, in: data)
            return
        }
        if stage == .inData, chunk.name != .data { stage = .afterData }
        switch chunk.name {
        case .palette: readPalette(chunk, in: data)
        case .transparency: readTransparency(chunk, in: data)
        case .data: readData(chunk)
        case .end: readEnd(chunk, in: data)
        case .animation: readAnimation(chunk, in: data)
        case .frame, .frameData: readFrame(chunk, in: data)
        default:
            if !chunk.name.isAncillary { end = .damaged("unknown chunk \(chunk.name.text)") }
        }
    }

    private mutating func readHeader(_ chunk: PNGChunk, in data: RawSpan) {
        guard still == nil, chunk.name == .header, chunk.content.count == 13, chunk.isIntact(in: data),
            let layout = PNGLayout(reading: data, at: chunk.content.lowerBound)
        else {
            end = .damaged(still == nil ? "no valid header" : "a second header")
            return
        }
        still = PNGImage(layout: layout)
    }

    /// Without indices, a palette is only a suggestion.
    private mutating func readPalette(_ chunk: PNGChunk, in data: RawSpan) {
        let count = chunk.content.count
        guard chunk.isIntact(in: data) else {
            end = .damaged("wrong checksum of PLTE")
            return
        }
        guard still?.layout.colorType == .palette else { return }
        guard stage == .beforeData, still?.palette.isEmpty == true, count > 0, count <= 256 * 3, count % 3 == 0 else {
            end = .damaged("an invalid or misplaced palette of \(count) bytes")
            return
        }
        still?.palette = Self.bytes(of: chunk, in: data)
    }

    /// An invalid one is ignored, as in browsers.
    private mutating func readTransparency(_ chunk: PNGChunk, in data: RawSpan) {
        guard let still, stage == .beforeData, still.transparency.isEmpty, chunk.isIntact(in: data) else { return }
        let isUsable =
            switch still.layout.colorType {
            case .gray: chunk.content.count == 2
            case .rgb: chunk.content.count == 6
            case .palette: chunk.content.count <= still.palette.count / 3
            case .grayAlpha, .rgba: false
            }
        if isUsable { self.still?.transparency = Self.bytes(of: chunk, in: data) }
    }

    /// Data chunks after others that follow the first are ignored, as in libpng.
    private mutating func readData(_ chunk: PNGChunk) {
        guard stage != .afterData else { return }
        guard (still?.chunks.count ?? 0) < Self.dataChunkLimit else {
            end = .damaged("more than \(Self.dataChunkLimit) chunks of data")
            return
        }
        if stage == .beforeData { animation?.beginStill() }
        stage = .inData
        still?.chunks.append(chunk)
    }

    private mutating func readEnd(_ chunk: PNGChunk, in data: RawSpan) {
        guard chunk.isIntact(in: data) else {
            end = .damaged("wrong checksum of IEND")
            return
        }
        end = .whole
        if animation?.end() == false { animation = nil }
    }

    private mutating func readAnimation(_ chunk: PNGChunk, in data: RawSpan) {
        guard let still, stage == .beforeData else { return }
        // A second one breaks the rules.
        let isFirst = animation == nil && !hasAnimationChunk
        hasAnimationChunk = true
        animation = isFirst ? APNGSequence(reading: chunk, in: data, canvasSize: still.layout.size) : nil
        for chunk in earlyFrames { readFrame(chunk, in: data) }
        earlyFrames = []
    }

    private var hasAnimationChunk = false
    /// The chunks of frames before acTL: more than one header is invalid, whatever they are.
    private var earlyFrames: [PNGChunk] = []

    private mutating func readFrame(_ chunk: PNGChunk, in data: RawSpan) {
        if !hasAnimationChunk, stage == .beforeData, chunk.isWhole, earlyFrames.count < 2 { earlyFrames.append(chunk) }
        if animation?.read(chunk, in: data, isBehindStill: stage == .afterData) == false { animation = nil }
    }

    /// Sets how pixels of 16 bits are converted, of the default image and of frames.
    mutating func convert(by conversion: DeepColorConversion) { still?.deepConversion = conversion }

    private static func bytes(of chunk: PNGChunk, in data: RawSpan) -> [UInt8] {
        data.extracting(chunk.content).withUnsafeBytes { Array($0) }
    }

    /// Chunks are kept. Programs write at least 8 KB per chunk, so 100 megapixels have 50,000.
    static let dataChunkLimit = 1 << 20
}

/// The data of one image in a PNG: the default image, or a frame of an animation.
struct PNGImage: Sendable {
    var layout: PNGLayout
    /// Red, green and blue of each index; empty for other color types.
    var palette: [UInt8] = []
    /// The content of tRNS: an alpha for each index, or the one transparent color.
    var transparency: [UInt8] = []
    /// The chunks of its zlib stream; the last may be incomplete.
    var chunks: [PNGChunk] = []
    /// The conversion of 16 bits to sRGB; `nil` for 8 bits, and if colors stay as they are: these are rounded.
    var deepConversion: DeepColorConversion?

    /// Whether a pixel may be transparent.
    var hasAlpha: Bool { layout.colorType.hasAlpha || !transparency.isEmpty }
}

/// The pixel format in IHDR (W3C PNG, third edition, 11.2.1).
struct PNGLayout: Sendable, Equatable {
    /// The size as stored.
    let size: PixelSize
    /// Bits of a channel, or of a palette index.
    let bitDepth: Int
    let colorType: ColorType
    let isInterlaced: Bool

    enum ColorType: UInt8 {
        case gray = 0
        case rgb = 2
        case palette = 3
        case grayAlpha = 4
        case rgba = 6

        var channelCount: Int {
            switch self {
            case .gray, .palette: 1
            case .grayAlpha: 2
            case .rgb: 3
            case .rgba: 4
            }
        }

        var hasAlpha: Bool { self == .grayAlpha || self == .rgba }

        fileprivate var bitDepths: Set<Int> {
            switch self {
            case .gray: [1, 2, 4, 8, 16]
            case .palette: [1, 2, 4, 8]
            case .grayAlpha, .rgb, .rgba: [8, 16]
            }
        }
    }

    /// Reads the chunk's content at `offset`; `nil` if it is invalid.
    init?(reading data: RawSpan, at offset: Int) {
        guard let width = data.integer(at: offset, count: 4, isBigEndian: true),
            let height = data.integer(at: offset + 4, count: 4, isBigEndian: true),
            (1...Self.maximumSide).contains(width), (1...Self.maximumSide).contains(height),
            let bitDepth = data.byte(at: offset + 8).map(Int.init),
            let colorType = data.byte(at: offset + 9).flatMap(ColorType.init), colorType.bitDepths.contains(bitDepth),
            data.integer(at: offset + 10, count: 2, isBigEndian: true) == 0,
            let interlacing = data.byte(at: offset + 12), interlacing <= 1
        else { return nil }
        size = PixelSize(width: width, height: height)
        self.bitDepth = bitDepth
        self.colorType = colorType
        isInterlaced = interlacing == 1
    }

    /// Creates a layout; the bit depth must be valid for the color type.
    init(size: PixelSize, bitDepth: Int = 8, colorType: ColorType, isInterlaced: Bool = false) {
        self.size = size
        self.bitDepth = bitDepth
        self.colorType = colorType
        self.isInterlaced = isInterlaced
    }

    /// Returns the layout of a frame of an APNG, which may be smaller.
    func resized(to size: PixelSize) -> PNGLayout {
        PNGLayout(size: size, bitDepth: bitDepth, colorType: colorType, isInterlaced: isInterlaced)
    }

    var bitsPerPixel: Int { colorType.channelCount * bitDepth }

    /// The chunk's content.
    var content: [UInt8] {
        let sides = [size.width, size.height].flatMap { side in
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: side >> $0) }
        }
        return sides + [UInt8(bitDepth), colorType.rawValue, 0, 0, isInterlaced ? 1 : 0]
    }

    /// The format's limit.
    private static let maximumSide = Int(Int32.max)
}

/// Reads the chunks of a PNG in order, without decompressing them. It can continue after more bytes have arrived.
struct PNGChunks: Sendable {
    private var offset = signatureByteCount
    /// Chunks may be so short that reading their names reads all of the file.
    private var pages = FilePages()

    /// Returns the next chunk; `nil` if its length and name have not arrived. A chunk that is not whole is returned again
    /// by the next call, so loops must stop at it.
    ///
    /// - Parameter data: the file from its first byte.
    mutating func next(in data: RawSpan) -> PNGChunk? {
        guard let chunk = PNGChunk(reading: data, at: offset) else { return nil }
        if chunk.isWhole {
            offset = chunk.end
            pages.release(before: offset, of: data)
        }
        return chunk
    }

    /// Whether `data` starts with the signature of a PNG; `nil` if it is too short.
    static func hasSignature(_ data: RawSpan) -> Bool? {
        guard data.byteCount >= signatureByteCount else { return nil }
        return data.byte(at: 0) == 0x89 && data.hasText("PNG\r\n\u{1A}\n", at: 1)
    }

    private static let signatureByteCount = 8
}

/// The location of a chunk in the file.
///
///     length (4) │ name (4) │ content │ checksum of name and content (4)
struct PNGChunk: Sendable {
    let name: Name
    /// The content, as far as it has arrived.
    let content: Range<Int>
    /// The length of the complete content.
    private let length: Int
    /// Whether content and checksum are complete.
    let isWhole: Bool

    fileprivate init?(reading data: RawSpan, at offset: Int) {
        guard let length = data.integer(at: offset, count: 4, isBigEndian: true),
            let name = data.integer(at: offset + 4, count: 4, isBigEndian: true)
        else { return nil }
        self.name = Name(rawValue: UInt32(name))
        self.length = length
        let start = offset + 8
        isWhole = start + length + Self.checksumByteCount <= data.byteCount
        content = start..<min(start + length, data.byteCount)
    }

    /// The offset of the next chunk.
    fileprivate var end: Int { content.upperBound + Self.checksumByteCount }

    /// Whether the content is complete.
    var hasContent: Bool { content.count == length }

    /// The part of the zlib stream in this chunk: in fdAT it follows a sequence number.
    var compressedBytes: Range<Int> {
        name == .frameData ? min(content.lowerBound + 4, content.upperBound)..<content.upperBound : content
    }

    /// Whether the checksum of a whole chunk is right.
    func isIntact(in data: RawSpan) -> Bool { isIntact(in: data) { _ in } }

    /// - Parameter onRead: called with the offset up to which the file was read, again and again.
    func isIntact(in data: RawSpan, onRead: (Int) -> Void) -> Bool {
        guard let checksum = data.integer(at: content.upperBound, count: 4, isBigEndian: true) else { return false }
        var sum: UInt32 = 0
        for start in stride(from: content.lowerBound - 4, to: content.upperBound, by: FilePages.stepByteCount) {
            let end = min(start + FilePages.stepByteCount, content.upperBound)
            sum = data.extracting(start..<end).withUnsafeBytes { libdeflate_crc32(sum, $0.baseAddress, $0.count) }
            onRead(end)
        }
        return sum == UInt32(checksum)
    }

    private static let checksumByteCount = 4

    /// Four letters as a big-endian number.
    struct Name: RawRepresentable, Sendable, Equatable {
        let rawValue: UInt32

        static let header = Name(rawValue: 0x4948_4452)  // IHDR
        static let palette = Name(rawValue: 0x504C_5445)  // PLTE
        static let transparency = Name(rawValue: 0x7452_4E53)  // tRNS
        static let codePoints = Name(rawValue: 0x6349_4350)  // cICP
        static let profile = Name(rawValue: 0x6943_4350)  // iCCP
        static let sRGB = Name(rawValue: 0x7352_4742)  // sRGB
        static let gamma = Name(rawValue: 0x6741_4D41)  // gAMA
        static let primaries = Name(rawValue: 0x6348_524D)  // cHRM
        static let exif = Name(rawValue: 0x6558_4966)  // eXIf
        static let text = Name(rawValue: 0x6954_5874)  // iTXt
        static let data = Name(rawValue: 0x4944_4154)  // IDAT
        static let end = Name(rawValue: 0x4945_4E44)  // IEND
        static let animation = Name(rawValue: 0x6163_544C)  // acTL
        static let frame = Name(rawValue: 0x6663_544C)  // fcTL
        static let frameData = Name(rawValue: 0x6664_4154)  // fdAT

        private var letters: [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: rawValue >> $0) } }

        var isValid: Bool {
            letters.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0 & ~0x20) }
        }
        /// Whether a decoder may skip the chunk if it does not know it: its first letter is lowercase.
        var isAncillary: Bool { rawValue & 0x2000_0000 != 0 }
        var text: String { String(decoding: letters, as: UTF8.self) }
    }
}
