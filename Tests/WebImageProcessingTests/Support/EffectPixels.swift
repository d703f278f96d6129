import Foundation
import WebImageCore
import WebImageTestSupport

/// Premultiplied RGBA without gaps between rows, as effects are tried on and compared with.
struct EffectPixels: Equatable {
    let width: Int
    let height: Int
    var bytes: [UInt8]

    init(width: Int, height: Int, bytes: [UInt8]) {
        self.width = width
        self.height = height
        self.bytes = bytes
    }

    /// Every pixel the same.
    init(width: Int, height: Int, pixel: [UInt8]) {
        self.init(width: width, height: height, bytes: (0..<width * height * 4).map { pixel[$0 % 4] })
    }

    /// Any pixels that premultiplication can give.
    init(noise width: Int, _ height: Int, seed: UInt64, isOpaque: Bool = false) {
        var generator = SplitMix64(seed: seed)
        let bytes = (0..<width * height).flatMap { _ -> [UInt8] in
            let alpha = isOpaque ? 255 : UInt8.random(in: 0...255, using: &generator)
            return (0..<3).map { _ in UInt8.random(in: 0...alpha, using: &generator) } + [alpha]
        }
        self.init(width: width, height: height, bytes: bytes)
    }

    /// What another program made; see Tests/Fixtures/effects_fixtures.py.
    init(fixture name: String) throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Fixtures/effects/\(name).rgba")
        let data = [UInt8](try Data(contentsOf: file))
        func number(at offset: Int) -> Int { (0..<4).reduce(0) { $0 | Int(data[offset + $1]) << (8 * $1) } }
        self.init(width: number(at: 0), height: number(at: 4), bytes: Array(data[8...]))
    }

    init(_ buffer: PixelBuffer) {
        let (width, stride) = (buffer.width, buffer.bytesPerRow)
        let bytes = buffer.withUnsafeBytes { bytes in
            (0..<buffer.height).flatMap { y in bytes[y * stride..<y * stride + width * 4] }
        }
        self.init(width: width, height: buffer.height, bytes: bytes)
    }

    init(_ image: Image) { self.init(image.pixels) }

    var isOpaque: Bool { stride(from: 3, to: bytes.count, by: 4).allSatisfy { bytes[$0] == 255 } }

    func buffer() throws -> PixelBuffer {
        var buffer = try MutablePixelBuffer(width: width, height: height)
        buffer.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
        return buffer.freeze(isOpaque: isOpaque)
    }

    func image(scale: Double = 1) throws -> Image { Image(pixels: try buffer(), scale: scale) }

    subscript(x: Int, y: Int) -> [UInt8] { Array(bytes[(y * width + x) * 4..<(y * width + x) * 4 + 4]) }

    /// `count` rows from `first` on.
    func rows(from first: Int, count: Int) -> EffectPixels {
        EffectPixels(
            width: width, height: count, bytes: Array(bytes[first * width * 4..<(first + count) * width * 4]))
    }

    /// The largest difference of two bytes at one place.
    func difference(from other: EffectPixels) -> Int {
        precondition(width == other.width && height == other.height, "pictures of two sizes")
        return zip(bytes, other.bytes).reduce(0) { max($0, abs(Int($1.0) - Int($1.1))) }
    }

    /// Peak signal to noise ratio in decibels; above 40 no eye sees a difference.
    func psnr(against other: EffectPixels) -> Double {
        precondition(width == other.width && height == other.height, "pictures of two sizes")
        let squares = zip(bytes, other.bytes).reduce(0.0) { $0 + pow(Double($1.0) - Double($1.1), 2) }
        return squares == 0 ? .infinity : 10 * log10(255 * 255 * Double(bytes.count) / squares)
    }

    /// Whether no colour is above its alpha.
    var isPremultiplied: Bool {
        bytes.indices.allSatisfy { bytes[$0] <= bytes[$0 | 3] }
    }
}
