import Foundation
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageProcessing

/// Images made by Pillow and cairo; see Tests/Fixtures/geometry_fixtures.py.
enum GeometryFixture {
    /// The source of all others: 48 by 36 translucent pixels.
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
        .appending(path: "Fixtures/geometry")
}

extension PixelBuffer {
    /// Rows one after the other, without gaps.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(width * height * 4)
        for y in 0..<height { bytes.append(contentsOf: UnsafeBufferPointer(start: row(y), count: width * 4)) }
        return bytes
    }

    /// The largest difference of two bytes; `nil` for images of different sizes.
    func difference(from other: PixelBuffer) -> Int? {
        guard size == other.size else { return nil }
        return zip(bytes, other.bytes).reduce(0) { max($0, abs(Int($1.0) - Int($1.1))) }
    }

    /// Whether no color exceeds its alpha.
    var isPremultiplied: Bool { EffectPixels(self).isPremultiplied }
}

/// An image of one color.
func flat(_ width: Int, _ height: Int, _ pixel: [UInt8] = [200, 100, 50, 255], scale: Double = 1) throws -> Image {
    let bytes = (0..<width * height).flatMap { _ in pixel }
    let size = PixelSize(width: width, height: height)
    return Image(pixels: try GeometryFixture.buffer(size, bytes, isOpaque: pixel[3] == 255), scale: scale)
}

/// An image in which each pixel has its column in red and its row in green.
func numbered(_ width: Int, _ height: Int, scale: Double = 1) throws -> Image {
    let bytes = (0..<width * height).flatMap { index -> [UInt8] in
        [UInt8(index % width % 256), UInt8(index / width % 256), 7, 255]
    }
    let size = PixelSize(width: width, height: height)
    return Image(pixels: try GeometryFixture.buffer(size, bytes, isOpaque: true), scale: scale)
}

/// Premultiplied RGBA without gaps between rows.
struct EffectPixels: Equatable {
    let width: Int
    let height: Int
    var bytes: [UInt8]

    init(width: Int, height: Int, bytes: [UInt8]) {
        self.width = width
        self.height = height
        self.bytes = bytes
    }

    /// All pixels are equal.
    init(width: Int, height: Int, pixel: [UInt8]) {
        self.init(width: width, height: height, bytes: (0..<width * height * 4).map { pixel[$0 % 4] })
    }

    /// Random premultiplied pixels.
    init(noise width: Int, _ height: Int, seed: UInt64, isOpaque: Bool = false) {
        var generator = SplitMix64(seed: seed)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(width * height * 4)
        for _ in 0..<width * height {
            let alpha = isOpaque ? 255 : UInt8.random(in: 0...255, using: &generator)
            for _ in 0..<3 { bytes.append(UInt8.random(in: 0...alpha, using: &generator)) }
            bytes.append(alpha)
        }
        self.init(width: width, height: height, bytes: bytes)
    }

    /// Made by another program; see Tests/Fixtures/effects_fixtures.py.
    init(fixture name: String) throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Fixtures/effects/\(name).rgba")
        let data = [UInt8](try Data(contentsOf: file))
        func number(at offset: Int) -> Int { (0..<4).reduce(0) { $0 | Int(data[offset + $1]) << (8 * $1) } }
        self.init(width: number(at: 0), height: number(at: 4), bytes: Array(data[8...]))
    }

    init(_ buffer: PixelBuffer) {
        self.init(width: buffer.width, height: buffer.height, bytes: buffer.bytes)
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

    /// The largest difference of two bytes.
    func difference(from other: EffectPixels) -> Int {
        precondition(width == other.width && height == other.height, "images of two sizes")
        return zip(bytes, other.bytes).reduce(0) { max($0, abs(Int($1.0) - Int($1.1))) }
    }

    /// Peak signal-to-noise ratio in decibels; above 40, differences are invisible.
    func psnr(against other: EffectPixels) -> Double {
        precondition(width == other.width && height == other.height, "images of two sizes")
        let squares = zip(bytes, other.bytes).reduce(0.0) { $0 + pow(Double($1.0) - Double($1.1), 2) }
        return squares == 0 ? .infinity : 10 * log10(255 * 255 * Double(bytes.count) / squares)
    }

    /// Whether no color exceeds its alpha.
    var isPremultiplied: Bool {
        // Without closures, which are slow in debug builds.
        bytes.withUnsafeBytes { bytes in
            var index = 0
            while index < bytes.count {
                let pixel = bytes.loadUnaligned(fromByteOffset: index, as: SIMD4<UInt8>.self)
                if pixel.max() != pixel.w { return false }
                index += 4
            }
            return true
        }
    }
}

