import Foundation
import Testing
import WebImageCore

@Suite struct ImageFormatTests {
    @Test(arguments: [
        ([0xFF, 0xD8, 0xFF, 0xE0], ImageFormat.jpeg),
        ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0], .png),
        (Array("GIF87a".utf8), .gif),
        (Array("GIF89a...".utf8), .gif),
        (Array("RIFF\u{1}\u{2}\u{3}\u{4}WEBPVP8 ".utf8), .webp),
    ])
    func recognizesFormatsByTheirFirstBytes(bytes: [UInt8], format: ImageFormat) {
        #expect(ImageFormat(signatureOf: Data(bytes)) == format)
    }

    @Test(arguments: ["", "RIFF", "RIFF1234WAVE", "GIF90a", "<html>", "\u{7F}PNG"])
    func doesNotRecognizeOtherBytes(text: String) {
        #expect(ImageFormat(signatureOf: Data(text.utf8)) == nil)
    }

    @Test(arguments: [("png", ImageFormat.png), (".JPG", .jpeg), ("JPEG", .jpeg), ("webp", .webp)])
    func isFoundByNameOrExtension(name: String, format: ImageFormat) {
        #expect(ImageFormat(named: name) == format)
    }

    @Test func isNotFoundByAnUnknownName() {
        #expect(ImageFormat(named: "bmp") == nil)
        #expect(ImageFormat(named: "") == nil)
    }

    @Test(arguments: ImageOrientation.allCases)
    func uprightSizesFollowTheOrientation(_ orientation: ImageOrientation) {
        let size = PixelSize(width: 3, height: 2)
        let isTurned = [.leftMirrored, .right, .rightMirrored, .left].contains(orientation)
        #expect(orientation.upright(size) == (isTurned ? size.transposed : size))
    }
}
