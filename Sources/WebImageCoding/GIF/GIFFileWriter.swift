internal import FoundationEssentials

/// Puts a GIF together, block by block (GIF 89a, appendix A).
struct GIFFileWriter {
    private var file = Data("GIF89a".utf8)

    /// - Parameters:
    ///   - palette: that of all frames that bring none of their own.
    ///   - loopCount: how often it plays, 0 for ever; the file counts repetitions, after the first play. `nil` for a still.
    init(size: (width: Int, height: Int), palette: GIFPalette, loopCount: Int?) {
        file += Self.bytes(of: size.width) + Self.bytes(of: size.height)
        file += [0xF0 | UInt8(palette.bitCount - 1), 0, 0]
        file += palette.table
        guard let loopCount, loopCount != 1 else { return }
        let repeatCount = loopCount <= 0 ? 0 : min(loopCount - 1, 0xFFFF)
        file += [0x21, 0xFF, 11] + Data("NETSCAPE2.0".utf8) + [3, 1] + Self.bytes(of: repeatCount) + [0]
    }

    /// Adds a frame.
    ///
    /// - Parameters:
    ///   - ownPalette: `nil` if it uses the file's.
    ///   - codes: of its indices, from the minimum code size on.
    mutating func append(
        _ area: PixelArea, ownPalette: GIFPalette?, transparentIndex: UInt8?, hundredths: Int,
        disposal: FramePart.Disposal, codes: [UInt8]
    ) {
        let disposalNumber: UInt8 = disposal == .clear ? 2 : 1
        file += [0x21, 0xF9, 4, disposalNumber << 2 | (transparentIndex == nil ? 0 : 1)]
        file += Self.bytes(of: hundredths) + [transparentIndex ?? 0, 0, 0x2C]
        for number in [area.columns.lowerBound, area.rows.lowerBound, area.columns.count, area.rows.count] {
            file += Self.bytes(of: number)
        }
        if let ownPalette {
            file.append(0x80 | UInt8(ownPalette.bitCount - 1))
            file += ownPalette.table
        } else {
            file.append(0)
        }
        file += codes
    }

    /// The whole file.
    mutating func finish() -> Data {
        file.append(0x3B)
        return file
    }

    /// Lowest first.
    private static func bytes(of number: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
    }
}
