internal import WebImageCoding
internal import WebImageCore

/// What a coded image takes to decode, read from its bit stream: the file's own boxes may tell less.
struct CodedPicture {
    /// The larger of what the boxes and the stream tell.
    private(set) var size: PixelSize
    /// The largest that the stream tells; `nil` without a header that can be read.
    private(set) var streamSize: PixelSize?
    /// The pictures in the stream; decoders may keep as many.
    private(set) var pictureCount = 0
    /// Half bytes of samples a pixel.
    private(set) var halfByteCount = 3

    /// What a decoder keeps at most: both formats have 16 or fewer pictures for reference.
    private static let pictureLimit = 17

    /// About the bytes of all pictures.
    var byteCount: Int {
        // With motion vectors and other notes about blocks.
        let byteCount = size.pixelCount * halfByteCount / 2 + size.pixelCount / 4
        return byteCount * min(max(1, pictureCount), Self.pictureLimit)
    }

    private let isAV1: Bool

    /// - Parameters:
    ///   - size: what `ispe` tells.
    ///   - type: `av01` or `hvc1`.
    ///   - configuration: the content of `av1C` or `hvcC`.
    init(size: PixelSize, type: String, configuration: Range<Int>, in bytes: RawSpan) {
        self.size = size
        isAV1 = type == "av01"
        let start = configuration.lowerBound
        if isAV1 {
            let flags = bytes.number(at: start + 2, 1) ?? 0
            setFormat(
                chroma: flags & 0x10 != 0 ? 0 : 3 - (flags >> 3 & 1) - (flags >> 2 & 1), isDeep: flags & 0x40 != 0)
            readAV1(min(start + 4, configuration.upperBound)..<configuration.upperBound, in: bytes)
        } else {
            setFormat(
                chroma: (bytes.number(at: start + 16, 1) ?? 1) & 3,
                isDeep: (bytes.number(at: start + 17, 1) ?? 0) & 7 > 0)
            readParameterSets(configuration, in: bytes)
        }
    }

    /// Reads the stream.
    mutating func read(_ data: Range<Int>, in bytes: RawSpan) {
        if isAV1 { readAV1(data, in: bytes) } else { readHEVC(data, in: bytes) }
    }

    /// - Parameter chroma: as in HEVC: none, a quarter, half, all.
    private mutating func setFormat(chroma: Int, isDeep: Bool) {
        halfByteCount = [2, 3, 4, 6][chroma] * (isDeep ? 2 : 1)
    }

    private mutating func include(width: Int, height: Int) {
        size = PixelSize(width: max(size.width, width), height: max(size.height, height))
        streamSize = PixelSize(
            width: max(streamSize?.width ?? 0, width), height: max(streamSize?.height ?? 0, height))
    }

    // MARK: AV1

    /// Reads the units of a stream: a header, a length, and content (AV1, 5.3).
    private mutating func readAV1(_ range: Range<Int>, in bytes: RawSpan) {
        var offset = range.lowerBound
        while offset < range.upperBound, let header = bytes.number(at: offset, 1) {
            offset += header & 4 != 0 ? 2 : 1
            var length = range.upperBound - offset
            if header & 2 != 0 {
                length = 0
                for index in 0..<5 {
                    guard let byte = bytes.number(at: offset, 1) else { return }
                    offset += 1
                    length |= (byte & 0x7F) << (7 * index)
                    if byte & 0x80 == 0 { break }
                }
            }
            guard length >= 0, offset + length <= range.upperBound else { return }
            switch header >> 3 & 15 {
            case 1: readSequenceHeader(offset..<offset + length, in: bytes)
            case 3, 6: pictureCount += 1
            default: break
            }
            offset += length
        }
    }

    /// AV1, 5.5.1.
    private mutating func readSequenceHeader(_ range: Range<Int>, in bytes: RawSpan) {
        var bits = BitReader(bytes, range, skipsEmulationPrevention: false)
        _ = bits.read(4)
        if bits.read(1) == 1 {
            _ = bits.read(5)
        } else {
            var (hasDecoderModel, delayLength) = (false, 0)
            if bits.read(1) == 1 {
                _ = bits.read(32)
                _ = bits.read(32)
                if bits.read(1) == 1 { _ = bits.readExponential() }
                hasDecoderModel = bits.read(1) == 1
                if hasDecoderModel {
                    delayLength = bits.read(5) + 1
                    _ = bits.read(32)
                    _ = bits.read(10)
                }
            }
            let hasDelays = bits.read(1) == 1
            for _ in 0...bits.read(5) {
                _ = bits.read(12)
                if bits.read(5) > 7 { _ = bits.read(1) }
                if hasDecoderModel, bits.read(1) == 1 {
                    _ = bits.read(delayLength)
                    _ = bits.read(delayLength)
                    _ = bits.read(1)
                }
                if hasDelays, bits.read(1) == 1 { _ = bits.read(4) }
            }
        }
        let (widthLength, heightLength) = (bits.read(4) + 1, bits.read(4) + 1)
        let (width, height) = (bits.read(widthLength) + 1, bits.read(heightLength) + 1)
        if !bits.isExhausted { include(width: width, height: height) }
    }

