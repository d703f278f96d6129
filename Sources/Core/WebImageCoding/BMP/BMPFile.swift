internal import CWebImageKernels
internal import FoundationEssentials
internal import WebImageCore

/// The headers of a bitmap (Microsoft's "Bitmap Storage", OS/2's `BITMAPINFOHEADER2`), and its bytes.
///
///     file header, 14 bytes │ header, 12 to 124 bytes │ masks │ palette │ gap │ rows │ profile
///
/// The bitmap of an icon has no file header. Its height counts a mask, of one bit a pixel, which follows the rows.
struct BMPFile: StillFile {
    let size: PixelSize
    let hasAlpha: Bool
    let colors: ColorEncoding
    let bitsPerPixel: Int
    let isIcon: Bool
    let compression: Compression
    /// Straight RGBA.
    let palette: [SIMD4<UInt8>]
    /// Of pixels of 16 and more bits.
    let channels: Channels
    let isTopDown: Bool
    let pixelOffset: Int
    let data: Data

    enum Compression { case none, runs8, runs4 }

    /// Where the channels are in a pixel's bits.
    struct Channels {
        var red, green, blue, alpha: Channel

        init(red: UInt32, green: UInt32, blue: UInt32, alpha: UInt32 = 0) throws(WebImageError) {
            (self.red, self.green) = (try Channel(red), try Channel(green))
            (self.blue, self.alpha) = (try Channel(blue), try Channel(alpha))
        }

        /// Whether these are the bytes of `BGRX` or `BGRA`.
        var areBytes: Bool {
            red.mask == 0xFF0000 && green.mask == 0xFF00 && blue.mask == 0xFF
                && (alpha.mask == 0xFF00_0000 || alpha.mask == 0)
        }
    }

    /// Some bits of a pixel.
    struct Channel {
        let mask: UInt32
        private let shift: UInt32
        private let maximum: UInt64

        init(_ mask: UInt32) throws(WebImageError) {
            self.mask = mask
            shift = mask == 0 ? 0 : UInt32(mask.trailingZeroBitCount)
            let bits = mask >> shift
            guard bits & (bits &+ 1) == 0 else { throw ImageFormat.bmp.corrupt("a mask with gaps") }
            maximum = UInt64(bits)
        }

        /// The channel's part, rounded to 8 bits.
        @inline(__always)
        func byte(of pixel: UInt32) -> UInt8 {
            guard maximum != 255 else { return UInt8(truncatingIfNeeded: (pixel & mask) >> shift) }
            guard maximum > 0 else { return 0 }
            return UInt8((UInt64((pixel & mask) >> shift) * 255 + maximum / 2) / maximum)
        }
    }

    // MARK: Header

    /// - Parameter isIcon: whether the bytes are an icon's.
    init(_ data: Data, isIcon: Bool = false) throws(WebImageError) {
        let header = try Header(data.bytes, at: isIcon ? 0 : 14)
        let height = isIcon ? header.height / 2 : header.height
        guard header.width > 0, height != 0, height != Int(Int32.min), header.width <= Int(Int32.max) else {
            throw ImageFormat.bmp.corrupt("\(header.width)×\(header.height) pixels")
        }
        size = PixelSize(width: header.width, height: abs(height))
        isTopDown = header.height < 0
        bitsPerPixel = header.bitsPerPixel
        compression = try header.pixelCompression
        channels = try header.channels
        let firstPixel = isIcon ? header.end : data.bytes.integer(at: 10, count: 4, isBigEndian: false) ?? 0
        palette = try header.palette(in: data.bytes, before: isIcon ? .max : firstPixel)
        // Some files have no offset.
        let paletteEnd = header.end + palette.count * header.bytesPerColor
        pixelOffset = isIcon || firstPixel < header.end ? paletteEnd : firstPixel
        hasAlpha = isIcon || channels.alpha.mask != 0
        colors = header.profile(in: data.bytes, isIcon: isIcon).map { .profile($0) } ?? .sRGB
        self.isIcon = isIcon
        self.data = data
    }

    /// The second header.
    private struct Header {
        let offset: Int
        let byteCount: Int
        let width: Int
        let height: Int
        let bitsPerPixel: Int
        private let compression: Int
        private let colorCount: Int
        private let masks: [UInt32]
        /// Where the palette begins.
        let end: Int

