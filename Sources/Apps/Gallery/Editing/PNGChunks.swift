import CWebImageDeflate
import FoundationEssentials
import WebImageGTK

/// The chunks of a PNG (W3C PNG, third edition) that describe more than its pixels, to be put into the rotated file: texts, the time, the
/// resolution.
///
/// Metadata and colors are left out, which the encoder writes, and what only decoders of the former pixels need.
struct PNGChunks {
    /// Those before the pixels, and those behind. Editors must not exchange them.
    private var leading = Data()
    private var trailing = Data()

    private static let signatureByteCount = 8
    /// The signature, and IHDR with its checksum.
    private static let headerByteCount = 33
    private static let endByteCount = 12

    /// Finds the chunks.
    ///
    /// - Parameters:
    ///   - swapsSides: whether the rotation exchanges width and height.
    ///   - hasXMP: whether the encoder writes XMP.
    init(of file: Data, swapsSides: Bool, hasXMP: Bool) throws(PhotoRotation.Refusal) {
        let file = [UInt8](file)
        var offset = Self.signatureByteCount
        var (isBehindPixels, isSRGB) = (false, false)
        while let chunk = PNGChunk(in: file, at: offset) {
            offset += chunk.byteCount
            switch chunk.name {
            case "IEND":
                guard file[offset...].allSatisfy({ $0 == 0 }) else {
                    throw .loses(localized("what follows the image in the file"))
                }
                return
            case "IDAT": isBehindPixels = true
            case "IHDR", "PLTE", "eXIf", "iCCP": break
            // The image has no transparent pixels.
            case "tRNS", "bKGD": break
            // Those of the former pixels: how often each color is used, and Apple's offsets of parts.
            case "hIST", "iDOT": break
            case "sRGB": isSRGB = true
            case "gAMA", "cHRM", "cICP":
                guard chunk.name != "cICP" && isSRGB || chunk.describesSRGB else {
                    throw .init(description: localized("Its colors would lose precision. Save a copy instead."))
                }
            case "iTXt" where hasXMP && chunk.content.starts(with: Array("XML:com.adobe.xmp\0".utf8)): break
            default:
                let kept = try chunk.rotated(swapsSides: swapsSides).bytes
                if isBehindPixels { trailing += kept } else { leading += kept }
            }
        }
        throw .init(description: localized("The file is damaged."))
    }

    /// Returns a file of the encoder with the chunks.
    func added(to file: Data) -> Data {
        file.prefix(Self.headerByteCount) + leading + file.dropFirst(Self.headerByteCount).dropLast(Self.endByteCount)
            + trailing + file.suffix(Self.endByteCount)
    }
}

/// A part of a PNG: a length, a name, the content, and a checksum.
struct PNGChunk {
    let name: String
    var content: ArraySlice<UInt8>

    /// The length, the name and the checksum.
    private static let frameByteCount = 12

    var byteCount: Int { Self.frameByteCount + content.count }

    /// `nil` behind the last whole chunk.
    init?(in file: [UInt8], at offset: Int) {
        guard offset + Self.frameByteCount <= file.count else { return nil }
        let length = file[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
        let start = offset + 8
        guard length <= file.count - offset - Self.frameByteCount else { return nil }
        name = String(decoding: file[offset + 4..<start], as: UTF8.self)
        content = file[start..<start + length]
    }

    /// Returns the chunk of the rotated image.
    func rotated(swapsSides: Bool) throws(PhotoRotation.Refusal) -> PNGChunk {
        var result = self
        switch name {
        case "pHYs" where content.count == 9:
            if swapsSides { result.content = content.dropFirst(4).prefix(4) + content.prefix(4) + content.suffix(1) }
        // The encoder writes red, green and blue.
        case "sBIT":
            let gray = content.prefix(1)
            result.content = content.count < 3 ? gray + gray + gray : content.prefix(3)
        case "tIME", "sPLT": break
        default:
            // Its fourth letter tells whether it holds for other pixels; its first one, whether decoders must know it.
            let letters = Array(name.utf8)
            guard letters.count == 4, letters[3] & 0x20 != 0, letters[0] & 0x20 != 0 else {
                throw .loses(localized("its PNG chunk “{name}”", ["name": name]))
            }
        }
        return result
    }

    /// Whether the chunk gives sRGB's gamma, primaries or code points.
    var describesSRGB: Bool {
        func numbers() -> [Int] {
            stride(from: content.startIndex, to: content.endIndex, by: 4).map { start in
                content[start..<min(start + 4, content.endIndex)].reduce(0) { $0 << 8 | Int($1) }
            }
        }
        return switch name {
        case "gAMA": numbers() == [45_455]
        case "cHRM": numbers() == [31_270, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6_000]
        case "cICP": Array(content) == [1, 13, 0, 1]
        default: false
        }
    }

    var bytes: Data { Self.bytes(name, content) }

    /// Returns a chunk with its length and checksum.
    static func bytes(_ name: String, _ content: some Collection<UInt8>) -> Data {
        let named = Array(name.utf8) + content
        return bytes(of: content.count) + Data(named) + bytes(of: Int(libdeflate_crc32(0, named, named.count)))
    }

    /// Big-endian, 32 bits.
    static func bytes(of number: Int) -> Data {
        Data([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) })
    }
}

extension PhotoRotation.Refusal {
    fileprivate static func loses(_ part: String) -> Self {
        Self(description: localized("The rotated file would lose {part}. Save a copy instead.", ["part": part]))
    }
}
