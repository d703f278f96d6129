import FoundationEssentials
import WebImage

/// A picture of one colour and its file: five bytes, `S`, red, green, blue and the width in pixels; half as high as wide.
struct Swatch: Hashable {
    var red: UInt8
    var green: UInt8
    var blue: UInt8
    var width = 4

    static let red = Swatch(red: 255, green: 0, blue: 0)
    static let green = Swatch(red: 0, green: 255, blue: 0)
    static let blue = Swatch(red: 0, green: 0, blue: 255)

    var data: Data { Data([UInt8(ascii: "S"), red, green, blue, UInt8(width)]) }

    var pixel: SIMD4<UInt8> { SIMD4(red, green, blue, 255) }

    func image() throws(WebImageError) -> Image {
        var pixels = try MutablePixelBuffer(width: width, height: max(1, width / 2))
        pixels.withUnsafeMutableBytes { bytes in
            for offset in stride(from: 0, to: bytes.count, by: 4) {
                bytes.storeBytes(of: pixel, toByteOffset: offset, as: SIMD4<UInt8>.self)
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: true))
    }
}

struct SwatchDecoder: ImageDecoder {
    let format = ImageFormat(name: "swatch", mimeType: "image/x-swatch", fileExtension: "swatch")

    func canDecode(_ data: Data) -> Bool { data.first == UInt8(ascii: "S") }

    func info(of data: Data) throws(WebImageError) -> ImageInfo {
        ImageInfo(format: format, size: PixelSize(width: Int(data.last ?? 0), height: 1))
    }

    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        let bytes = Array(data)
        guard bytes.count == 5 else { throw .decoding(format: format, reason: .truncated) }
        return try Swatch(red: bytes[1], green: bytes[2], blue: bytes[3], width: Int(bytes[4])).image()
    }
}
