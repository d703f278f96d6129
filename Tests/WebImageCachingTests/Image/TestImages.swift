import FoundationEssentials
@testable import WebImageCoding
import WebImageCore

/// An image of one color.
func solidImage(_ width: Int = 8, _ height: Int = 6, alpha: UInt8 = 255) throws -> Image {
    var pixels = try MutablePixelBuffer(width: width, height: height)
    pixels.withUnsafeMutableBytes { bytes in
        for index in bytes.indices { bytes[index] = index % 4 == 3 ? alpha : min(alpha, 100) }
    }
    return Image(pixels: pixels.freeze(isOpaque: alpha == 255))
}

/// A PNG file of one color.
func solidPNG(_ width: Int = 8, _ height: Int = 6) throws -> Data {
    try CodecRegistry.builtIn.encode(try solidImage(width, height), as: .png)
}

/// The animated GIF among the fixtures.
func animatedGIF() throws -> Data {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    return try Data(contentsOf: tests.appending(path: "Fixtures/images/animated.gif"))
}

/// Decodes PNG, counts the calls, and calls a closure before each.
final class ProbeDecoder: ImageDecoder {
    private let calls = LockBox(0)
    private let onDecode: @Sendable (DecodingOptions) -> Void

    init(onDecode: @escaping @Sendable (DecodingOptions) -> Void = { _ in }) { self.onDecode = onDecode }

    var format: ImageFormat { .png }
    var callCount: Int { calls.withLock { $0 } }

    func info(of data: Data) throws(WebImageError) -> ImageInfo { try PNGDecoder().info(of: data) }

    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        calls.withLock { $0 += 1 }
        onDecode(options)
        return try PNGDecoder().decode(data, options: options)
    }
}
