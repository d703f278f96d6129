internal import CWebImageKernels
package import FoundationEssentials
package import WebImageCore

/// Encodes BMP: 24 bits a pixel if the image is opaque, else 32 with alpha under a version 4 header, which browsers and
/// image editors read.
package struct BMPEncoder: ImageEncoder {
    package init() {}

    package var format: ImageFormat { .bmp }

    package func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        try Self.bitmap(of: image.pixels, format: format, isIcon: false, cancellation: options.cancellation)
    }

    /// Returns a file, or the bitmap of an icon: without the first header, always with alpha, and followed by a mask.
    static func bitmap(
        of pixels: PixelBuffer, format: ImageFormat, isIcon: Bool, cancellation: Cancellation?
    ) throws(WebImageError) -> Data {
        let hasAlpha = isIcon || !pixels.isOpaque
        let headerByteCount = isIcon || !hasAlpha ? 40 : 108
        let rowByteCount = hasAlpha ? pixels.width * 4 : (pixels.width * 3 + 3) / 4 * 4
        let maskByteCount = isIcon ? (pixels.width + 31) / 32 * 4 * pixels.height : 0
        let begin = (isIcon ? 0 : 14) + headerByteCount
        let byteCount = begin + rowByteCount * pixels.height + maskByteCount
        guard byteCount <= Int(UInt32.max) else {
            throw .encoding(format: format, reason: .tooLong(byteCount: byteCount, limit: Int(UInt32.max)))
        }

        var writer = LittleEndianWriter(capacity: begin)
        if !isIcon {
            writer.append(text: "BM")
            writer.append(UInt32(byteCount), UInt32(0), UInt32(begin))
        }
        writer.append(UInt32(headerByteCount), UInt32(pixels.width))
        writer.append(UInt32(isIcon ? pixels.height * 2 : pixels.height))
        writer.append(UInt16(1), UInt16(hasAlpha ? 32 : 24))
        // 2,835 pixels a meter are 72 an inch.
        let usesMasks = headerByteCount == 108
        writer.append(UInt32(usesMasks ? 3 : 0), UInt32(rowByteCount * pixels.height))
        writer.append(UInt32(2_835), UInt32(2_835), UInt32(0), UInt32(0))
        if usesMasks {
            writer.append(UInt32(0xFF0000), UInt32(0xFF00), UInt32(0xFF), UInt32(0xFF00_0000))
            writer.append(text: "BGRs")
            writer.append(zeroCount: 48)
        }
        var data = writer.data
        data.append(Data(count: byteCount - begin))

        var line = [UInt8](repeating: 0, count: pixels.width * 4)
        for row in 0..<pixels.height {
            if row % 256 == 0 { try cancellation?.check() }
            let source = pixels.row(pixels.height - 1 - row)
            line.withUnsafeMutableBufferPointer { line in
                guard let start = line.baseAddress else { return }
                cwi_unpremultiply(source, start, pixels.width)
            }
            data.withUnsafeMutableBytes { bytes in
                let output = bytes.baseAddress.map { $0 + begin + row * rowByteCount }
                guard let output = output?.assumingMemoryBound(to: UInt8.self) else { return }
                let step = hasAlpha ? 4 : 3
                for column in 0..<pixels.width {
                    let (from, to) = (column * 4, column * step)
                    (output[to], output[to + 1], output[to + 2]) = (line[from + 2], line[from + 1], line[from])
                    if hasAlpha { output[to + 3] = line[from + 3] }
                }
            }
        }
        if isIcon { writeMask(of: pixels, to: &data, at: begin + rowByteCount * pixels.height) }
        return data
    }

    /// A mask says which pixels are transparent, for programs without alpha.
    private static func writeMask(of pixels: PixelBuffer, to data: inout Data, at begin: Int) {
        let rowByteCount = (pixels.width + 31) / 32 * 4
        data.withUnsafeMutableBytes { bytes in
            for row in 0..<pixels.height {
                let source = pixels.row(pixels.height - 1 - row)
                for column in 0..<pixels.width where source[column * 4 + 3] == 0 {
                    bytes[begin + row * rowByteCount + column / 8] |= 0x80 >> UInt8(column % 8)
                }
            }
        }
    }
}

/// Collects the numbers of a header.
struct LittleEndianWriter {
    private(set) var data: Data

    init(capacity: Int) { data = Data(capacity: capacity) }

    mutating func append(text: String) { data.append(contentsOf: text.utf8) }
    mutating func append(zeroCount: Int) { data.append(Data(count: zeroCount)) }

    mutating func append<Value: FixedWidthInteger>(_ values: Value...) {
        for value in values {
            for index in 0..<MemoryLayout<Value>.size {
                data.append(UInt8(truncatingIfNeeded: value >> Value(index * 8)))
            }
        }
    }
}