    // MARK: HEVC

    /// Reads the arrays of parameter sets in `hvcC` (ISO/IEC 14496-15, 8.3.3.1).
    private mutating func readParameterSets(_ range: Range<Int>, in bytes: RawSpan) {
        var offset = range.lowerBound + 23
        for _ in 0..<(bytes.number(at: offset - 1, 1) ?? 0) {
            guard let count = bytes.number(at: offset + 1, 2) else { return }
            offset += 3
            for _ in 0..<count {
                guard let length = bytes.number(at: offset, 2), offset + 2 + length <= range.upperBound else { return }
                readUnit(offset + 2..<offset + 2 + length, in: bytes)
                offset += 2 + length
            }
        }
    }

    /// Reads the units of a stream, each after its length of four bytes: libheif supports no other.
    private mutating func readHEVC(_ range: Range<Int>, in bytes: RawSpan) {
        var offset = range.lowerBound
        while let length = bytes.number(at: offset, 4), offset + 4 + length <= range.upperBound {
            readUnit(offset + 4..<offset + 4 + length, in: bytes)
            offset += 4 + length
        }
    }

    private mutating func readUnit(_ range: Range<Int>, in bytes: RawSpan) {
        guard range.count > 2, let header = bytes.number(at: range.lowerBound, 2) else { return }
        // Further layers are not decoded.
        guard header >> 3 & 0x3F == 0 else { return }
        switch header >> 9 & 0x3F {
        case 0..<32: if (bytes.number(at: range.lowerBound + 2, 1) ?? 0) & 0x80 != 0 { pictureCount += 1 }
        case 33: readSequenceParameters(range.lowerBound + 2..<range.upperBound, in: bytes)
        default: break
        }
    }

    /// ITU-T H.265, 7.3.2.2 and 7.3.3.
    private mutating func readSequenceParameters(_ range: Range<Int>, in bytes: RawSpan) {
        var bits = BitReader(bytes, range, skipsEmulationPrevention: true)
        _ = bits.read(4)
        let layerCount = bits.read(3)
        _ = bits.read(1)
        for _ in 0..<3 { _ = bits.read(32) }
        let layers = (0..<layerCount).map { _ in (hasProfile: bits.read(1) == 1, hasLevel: bits.read(1) == 1) }
        if layerCount > 0 { _ = bits.read(2 * (8 - layerCount)) }
        for layer in layers {
            if layer.hasProfile { for _ in 0..<11 { _ = bits.read(8) } }
            if layer.hasLevel { _ = bits.read(8) }
        }
        _ = bits.readExponential()
        let chroma = bits.readExponential()
        if chroma == 3 { _ = bits.read(1) }
        let (width, height) = (bits.readExponential(), bits.readExponential())
        if !bits.isExhausted { include(width: width, height: height) }
    }
}

/// Reads bits, the most significant first.
private struct BitReader {
    private var bytes: [UInt8] = []
    private var position = 0
    /// Whether more was read than there is; the numbers are 0 then.
    private(set) var isExhausted = false

    /// The headers are shorter.
    private static let byteLimit = 512

    /// - Parameter skipsEmulationPrevention: whether a 3 after two zeros is no data.
    init(_ source: RawSpan, _ range: Range<Int>, skipsEmulationPrevention: Bool) {
        for offset in range.prefix(Self.byteLimit) {
            guard let byte = source.byte(at: offset) else { return }
            if skipsEmulationPrevention, byte == 3, offset >= range.lowerBound + 2,
                source.number(at: offset - 2, 2) == 0
            {
                continue
            }
            bytes.append(byte)
        }
    }

    mutating func read(_ count: Int) -> Int {
        guard position + count <= bytes.count * 8 else {
            isExhausted = true
            return 0
        }
        var value = 0
        for _ in 0..<count {
            value = value << 1 | Int(bytes[position / 8] >> (7 - UInt8(position % 8)) & 1)
            position += 1
        }
        return value
    }

    /// An Exponential-Golomb code.
    mutating func readExponential() -> Int {
        var zeroCount = 0
        while read(1) == 0 {
            zeroCount += 1
            if isExhausted || zeroCount > 31 {
                isExhausted = true
                return 0
            }
        }
        return (1 << zeroCount) - 1 + read(zeroCount)
    }
}
