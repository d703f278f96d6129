internal import CWebImageKernels
internal import FoundationEssentials
internal import WebImageCore

/// Encodes BMP: 24 bits a pixel if the image is opaque, else 32 with alpha under a version 4 header, which browsers and
/// image editors read.
struct BMPEncoder: ImageEncoder {
    init() {}

    var format: ImageFormat { .bmp }

    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        try Self.bitmap(of: image.pixels, format: format, isIcon: false, cancellation: options.cancellation)
    }

    /// Returns a file, or the bitmap of an icon: without the first header, always with alpha, and followed by a mask.
    static func bitmap(
        of pixels: PixelBuffer, format: ImageFormat, isIcon: Bool, cancellation: Cancellation?
    ) throws(WebImageError) -> Data {
        let hasAlpha = isIcon || !pixels.isOpaque
        let layout = BitmapLayout(size: pixels.size, isIcon: isIcon, hasAlpha: hasAlpha)
        let (begin, rowByteCount, byteCount) = (layout.begin, layout.rowByteCount, layout.byteCount)
        guard byteCount <= Int(UInt32.max) else {
            throw .encoding(format: format, reason: .tooLong(byteCount: byteCount, limit: Int(UInt32.max)))
        }
        var data = layout.header
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
        if isIcon { writeMask(of: pixels, to: &data, layout) }
        return data
    }

    /// A mask says which pixels are transparent, for programs without alpha.
    private static func writeMask(of pixels: PixelBuffer, to data: inout Data, _ layout: BitmapLayout) {
        let (begin, rowByteCount) = (layout.byteCount - layout.maskByteCount, layout.maskRowByteCount)
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

/// The lengths of a bitmap's parts: header, rows, and the mask of an icon.
private struct BitmapLayout {
    let size: PixelSize
    let isIcon, hasAlpha: Bool

    /// Whether the header is of version 4, with masks for the components.
    private var hasMasks: Bool { hasAlpha && !isIcon }
    private var headerByteCount: Int { hasMasks ? 108 : 40 }
    /// Where the rows begin.
    var begin: Int { (isIcon ? 0 : 14) + headerByteCount }
    var rowByteCount: Int { hasAlpha ? size.width * 4 : (size.width * 3 + 3) / 4 * 4 }
    var maskRowByteCount: Int { (size.width + 31) / 32 * 4 }
    var maskByteCount: Int { isIcon ? maskRowByteCount * size.height : 0 }
    var byteCount: Int { begin + rowByteCount * size.height + maskByteCount }

    /// The bytes before the rows. The whole bitmap must have at most 4 GB.
    var header: Data {
        var writer = LittleEndianWriter(capacity: begin)
        if !isIcon {
            writer.append(text: "BM")
            writer.append(UInt32(byteCount), UInt32(0), UInt32(begin))
        }
        writer.append(UInt32(headerByteCount), UInt32(size.width))
        writer.append(UInt32(isIcon ? size.height * 2 : size.height))
        writer.append(UInt16(1), UInt16(hasAlpha ? 32 : 24))
        writer.append(UInt32(hasMasks ? 3 : 0), UInt32(rowByteCount * size.height))
        // 2,835 pixels a meter are 72 an inch.
        writer.append(UInt32(2_835), UInt32(2_835), UInt32(0), UInt32(0))
        if hasMasks {
            writer.append(UInt32(0xFF0000), UInt32(0xFF00), UInt32(0xFF), UInt32(0xFF00_0000))
            writer.append(text: "BGRs")
            writer.append(zeroCount: 48)
        }
        return writer.data
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
