internal import WebImageCore

/// What a PNG's first chunk, IHDR, says about its pixels (W3C PNG, third edition, 11.2.1).
struct PNGLayout: Sendable, Hashable {
    /// As stored.
    let size: PixelSize
    /// Bits of a channel, or of a palette index.
    let bitDepth: Int
    let colorType: ColorType
    let isInterlaced: Bool

    /// Which channels a pixel has.
    enum ColorType: UInt8 {
        case gray = 0
        case rgb = 2
        case palette = 3
        case grayAlpha = 4
        case rgba = 6

        var channelCount: Int {
            switch self {
            case .gray, .palette: 1
            case .grayAlpha: 2
            case .rgb: 3
            case .rgba: 4
            }
        }

        var hasAlpha: Bool { self == .grayAlpha || self == .rgba }

        fileprivate var bitDepths: Set<Int> {
            switch self {
            case .gray: [1, 2, 4, 8, 16]
            case .palette: [1, 2, 4, 8]
            case .grayAlpha, .rgb, .rgba: [8, 16]
            }
        }
    }

    /// Reads the chunk's content at `offset`; `nil` for what no PNG can be.
    init?(reading data: RawSpan, at offset: Int) {
        guard let width = data.integer(at: offset, count: 4, isBigEndian: true),
            let height = data.integer(at: offset + 4, count: 4, isBigEndian: true),
            (1...Self.maximumSide).contains(width), (1...Self.maximumSide).contains(height),
            let bitDepth = data.byte(at: offset + 8).map(Int.init),
            let colorType = data.byte(at: offset + 9).flatMap(ColorType.init), colorType.bitDepths.contains(bitDepth),
            data.integer(at: offset + 10, count: 2, isBigEndian: true) == 0,
            let interlacing = data.byte(at: offset + 12), interlacing <= 1
        else { return nil }
        size = PixelSize(width: width, height: height)
        self.bitDepth = bitDepth
        self.colorType = colorType
        isInterlaced = interlacing == 1
    }

    /// Describes pixels; the depth must be one that the colour type can have.
    init(size: PixelSize, bitDepth: Int = 8, colorType: ColorType, isInterlaced: Bool = false) {
        self.size = size
        self.bitDepth = bitDepth
        self.colorType = colorType
        self.isInterlaced = isInterlaced
    }

    /// The same for a frame of an APNG, which may be smaller.
    func resized(to size: PixelSize) -> PNGLayout {
        PNGLayout(size: size, bitDepth: bitDepth, colorType: colorType, isInterlaced: isInterlaced)
    }

    var bitsPerPixel: Int { colorType.channelCount * bitDepth }

    /// The chunk's content.
    var content: [UInt8] {
        let sides = [size.width, size.height].flatMap { side in
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: side >> $0) }
        }
        return sides + [UInt8(bitDepth), colorType.rawValue, 0, 0, isInterlaced ? 1 : 0]
    }

    /// The format's own limit.
    private static let maximumSide = Int(Int32.max)
}