        init(_ data: RawSpan, at offset: Int) throws(WebImageError) {
            func number(_ position: Int, _ count: Int = 4) throws(WebImageError) -> Int {
                guard let number = data.integer(at: offset + position, count: count, isBigEndian: false) else {
                    throw ImageFormat.bmp.truncated
                }
                return number
            }
            self.offset = offset
            byteCount = try number(0)
            let isShort = byteCount == 12
            // Sizes that no version has are read as far as the fields of the others go, as other programs do.
            guard isShort || (16...124).contains(byteCount) else {
                throw ImageFormat.bmp.unsupported("a header of \(byteCount) bytes")
            }
            let (width, height) = (try number(4, isShort ? 2 : 4), try number(isShort ? 6 : 8, isShort ? 2 : 4))
            self.width = width
            self.height = isShort ? height : Int(Int32(truncatingIfNeeded: height))
            bitsPerPixel = try number(isShort ? 10 : 14, 2)
            compression = byteCount >= 20 ? try number(16) : 0
            colorCount = byteCount >= 36 ? try number(32) : 0
            var masks: [UInt32] = []
            var end = offset + byteCount
            if compression == 3 || compression == 6, byteCount >= 40 {
                // In the header, or behind the shortest one.
                let count = byteCount >= 56 ? 4 : byteCount >= 52 ? 3 : compression == 6 ? 4 : 3
                for index in 0..<count { masks.append(UInt32(try number(40 + index * 4))) }
                if byteCount == 40 { end += count * 4 }
            }
            (self.masks, self.end) = (masks, end)
            guard data.byteCount >= end else { throw ImageFormat.bmp.truncated }
        }

        var bytesPerColor: Int { byteCount == 12 ? 3 : 4 }

        var pixelCompression: Compression {
            get throws(WebImageError) {
                switch (compression, bitsPerPixel) {
                case (0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 24), (0, 32): return .none
                case (3, 16), (3, 32), (6, 16), (6, 32):
                    // In OS/2's headers, 3 is something else.
                    guard !masks.isEmpty else { throw ImageFormat.bmp.unsupported("Huffman codes") }
                    return .none
                case (1, 8): return .runs8
                case (2, 4): return .runs4
                case (4, _): throw ImageFormat.bmp.unsupported("a JPEG in a bitmap")
                case (5, _): throw ImageFormat.bmp.unsupported("a PNG in a bitmap")
                case (0, _): throw ImageFormat.bmp.corrupt("\(bitsPerPixel) bits a pixel")
                default:
                    throw ImageFormat.bmp.unsupported("compression \(compression) with \(bitsPerPixel) bits a pixel")
                }
            }
        }

        var channels: Channels {
            get throws(WebImageError) {
                if masks.count >= 3 {
                    return try Channels(
                        red: masks[0], green: masks[1], blue: masks[2], alpha: masks.count > 3 ? masks[3] : 0)
                }
                return bitsPerPixel == 16
                    ? try Channels(red: 0x7C00, green: 0x3E0, blue: 0x1F)
                    : try Channels(red: 0xFF0000, green: 0xFF00, blue: 0xFF)
            }
        }

        /// Colors that are missing in the file are black.
        func palette(in data: RawSpan, before pixels: Int) throws(WebImageError) -> [SIMD4<UInt8>] {
            guard bitsPerPixel <= 8 else { return [] }
            let most = 1 << bitsPerPixel
            var count = colorCount == 0 ? most : min(colorCount, most)
            if pixels > end, pixels != .max { count = min(count, (pixels - end) / bytesPerColor) }
            guard data.byteCount >= end + count * bytesPerColor else { throw ImageFormat.bmp.truncated }
            return (0..<count).map { index in
                let color = end + index * bytesPerColor
                return SIMD4(
                    data.byte(at: color + 2) ?? 0, data.byte(at: color + 1) ?? 0, data.byte(at: color) ?? 0, 255)
            }
        }

        /// The profile of a version 5 header.
        func profile(in data: RawSpan, isIcon: Bool) -> ColorProfile? {
            guard byteCount == 124, data.hasText("DEBM", at: offset + 56),
                let position = data.integer(at: offset + 112, count: 4, isBigEndian: false),
                let count = data.integer(at: offset + 116, count: 4, isBigEndian: false),
                count <= ColorProfile.byteLimit, offset + position <= data.byteCount - count
            else { return nil }
            let bytes = data.extracting(offset + position..<offset + position + count)
            return ColorProfile(bytes.withUnsafeBytes { Array($0) })
        }
    }
}
