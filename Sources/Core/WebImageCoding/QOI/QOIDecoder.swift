package import FoundationEssentials
package import WebImageCore

/// Decodes QOI (qoiformat.org, version 1.0).
struct QOIDecoder: StillDecoder {
    init() {}

    var format: ImageFormat { .qoi }

    func file(_ data: Data, page: Int?) throws(WebImageError) -> QOIFile { try QOIFile(data, page: page) }
}

/// The header of a QOI file, and its bytes.
struct QOIFile: StillFile {
    let size: PixelSize
    let hasAlpha: Bool
    let colors: ColorEncoding
    private let data: Data

    private static let headerByteCount = 14

    init(_ data: Data, page: Int?) throws(WebImageError) {
        let bytes = data.bytes
        _ = try ImageFormat.qoi.page(page, of: 1)
        guard bytes.byteCount >= Self.headerByteCount,
            let width = bytes.integer(at: 4, count: 4, isBigEndian: true),
            let height = bytes.integer(at: 8, count: 4, isBigEndian: true), let channels = bytes.byte(at: 12),
            let colorSpace = bytes.byte(at: 13)
        else { throw ImageFormat.qoi.truncated }
        guard bytes.hasText("qoif", at: 0), width > 0, height > 0, channels == 3 || channels == 4, colorSpace <= 1
        else { throw ImageFormat.qoi.corrupt("a header of \(width)×\(height), \(channels) channels") }
        size = PixelSize(width: width, height: height)
        hasAlpha = channels == 4
        colors = colorSpace == 1 ? .gamma(1) : .sRGB
        self.data = data
    }

    func pixels(
        allowsDamage: Bool, cancellation: Cancellation?
    ) throws(WebImageError) -> (pixels: PixelBuffer, damage: WebImageError?) {
        var buffer = try MutablePixelBuffer(width: size.width, height: size.height)
        var decoder = Decoder(offset: Self.headerByteCount)
        let (count, isOpaque) = try data.withBytes { (bytes) throws(WebImageError) in
            try buffer.fillRows(0..<size.height, hasAlpha: hasAlpha, cancellation: cancellation) { _, pixels in
                decoder.readRow(of: size.width, from: bytes, to: pixels, hasAlpha: hasAlpha)
            }
        }
        guard count < size.height else { return (buffer.freeze(isOpaque: isOpaque), nil) }
        guard allowsDamage, count > 0 else { throw ImageFormat.qoi.truncated }
        try buffer.clear(rows: count..<size.height, cancellation: cancellation)
        return (buffer.freeze(isOpaque: false), ImageFormat.qoi.truncated)
    }

    /// The state between two pixels.
    private struct Decoder {
        var offset: Int
        private var pixel = SIMD4<UInt8>(0, 0, 0, 255)
        private var seen = [SIMD4<UInt8>](repeating: .zero, count: 64)
        /// How often the pixel is still to be repeated.
        private var runLength = 0

        init(offset: Int) { self.offset = offset }

        /// Returns `false` where the bytes end.
        mutating func readRow(
            of width: Int, from bytes: UnsafeRawBufferPointer, to output: UnsafeMutablePointer<UInt8>, hasAlpha: Bool
        ) -> Bool {
            for column in 0..<width {
                if runLength > 0 { runLength -= 1 } else if !readPixel(from: bytes) { return false }
                var pixel = pixel
                if !hasAlpha { pixel.w = 255 }
                UnsafeMutableRawPointer(output).storeBytes(
                    of: pixel, toByteOffset: column * 4, as: SIMD4<UInt8>.self)
            }
            return true
        }

        private mutating func readPixel(from bytes: UnsafeRawBufferPointer) -> Bool {
            guard offset < bytes.count else { return false }
            let tag = bytes[offset]
            let byteCount = tag == 0xFE ? 4 : tag == 0xFF ? 5 : tag >> 6 == 2 ? 2 : 1
            guard offset + byteCount <= bytes.count else { return false }
            switch tag {
            case 0xFE:
                (pixel.x, pixel.y, pixel.z) = (bytes[offset + 1], bytes[offset + 2], bytes[offset + 3])
            case 0xFF:
                pixel = SIMD4(bytes[offset + 1], bytes[offset + 2], bytes[offset + 3], bytes[offset + 4])
            case 0x00...0x3F:
                pixel = seen[Int(tag)]
            case 0x40...0x7F:
                pixel.x &+= (tag >> 4 & 3) &- 2
                pixel.y &+= (tag >> 2 & 3) &- 2
                pixel.z &+= (tag & 3) &- 2
            case 0x80...0xBF:
                let (green, others) = ((tag & 63) &- 32, bytes[offset + 1])
                pixel.x &+= green &- 8 &+ others >> 4
                pixel.y &+= green
                pixel.z &+= green &- 8 &+ others & 15
            default:
                runLength = Int(tag & 63)
            }
            offset += byteCount
            let (red, green, blue, alpha) = (Int(pixel.x), Int(pixel.y), Int(pixel.z), Int(pixel.w))
            seen[(red * 3 + green * 5 + blue * 7 + alpha * 11) & 63] = pixel
            return true
        }
    }
}

extension Data {
    /// Like `withUnsafeBytes`, with typed errors.
    package func withBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws(WebImageError) -> Result
    ) throws(WebImageError) -> Result {
        let result = withUnsafeBytes { bytes -> Swift.Result<Result, WebImageError> in
            Swift.Result { () throws(WebImageError) in try body(bytes) }
        }
        return try result.get()
    }
}
