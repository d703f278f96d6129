import Foundation
import WebImageCore

/// Pictures that Pillow and cairo made; see Tests/Fixtures/geometry_fixtures.py.
enum GeometryFixture {
    /// The picture all others were made of: 48 by 36 pixels, translucent.
    static func source(scale: Double = 1) throws -> Image { Image(pixels: try pixels("source"), scale: scale) }

    static func pixels(_ name: String) throws -> PixelBuffer {
        let data = [UInt8](try Data(contentsOf: directory.appending(path: "\(name).rgba")))
        func number(at offset: Int) -> Int { (0..<4).reduce(0) { $0 | Int(data[offset + $1]) << (8 * $1) } }
        return try buffer(PixelSize(width: number(at: 0), height: number(at: 4)), Array(data[8...]))
    }

    static func buffer(_ size: PixelSize, _ bytes: [UInt8], isOpaque: Bool = false) throws -> PixelBuffer {
        var buffer = try MutablePixelBuffer(width: size.width, height: size.height)
        buffer.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
        return buffer.freeze(isOpaque: isOpaque)
    }

    private static let directory = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Fixtures/geometry")
}

extension PixelBuffer {
    /// Rows one after the other, without gaps.
    var bytes: [UInt8] {
        (0..<height).flatMap { y in
            (0..<width).flatMap { x in
                let pixel = self[x, y]
                return [pixel.x, pixel.y, pixel.z, pixel.w]
            }
        }
    }

    /// The largest difference of two bytes at one place; `nil` for pictures of different sizes.
    func difference(from other: PixelBuffer) -> Int? {
        guard size == other.size else { return nil }
        return zip(bytes, other.bytes).reduce(0) { max($0, abs(Int($1.0) - Int($1.1))) }
    }

    /// Whether no colour is above its alpha.
    var isPremultiplied: Bool {
        let bytes = bytes
        return bytes.indices.allSatisfy { bytes[$0] <= bytes[$0 / 4 * 4 + 3] }
    }
}

/// A picture of one colour.
func flat(_ width: Int, _ height: Int, _ pixel: [UInt8] = [200, 100, 50, 255], scale: Double = 1) throws -> Image {
    let bytes = (0..<width * height).flatMap { _ in pixel }
    let size = PixelSize(width: width, height: height)
    return Image(pixels: try GeometryFixture.buffer(size, bytes, isOpaque: pixel[3] == 255), scale: scale)
}

/// A picture in which each pixel has its column in red and its row in green.
func numbered(_ width: Int, _ height: Int, scale: Double = 1) throws -> Image {
    let bytes = (0..<width * height).flatMap { index -> [UInt8] in
        [UInt8(index % width % 256), UInt8(index / width % 256), 7, 255]
    }
    let size = PixelSize(width: width, height: height)
    return Image(pixels: try GeometryFixture.buffer(size, bytes, isOpaque: true), scale: scale)
}