// Processors as functions, for short tests.
extension Image {
    func resized(
        to size: TargetSize, mode: FitMode = .aspectFit, filter: ResizeFilter = .lanczos, allowsUpscaling: Bool = true
    ) throws(WebImageError) -> Image {
        try processed(by: [.resize(to: size, fit: mode, filter: filter, allowsUpscaling: allowsUpscaling)])
    }

    func cropped(toPoints rect: PointRect) throws(WebImageError) -> Image {
        try processed(by: [.crop(toPoints: rect)])
    }

    func cropped(toPixels rect: PixelRect) throws(WebImageError) -> Image {
        try processed(by: [.crop(toPixels: rect)])
    }

    func withRoundedCorners(radius: Double, border: Border? = nil) throws(WebImageError) -> Image {
        try processed(by: [.roundedCorners(radius: radius, border: border)])
    }

    func rotated(clockwise angle: Angle, keepsSize: Bool = false) throws(WebImageError) -> Image {
        try processed(by: [.rotate(clockwise: angle, keepsSize: keepsSize)])
    }

    func flipped(horizontally: Bool = false, vertically: Bool = false) throws(WebImageError) -> Image {
        try processed(by: [.flip(horizontally: horizontally, vertically: vertically)])
    }

    func tinted(_ color: Color, mode: BlendMode = .sourceIn) throws(WebImageError) -> Image {
        try processed(by: [.tint(color, mode: mode)])
    }

    func blurred(radius: Double) throws(WebImageError) -> Image {
        try processed(by: [.blur(radius: radius)])
    }

    func blended(
        with other: Image, x: Double = 0, y: Double = 0, mode: BlendMode = .sourceOver, opacity: Double = 1,
        cancellation: Cancellation? = nil
    ) throws(WebImageError) -> Image {
        try processed(
            by: [.blend(other, id: "", x: x, y: y, mode: mode, opacity: opacity)], cancellation: cancellation)
    }

    func overlaid(
        with other: Image, at position: ImageContentMode = .bottomRight, margin: Double = 8, opacity: Double = 1,
        scale: Double = 1
    ) throws(WebImageError) -> Image {
        try processed(
            by: [.overlay(other, id: "", at: position, margin: margin, opacity: opacity, scale: scale)])
    }

    func masked(by mask: Image, usesAlpha: Bool = false) throws(WebImageError) -> Image {
        try processed(by: [.mask(mask, id: "", usesAlpha: usesAlpha)])
    }

    func recolored(by matrix: ColorMatrix) throws(WebImageError) -> Image {
        try processed(by: [.colorMatrix(matrix)])
    }

    func adjusted(
        saturation: Double = 1, brightness: Double = 0, contrast: Double = 1
    ) throws(WebImageError) -> Image {
        try processed(by: [.color(saturation: saturation, brightness: brightness, contrast: contrast)])
    }

    func blurred(
        _ effect: BlurEffect, mask: Image? = nil, maskUsesAlpha: Bool = false
    ) throws(WebImageError) -> Image {
        try processed(by: [.blur(effect, mask: mask, maskID: "", maskUsesAlpha: maskUsesAlpha)])
    }

    func inset(by insets: PointInsets, color: Color = .clear) throws(WebImageError) -> Image {
        try processed(by: [.inset(by: insets, color: color)])
    }

    func withRoundedCorners(radii: CornerRadii) throws(WebImageError) -> Image {
        try RoundedCornersProcessor(radii: radii, border: nil).process(self, cancellation: nil)
    }

    func croppedToCircle(border: Border? = nil) throws(WebImageError) -> Image {
        try processed(by: [.circle(border: border)])
    }

    func drawn(
        in rect: PointRect, canvas: PointSize, contentMode: ImageContentMode = .scaleToFill, clips: Bool = false,
        background: Color = .clear
    ) throws(WebImageError) -> Image {
        try processed(
            by: [.draw(in: rect, canvas: canvas, contentMode: contentMode, clips: clips, background: background)])
    }
}

extension TargetSize {
    static func points(_ size: PointSize) -> TargetSize { .points(width: size.width, height: size.height) }
}
