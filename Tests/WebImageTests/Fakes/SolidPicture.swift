import FoundationEssentials
import WebImage

/// An image of one colour, as a PNG file: pixels that tell which URL they belong to.
struct SolidPicture: Hashable {
    var color: SIMD3<UInt8>
    var size = PixelSize(width: 8, height: 6)

    init(_ number: Int, size: PixelSize = PixelSize(width: 8, height: 6)) {
        color = SIMD3(UInt8(number & 255), UInt8(number >> 8 & 255), UInt8(number >> 16 & 255))
        self.size = size
    }

    func png() throws -> Data { try CodecRegistry.shared.encode(image(), as: .png) }

    func image() throws -> Image {
        var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
        pixels.withUnsafeMutableBytes { bytes in
            for offset in stride(from: 0, to: bytes.count, by: 4) {
                bytes.storeBytes(
                    of: SIMD4(color.x, color.y, color.z, 255), toByteOffset: offset, as: SIMD4<UInt8>.self)
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: true))
    }

    /// Whether `image` has this colour in every corner.
    func matches(_ image: Image) -> Bool {
        let expected = SIMD4(color.x, color.y, color.z, 255)
        let (right, bottom) = (image.width - 1, image.height - 1)
        return [(0, 0), (right, 0), (0, bottom), (right, bottom)].allSatisfy { image.pixels[$0.0, $0.1] == expected }
    }
}
