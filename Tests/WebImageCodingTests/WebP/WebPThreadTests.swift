import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// libwebp's second thread.
@Suite(.timeLimit(.minutes(3))) struct WebPThreadTests {
    /// libwebp starts it for images that are at least 512 pixels wide.
    private static let size = PixelSize(width: 640, height: 420)

    private func file(isLossless: Bool, hasAlpha: Bool) throws -> Data {
        var generator = SplitMix64(seed: 5)
        var pixels = try MutablePixelBuffer(width: Self.size.width, height: Self.size.height)
        let noise = generator.bytes(count: Self.size.pixelCount)
        pixels.withUnsafeMutableBytes { bytes in
            for (index, grain) in noise.enumerated() {
                let (x, y) = (index % Self.size.width, index / Self.size.width)
                let alpha = hasAlpha ? UInt8(y * 255 / Self.size.height) : 255
                for (channel, value) in [x / 3, y / 2, (x + y) / 5].enumerated() {
                    bytes[index * 4 + channel] = min(UInt8(value) + grain / 8, alpha)
                }
                bytes[index * 4 + 3] = alpha
            }
        }
        var options = EncodingOptions(quality: 0.8)
        options.isLossless = isLossless
        options.webPEffort = 1
        return try WebPEncoder().encode(Image(pixels: pixels.freeze(isOpaque: !hasAlpha)), options: options)
    }

    private func pixels(of file: Data, byteCount: Int, usesThread: Bool) throws -> Pixels? {
        let decoder = try WebPImageDecoder(
            size: Self.size, byteCount: byteCount, options: DecodingOptions(), usesThread: usesThread)
        try file.withUnsafeBytes { try decoder.decode($0, cancellation: nil) }
        return (try? decoder.finish(allowsDamage: true, cancellation: nil)).map { Pixels($0.pixels) }
    }

    @Test(arguments: [false, true], [false, true])
    func changesNoPixelOfWholeAndTruncatedFiles(isLossless: Bool, hasAlpha: Bool) throws {
        let file = try file(isLossless: isLossless, hasAlpha: hasAlpha)
        #expect(try pixels(of: file, byteCount: file.count, usesThread: true) != nil)
        for length in [file.count, file.count - 1, file.count * 9 / 10, file.count / 2, file.count / 5, 200] {
            let part = Data(file.prefix(length))
            let expected = try pixels(of: part, byteCount: file.count, usesThread: false)
            #expect(try pixels(of: part, byteCount: file.count, usesThread: true) == expected, "\(length) bytes")
        }
    }

    @Test(arguments: [false, true])
    func changesNoPixelOfDamagedFiles(isLossless: Bool) throws {
        let file = try file(isLossless: isLossless, hasAlpha: false)
        for place in 1..<12 {
            var damaged = file
            for offset in 0..<8 { damaged[file.count * place / 12 + offset] = 0xFF }
            let expected = try pixels(of: damaged, byteCount: file.count, usesThread: false)
            #expect(try pixels(of: damaged, byteCount: file.count, usesThread: true) == expected, "\(place)")
        }
    }
}
