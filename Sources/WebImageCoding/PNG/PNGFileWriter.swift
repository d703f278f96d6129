internal import CWebImageDeflate
internal import FoundationEssentials
internal import WebImageCore

/// Puts a PNG together from its chunks.
struct PNGFileWriter {
    private var file = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])

    /// The chunks that say what the pixels are: 8 bits a channel, sRGB, to be rendered as photographs are.
    mutating func appendHeader(of size: PixelSize, hasAlpha: Bool) {
        append(.header, PNGLayout(size: size, colorType: hasAlpha ? .rgba : .rgb).content)
        append(.sRGB, [0])
    }

    mutating func append(_ name: PNGChunk.Name, _ content: some Collection<UInt8>) {
        append(name, [], content)
    }

    /// A chunk whose content is in two places.
    mutating func append(_ name: PNGChunk.Name, _ prefix: [UInt8], _ content: some Collection<UInt8>) {
        file.append(contentsOf: Self.bytes(of: UInt32(prefix.count + content.count)))
        let start = file.count
        file.append(contentsOf: Self.bytes(of: name.rawValue))
        file.append(contentsOf: prefix)
        file.append(contentsOf: content)
        let checksum = file[start...].withUnsafeBytes { libdeflate_crc32(0, $0.baseAddress, $0.count) }
        file.append(contentsOf: Self.bytes(of: checksum))
    }

    /// The whole file.
    mutating func finish() -> Data {
        append(.end, [])
        return file
    }

    /// Highest first.
    static func bytes(of number: some FixedWidthInteger) -> [UInt8] {
        stride(from: number.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
