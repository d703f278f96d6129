import Testing
import WebImageCore

@testable import WebImageCoding

/// Pictures that show a part of another's memory, whose rows have gaps.
@Suite struct PartEncodingTests {
    @Test(arguments: [ImageFormat.png, .jpeg, .webp], [true, false])
    func areEncodedAsCopiesAre(format: ImageFormat, isOpaque: Bool) throws {
        let bytes = (0..<60 * 40).flatMap { index -> [UInt8] in
            let alpha = isOpaque ? 255 : index % 256
            return [UInt8(index % 60 * 4 * alpha / 255), UInt8(index / 60 * 6 * alpha / 255), 0, UInt8(alpha)]
        }
        let whole = try Pixels(size: PixelSize(width: 60, height: 40), bytes: bytes).buffer(isOpaque: isOpaque)
        let part = try #require(try whole.cropped(to: PixelRect(x: 5, y: 3, width: 51, height: 35)))
        #expect(part.bytesPerRow == 240)
        var copied: [UInt8] = []
        for row in 3..<38 { copied += bytes[(row * 60 + 5) * 4..<(row * 60 + 56) * 4] }
        let copy = try Pixels(size: part.size, bytes: copied).buffer(isOpaque: isOpaque)
        let options = EncodingOptions(quality: 0.9)
        let encoded = try CodecRegistry.shared.encode(Image(pixels: part), as: format, options: options)
        #expect(encoded == (try CodecRegistry.shared.encode(Image(pixels: copy), as: format, options: options)))
    }
}
