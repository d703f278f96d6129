internal import FoundationEssentials

/// Puts a GIF together, block by block (GIF 89a, appendix A).
struct GIFFileWriter {
    private let sides: [UInt8]
    /// What stands behind the palette.
    private var blocks = Data()

    /// - Parameter loopCount: how often it plays, 0 for ever; the file counts repetitions, after the first play. `nil` for a
    ///   still.
    init(width: Int, height: Int, loopCount: Int?) {
        sides = Self.bytes(of: width) + Self.bytes(of: height)
        guard let loopCount, loopCount != 1 else { return }
        let repeatCount = loopCount <= 0 ? 0 : min(loopCount - 1, 0xFFFF)
        blocks += [0x21, 0xFF, 11] + Data("NETSCAPE2.0".utf8) + [3, 1] + Self.bytes(of: repeatCount) + [0]
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
        blocks += [0x21, 0xF9, 4, disposalNumber << 2 | (transparentIndex == nil ? 0 : 1)]
        blocks += Self.bytes(of: hundredths) + [transparentIndex ?? 0, 0, 0x2C]
        for number in [area.columns.lowerBound, area.rows.lowerBound, area.columns.count, area.rows.count] {
            blocks += Self.bytes(of: number)
        }
        if let ownPalette {
            blocks.append(0x80 | UInt8(ownPalette.bitCount - 1))
            blocks += ownPalette.table
        } else {
            blocks.append(0)
        }
        blocks += codes
    }

    /// The whole file.
    ///
    /// - Parameter palette: that of all frames that brought none of their own.
    func finish(palette: GIFPalette) -> Data {
        var file = Data("GIF89a".utf8) + sides + [0xF0 | UInt8(palette.bitCount - 1), 0, 0]
        file += palette.table
        file += blocks
        file.append(0x3B)
        return file
    }

    /// Lowest first.
    private static func bytes(of number: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
    }
}
