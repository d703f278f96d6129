internal import CWebImageKernels
internal import WebImageCore

/// Makes pixels of the rows that most PNG pictures have: those with 8 bits a channel and without interlacing.
struct PNGRowConversion {
    private let width: Int
    private let colorType: PNGLayout.ColorType
    /// Whether no index is transparent.
    private let paletteIsOpaque: Bool
    /// One word for each index, premultiplied.
    private let palette: [UInt32]

    /// `nil` for a kind of picture that it does not know.
    init?(_ picture: PNGPicture) {
        let layout = picture.layout
        guard layout.bitDepth == 8, !layout.isInterlaced else { return nil }
        if layout.colorType == .palette {
            guard !picture.palette.isEmpty else { return nil }
        } else if !picture.transparency.isEmpty {
            return nil
        }
        width = layout.size.width
        colorType = layout.colorType
        paletteIsOpaque = picture.transparency.isEmpty
        palette = layout.colorType == .palette ? Self.words(of: picture) : []
    }

    private var rowByteCount: Int { width * colorType.channelCount }

    /// Of a row with the byte that names its filter.
    var filteredByteCount: Int { rowByteCount + 1 }

    /// For the rows of one picture, from the top.
    func unfiltering() -> Unfiltering { Unfiltering(rowByteCount, bytesPerPixel: colorType.channelCount) }

    /// Undoes the filters of rows, each of which needs the one above.
    struct Unfiltering: ~Copyable {
        private let byteCount: Int
        private let bytesPerPixel: Int
        private var row: UnsafeMutablePointer<UInt8>
        private var above: UnsafeMutablePointer<UInt8>

        fileprivate init(_ byteCount: Int, bytesPerPixel: Int) {
            self.byteCount = byteCount
            self.bytesPerPixel = bytesPerPixel
            row = .allocate(capacity: byteCount)
            above = .allocate(capacity: byteCount)
            row.initialize(repeating: 0, count: byteCount)
        }

        deinit {
            row.deallocate()
            above.deallocate()
        }

        /// The next row's bytes, good until the next call; `nil` for a filter that does not exist.
        mutating func next(_ filtered: UnsafePointer<UInt8>) -> UnsafePointer<UInt8>? {
            swap(&row, &above)
            let isKnown = cwi_png_unfilter(filtered[0], filtered + 1, above, row, byteCount, bytesPerPixel)
            return isKnown ? UnsafePointer(row) : nil
        }
    }

    /// Writes a row as premultiplied RGBA and returns whether all of it is opaque.
    func convert(_ row: UnsafePointer<UInt8>, to pixels: UnsafeMutablePointer<UInt8>) -> Bool {
        switch colorType {
        case .rgb:
            cwi_rgb_to_rgba(row, pixels, width)
            return true
        case .gray:
            cwi_gray_to_rgba(row, pixels, width)
            return true
        case .palette:
            cwi_indices_to_rgba(row, palette, pixels, width)
            return paletteIsOpaque || cwi_is_opaque(pixels, width)
        case .grayAlpha:
            cwi_gray_alpha_to_rgba(row, pixels, width)
            return cwi_premultiply(pixels, width)
        case .rgba:
            pixels.update(from: row, count: rowByteCount)
            return cwi_premultiply(pixels, width)
        }
    }

    /// Indices behind the palette's end are black, as libpng has it.
    private static func words(of picture: PNGPicture) -> [UInt32] {
        var bytes = [UInt8](repeating: 0, count: 256 * 4)
        for index in 0..<256 {
            for channel in 0..<3 where index * 3 + channel < picture.palette.count {
                bytes[index * 4 + channel] = picture.palette[index * 3 + channel]
            }
            bytes[index * 4 + 3] = index < picture.transparency.count ? picture.transparency[index] : 255
        }
        cwi_premultiply(&bytes, 256)
        return bytes.withUnsafeBytes { Array($0.bindMemory(to: UInt32.self)) }
    }
}
