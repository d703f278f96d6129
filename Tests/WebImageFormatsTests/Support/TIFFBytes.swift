import Foundation

/// A TIFF of one page, without compression, in little-endian order if nothing else is said.
struct TIFFBytes {
    var width: Int
    var height: Int
    var bits = 8
    var channels = 3
    /// 0 and 1 gray, 2 RGB, 3 a palette, 5 CMYK, 6 YCbCr, 8 CIELab, 9 ICCLab, 10 ITULab.
    var photometric = 2
    /// 1 unsigned, 2 signed, 3 floating point.
    var format = 1
    var compression = 1
    var isBigEndian = false
    /// The strips; of planes if there are `channels` of them.
    var strips: [[UInt8]] = []
    var isPlanar = false
    /// Further entries: the tag, the type, and the values.
    var entries: [(tag: Int, type: Int, values: [Int])] = []

    /// Numbers from 0 to 1 as integers, with the most significant bit first; whole bytes are in the file's order.
    func packed(_ rows: [[Double]]) -> [UInt8] {
        rows.flatMap { row in packed(row.map { UInt64(($0 * Double((1 << bits) - 1)).rounded()) }) }
    }

    func packed(_ row: [UInt64]) -> [UInt8] {
        if bits % 8 == 0, bits != 40 { return row.flatMap { number(Int(truncatingIfNeeded: $0), bits / 8) } }
        var (bytes, byte, filled): ([UInt8], UInt8, Int) = ([], 0, 0)
        for value in row {
            for bit in (0..<bits).reversed() {
                byte = byte << 1 | UInt8(value >> UInt64(bit) & 1)
                filled += 1
                if filled == 8 {
                    bytes.append(byte)
                    (byte, filled) = (0, 0)
                }
            }
        }
        return filled == 0 ? bytes : bytes + [byte << (8 - UInt8(filled))]
    }

    func number(_ value: Int, _ count: Int) -> [UInt8] {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        return isBigEndian ? bytes.reversed() : bytes
    }

    /// A zlib stream of one stored block, of fewer than 65,536 bytes.
    static func deflated(_ bytes: [UInt8]) -> [UInt8] {
        let length = [UInt8(bytes.count & 255), UInt8(bytes.count >> 8)]
        var (sum, sums) = (1, 0)
        for byte in bytes {
            sum = (sum + Int(byte)) % 65521
            sums = (sums + sum) % 65521
        }
        let check = [sums >> 8, sums & 255, sum >> 8, sum & 255].map { UInt8($0) }
        return [0x78, 0x01, 0x01] + length + length.map { ~$0 } + bytes + check
    }

    /// The file: header, strips, directory, and values that are longer than an entry.
    var data: Data {
        var body: [UInt8] = []
        var offsets: [Int] = []
        for strip in strips {
            offsets.append(8 + body.count)
            body += strip
            if body.count % 2 == 1 { body.append(0) }
        }
        var all = entries
        func add(_ tag: Int, _ type: Int, _ values: [Int]) {
            if !all.contains(where: { $0.tag == tag }) { all.append((tag, type, values)) }
        }
        add(256, 4, [width])
        add(257, 4, [height])
        add(258, 3, Array(repeating: bits, count: channels))
        add(259, 3, [compression])
        add(262, 3, [photometric])
        add(273, 4, offsets)
        add(277, 3, [channels])
        add(278, 4, [height])
        add(279, 4, strips.map(\.count))
        add(284, 3, [isPlanar ? 2 : 1])
        add(339, 3, Array(repeating: format, count: channels))
        all.sort { $0.tag < $1.tag }
        let start = 8 + body.count
        let contentStart = start + 2 + all.count * 12 + 4
        var (directory, content): ([UInt8], [UInt8]) = (number(all.count, 2), [])
        for entry in all {
            let size = entry.type == 3 ? 2 : entry.type == 4 ? 4 : 1
            let bytes = entry.values.flatMap { number($0, size) }
            directory += number(entry.tag, 2) + number(entry.type, 2) + number(entry.values.count, 4)
            if bytes.count <= 4 {
                directory += bytes + Array(repeating: 0, count: 4 - bytes.count)
            } else {
                directory += number(contentStart + content.count, 4)
                content += bytes + (bytes.count % 2 == 1 ? [0] : [])
            }
        }
        let header = Array((isBigEndian ? "MM\0*" : "II*\0").utf8) + number(start, 4)
        return Data(header + body + directory + number(0, 4) + content)
    }
}
