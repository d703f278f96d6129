package import Foundation

/// A gray square in a JPEG file of 2 bits for each 8 × 8 pixels. Of 16,500 × 16,500 pixels it has 1 MB: 272 megapixels, which libjpeg decodes
/// at a size in a moment.
package enum LargeJPEG {
    package static func data(side: Int) -> Data {
        func segment(_ marker: UInt8, _ bytes: [UInt8]) -> [UInt8] {
            [0xFF, marker] + bigEndian(bytes.count + 2) + bytes
        }
        func bigEndian(_ value: Int) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }
        // Each Huffman table (T.81, B.2.4.2) has one symbol, 0, with the code 0: no difference of the mean, and the end of the block.
        let lengths: [UInt8] = [1] + Array(repeating: 0, count: 15)
        let blockCount = ((side + 7) / 8) * ((side + 7) / 8)
        return Data(
            [0xFF, 0xD8] + segment(0xDB, [0] + Array(repeating: 1, count: 64))
                + segment(0xC0, [8] + bigEndian(side) + bigEndian(side) + [1, 1, 0x11, 0])
                + segment(0xC4, [0x00] + lengths + [0]) + segment(0xC4, [0x10] + lengths + [0])
                + segment(0xDA, [1, 1, 0x00, 0, 63, 0]))
            + Data(count: (2 * blockCount + 7) / 8) + Data([0xFF, 0xD9])
    }
}
