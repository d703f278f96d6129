internal import WebImageCore

/// The chunks of a PNG, found by hopping from length to length: which of them make up its pictures.
///
/// It can be read on as more bytes arrive. Checksums of pixel data are left to those who unpack them.
struct PNGFile: Sendable {
    /// The still: what programs without animation show; `nil` before the header.
    private(set) var still: PNGPicture?
    /// The frames of an APNG; `nil` for others, and for one that breaks a rule, which is then a still.
    private(set) var animation: APNGSequence?
    /// What stopped the reading.
    private(set) var end = End.missing

    /// How many bytes the chunks have that a decoder may leave out, as far as they are there.
    var metadataByteCount: Int { wholeMetadataByteCount + openMetadataByteCount }
    private var wholeMetadataByteCount = 0
    private var openMetadataByteCount = 0

    private var offset = 0
    private var stage = Stage.beforeData

    /// What stands behind the last whole chunk.
    enum End: Sendable, Equatable {
        /// Nothing yet, or a part of a chunk.
        case missing
        /// The chunk that ends the file.
        case whole
        /// What can't be.
        case damaged(String)
    }

    private enum Stage {
        case beforeData, inData, behindData
    }

    /// Reads on, in the whole of the bytes so far.
    mutating func read(_ data: RawSpan) {
        if offset == 0 {
            guard data.byteCount >= Self.signature.utf8CodeUnitCount + 1 else { return }
            guard data.byte(at: 0) == 0x89, data.hasText(Self.signature, at: 1) else {
                end = .damaged("no signature")
                return
            }
            offset = 1 + Self.signature.utf8CodeUnitCount
        }
        // The beginning of a chunk that was cut is there again, longer.
        if stage == .inData, still?.chunks.last?.isWhole == false { still?.chunks.removeLast() }
        animation?.dropCutData()
        while end == .missing, let chunk = PNGChunk(reading: data, at: offset) {
            guard chunk.name.isValid else {
                end = .damaged("a chunk with an impossible name")
                return
            }
            countMetadata(chunk)
            if !chunk.isWhole && chunk.name != .data && chunk.name != .frameData { return }
            read(chunk, in: data)
            guard chunk.isWhole, end == .missing else { return }
            offset = chunk.end
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
        if stage == .inData, chunk.name != .data { stage = .behindData }
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
            end = .damaged(still == nil ? "no usable header" : "a second header")
            return
        }
        still = PNGPicture(layout: layout)
    }

    /// In pictures without indices a palette is only a hint.
    private mutating func readPalette(_ chunk: PNGChunk, in data: RawSpan) {
        let count = chunk.content.count
        guard chunk.isIntact(in: data) else {
            end = .damaged("wrong checksum of PLTE")
            return
        }
        guard still?.layout.colorType == .palette else { return }
        guard stage == .beforeData, still?.palette.isEmpty == true, count > 0, count <= 256 * 3, count % 3 == 0 else {
            end = .damaged("a palette of \(count) bytes, or out of place")
            return
        }
        still?.palette = Self.bytes(of: chunk, in: data)
    }

    /// One that breaks a rule is left out, as browsers do.
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

    /// Data behind other chunks that follow the first do not count, as in libpng.
    private mutating func readData(_ chunk: PNGChunk) {
        guard stage != .behindData else { return }
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
    }

    private var hasAnimationChunk = false

    private mutating func readFrame(_ chunk: PNGChunk, in data: RawSpan) {
        if animation?.read(chunk, in: data, isBehindStill: stage == .behindData) == false { animation = nil }
    }

    private static func bytes(of chunk: PNGChunk, in data: RawSpan) -> [UInt8] {
        data.extracting(chunk.content).withUnsafeBytes { Array($0) }
    }

    /// Each is remembered. Programs write 8 KB a chunk or more, so that 100 megapixels have 50,000.
    static let dataChunkLimit = 1 << 20

    /// Without its first byte, 0x89.
    private static let signature: StaticString = "PNG\r\n\u{1A}\n"
}
