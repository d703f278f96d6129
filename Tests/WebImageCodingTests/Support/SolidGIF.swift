import Foundation

/// A GIF of one colour, in which each LZW code is the one that its own step defines: a string one longer than the last.
///
/// So `n` codes make about `n²/2` pixels, as dense as GIF gets: 4 million fit in 4 KB.
func solidGIF(width: Int, height: Int) -> Data {
    var packed = BitWriter()
    var (codeSize, nextCode) = (3, 6)
    packed.write(4, count: codeSize)
    packed.write(0, count: codeSize)
    var (filled, length) = (1, 1)
    while filled < width * height {
        packed.write(nextCode, count: codeSize)
        nextCode += 1
        if nextCode == 1 << codeSize { codeSize += 1 }
        length += 1
        filled += length
    }
    precondition(nextCode < 4096, "more pixels than one table holds")

    func number(_ value: Int) -> [UInt8] { [UInt8(value & 0xFF), UInt8(value >> 8)] }
    let sides = number(width) + number(height)
    var data = Data("GIF89a".utf8)
    // The screen and a palette of two colours, then the frame and its code size.
    data += sides + [0x80, 0, 0, 200, 100, 50, 0, 0, 0]
    data += [0x2C, 0, 0, 0, 0] + sides + [0, 2]
    let bytes = packed.bytes
    for start in stride(from: 0, to: bytes.count, by: 255) {
        let block = bytes[start..<min(start + 255, bytes.count)]
        data.append(UInt8(block.count))
        data += block
    }
    data += [0, 0x3B]
    return data
}

/// Packs numbers lowest bit first.
struct BitWriter {
    private var whole: [UInt8] = []
    private var bits = 0
    private var bitCount = 0

    /// The last byte filled up with zeros.
    var bytes: [UInt8] { bitCount > 0 ? whole + [UInt8(bits)] : whole }

    mutating func write(_ value: Int, count: Int) {
        bits |= value << bitCount
        bitCount += count
        while bitCount >= 8 {
            whole.append(UInt8(bits & 0xFF))
            bits >>= 8
            bitCount -= 8
        }
    }
}
