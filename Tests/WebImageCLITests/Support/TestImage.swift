import Foundation
import WebImage

/// A smooth image that differs for each number, as a file.
struct TestImage {
    var number = 0
    var width = 64
    var height = 48
    var isOpaque = true

    func image() throws -> Image {
        var pixels = try MutablePixelBuffer(width: width, height: height)
        pixels.withUnsafeMutableBytes { bytes in
            for y in 0..<height {
                for x in 0..<width {
                    let alpha = isOpaque ? 255 : 128
                    let color = SIMD4(
                        UInt8(x * alpha / width), UInt8(y * alpha / height), UInt8(number * 40 % alpha), UInt8(alpha))
                    bytes.storeBytes(of: color, toByteOffset: (y * width + x) * 4, as: SIMD4<UInt8>.self)
                }
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: isOpaque))
    }

    func data(_ format: ImageFormat) throws -> Data {
        try CodecRegistry.shared.encode(image(), as: format, options: EncodingOptions(quality: 0.95))
    }

    /// An image with shapes, as photographs have them.
    static func scene() throws -> Image {
        func shape(_ number: Int, _ width: Int, _ height: Int, x: Double, y: Double) throws -> ImageProcessor {
            let shape = try TestImage(number: number, width: width, height: height).image()
            return .blend(try shape.processed(by: [.inverted()], cancellation: nil), id: "\(number)", x: x, y: y)
        }
        return try TestImage(width: 96, height: 64).image().processed(
            by: [
                shape(1, 30, 25, x: 5, y: 30), shape(2, 20, 40, x: 50, y: 8), shape(3, 60, 9, x: 30, y: 50),
                shape(4, 12, 12, x: 78, y: 4),
            ], cancellation: nil)
    }

    /// A JPEG file whose header claims 65,535 × 65,535 pixels.
    static func claimingTooMuch() throws -> Data {
        var bytes = [UInt8](try TestImage().data(.jpeg))
        // The frame header (T.81, B.2.2): marker, length, precision, height, width.
        guard
            let start = bytes.indices.dropLast(8).first(where: {
                bytes[$0] == 0xFF && [0xC0, 0xC2].contains(bytes[$0 + 1])
            })
        else { throw ToolError("no frame header") }
        bytes.replaceSubrange(start + 5..<start + 9, with: [0xFF, 0xFF, 0xFF, 0xFF])
        return Data(bytes)
    }

    /// A PNG file with one wrong byte among its pixels.
    static func damaged() throws -> Data {
        var data = try TestImage().data(.png)
        data[data.startIndex + data.count / 2] ^= 0xFF
        return data
    }

    /// Two frames of 1 × 1 pixels, 0.1 s each, without a loop limit.
    static let animation = Data(
        [UInt8]("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0, 255, 0, 0, 0, 0, 255]
            + [0x21, 0xFF, 11] + [UInt8]("NETSCAPE2.0".utf8) + [3, 1, 0, 0, 0]
            + frame(color: 0) + frame(color: 1) + [0x3B])

    private static func frame(color: UInt8) -> [UInt8] {
        // A control block of 10 hundredths, the frame's rectangle, and LZW codes: clear, color, end.
        [0x21, 0xF9, 4, 0, 10, 0, 0, 0, 0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, color == 0 ? 0x44 : 0x4C, 0x01, 0]
    }
}

/// The largest difference of a color between two images of one size.
func largestDifference(_ first: Image, _ second: Image) -> Int {
    guard first.width == second.width, first.height == second.height else { return .max }
    var largest = 0
    for y in 0..<first.height {
        for x in 0..<first.width {
            let (a, b) = (first.pixels[x, y], second.pixels[x, y])
            for channel in 0..<4 { largest = max(largest, abs(Int(a[channel]) - Int(b[channel]))) }
        }
    }
    return largest
}
