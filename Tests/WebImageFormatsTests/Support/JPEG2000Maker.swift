import CodingTestSupport
import Foundation
import WebImageCore

/// Makes JPEG 2000 files with any channels: opj_compress codes them, and the boxes around are written here.
struct JPEG2000Maker {
    let files: FormatFiles
    var size = PixelSize(width: 64, height: 48)
    var channelCount = 3
    /// In bits.
    var depth = 8
    var isSigned = false
    /// The distances of columns and rows of each component; 1 × 1 for the others.
    var steps: [(Int, Int)] = []
    /// More arguments of opj_compress.
    var arguments: [String] = []

    /// The value of a channel at a place from 0 to 1, from 0 to 1: a ramp to the right, one down, a chessboard, a
    /// diagonal.
    static func level(_ channel: Int, _ x: Double, _ y: Double) -> Double {
        switch channel {
        case 0: x
        case 1: y
        case 2: (Int(x * 8) + Int(y * 8)) % 2 == 0 ? 0.2 : 0.8
        default: (x + y) / 2
        }
    }

    /// Returns a code stream without boxes.
    func codestream() throws -> Data {
        var raw = Data()
        let step = { (index: Int) in steps.indices.contains(index) ? steps[index] : (1, 1) }
        for channel in 0..<channelCount {
            let (dx, dy) = step(channel)
            let (width, height) = ((size.width + dx - 1) / dx, (size.height + dy - 1) / dy)
            for y in 0..<height {
                for x in 0..<width {
                    let place = (Double(x) / Double(max(1, width - 1)), Double(y) / Double(max(1, height - 1)))
                    let level = Int((Self.level(channel, place.0, place.1) * Double((1 << depth) - 1)).rounded())
                    let value = level - (isSigned ? 1 << (depth - 1) : 0)
                    raw.append(UInt8(truncatingIfNeeded: value))
                    if depth > 8 { raw.append(UInt8(truncatingIfNeeded: value >> 8)) }
                }
            }
        }
        let source = try files.directory.write(raw, to: "channels.rawl")
        let distances = (0..<channelCount).map { "\(step($0).0)x\(step($0).1)" }.joined(separator: ":")
        let format = "\(size.width),\(size.height),\(channelCount),\(depth),\(isSigned ? "s" : "u")"
        // Without a color transform, which would need three channels alike.
        let fixed = [
            "-i", source.path, "-o", files.path("channels.j2k"), "-F", "\(format)@\(distances)", "-n", "3", "-mct", "0",
        ]
        try OtherProgram.run("/usr/bin/opj_compress", fixed + arguments)
        return try files.data("channels.j2k")
    }

    /// Returns a file with this color specification and more header boxes.
    func file(color: Data, _ boxes: Data...) throws -> Data {
        try Self.file(codestream(), size: size, channelCount: channelCount, color: color, boxes: boxes)
    }

    static func file(
        _ codestream: Data, size: PixelSize, channelCount: Int, color: Data, boxes: [Data] = []
    ) -> Data {
        let header = size.height.bytes(4) + size.width.bytes(4) + channelCount.bytes(2) + Data([255, 7, 0, 0])
        let parts = box("ihdr", header) + box("colr", color) + boxes.reduce(Data(), +)
        return box("jP  ", Data([13, 10, 0x87, 10])) + box("ftyp", Data("jp2 \0\0\0\0jp2 ".utf8)) + box("jp2h", parts)
            + box("jp2c", codestream)
    }

    static func box(_ type: String, _ content: Data) -> Data {
        (content.count + 8).bytes(4) + Data(type.utf8) + content
    }

    /// An enumerated color space (ISO/IEC 15444-1, table I.10, and 15444-2, table M.25).
    static func space(_ number: Int, _ parameters: [Int] = []) -> Data {
        Data([1, 0, 0]) + number.bytes(4) + parameters.reduce(Data()) { $0 + $1.bytes(4) }
    }

    static func profile(_ bytes: Data) -> Data { Data([2, 0, 0]) + bytes }

    /// Says of each channel its type and the color that it belongs to.
    static func definitions(_ channels: (type: Int, color: Int)...) -> Data {
        let entries = channels.enumerated().map {
            $0.offset.bytes(2) + $0.element.type.bytes(2) + $0.element.color.bytes(2)
        }
        return box("cdef", channels.count.bytes(2) + entries.reduce(Data(), +))
    }

    /// A palette whose columns have ramps of different steepness, and its mapping.
    static func palette(entryCount: Int, depths: [Int]) -> Data {
        var palette = entryCount.bytes(2) + Data([UInt8(depths.count)]) + Data(depths.map { UInt8($0 - 1) })
        for entry in 0..<entryCount {
            for (column, depth) in depths.enumerated() {
                let highest = (1 << depth) - 1
                palette += (entry * (column * 3 + 1) * highest / entryCount % (highest + 1)).bytes((depth + 7) / 8)
            }
        }
        let mapping = depths.indices.reduce(Data()) { $0 + Data([0, 0, 1, UInt8($1)]) }
        return box("pclr", palette) + box("cmap", mapping)
    }
}

extension Int {
    /// Big-endian.
    fileprivate func bytes(_ count: Int) -> Data {
        Data((0..<count).reversed().map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) })
    }
}
