import Foundation
import Testing
import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct ImageFormatTests {
    @Test(
        arguments: [
            ([0xFF, 0xD8, 0xFF, 0xE0], ImageFormat.jpeg),
            ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0], .png),
            (Array("GIF87a".utf8), .gif),
            (Array("GIF89a...".utf8), .gif),
            (Array("RIFF\u{1}\u{2}\u{3}\u{4}WEBPVP8 ".utf8), .webp),
            (Array("BM".utf8) + [9, 9, 9, 9, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0], .bmp),
            ([0, 0, 1, 0, 1, 0], .ico), ([0, 0, 2, 0, 9, 0], .ico),
            (Array("icns\0\0\u{1}\0".utf8), .icns),
            (Array("P6 1 1".utf8), .pnm), (Array("P7\nWIDTH".utf8), .pnm),
            (Array("qoif".utf8), .qoi),
        ] as [([UInt8], ImageFormat)])
    func recognizesFormatsByTheirFirstBytes(bytes: [UInt8], format: ImageFormat) {
        #expect(ImageFormat(signatureOf: Data(bytes)) == format)
    }

    @Test(arguments: [
        "", "RIFF", "RIFF1234WAVE", "GIF90a", "<html>", "\u{7F}PNG", "BM is a text of some length", "P8 1", "P6x",
        "\0\0\u{1}\0\0\0",
    ])
    func doesNotRecognizeOtherBytes(text: String) {
        #expect(ImageFormat(signatureOf: Data(text.utf8)) == nil)
    }

    @Test(
        arguments: [(12, true), (13, false), (15, false), (16, true), (124, true), (125, false), (255, false)]
            as [(UInt8, Bool)])
    func aBitmapHasAHeaderOfAKnownLength(length: UInt8, isBitmap: Bool) {
        let bytes = Array("BM".utf8) + [9, 9, 9, 9, 0, 0, 0, 0, 54, 0, 0, 0, length, 0, 0, 0]
        #expect(ImageFormat(signatureOf: Data(bytes)) == (isBitmap ? .bmp : nil))
    }

    @Test(arguments: [
        ("png", ImageFormat.png), (".JPG", .jpeg), ("JPEG", .jpeg), ("webp", .webp), ("dib", .bmp), ("CUR", .ico),
        ("ppm", .pnm),
    ])
    func isFoundByNameOrExtension(name: String, format: ImageFormat) {
        #expect(ImageFormat(named: name) == format)
    }

    @Test func isNotFoundByAnUnknownName() {
        #expect(ImageFormat(named: "psd") == nil)
        #expect(ImageFormat(named: "") == nil)
    }

    @Test(arguments: ImageOrientation.allCases)
    func uprightSizesFollowTheOrientation(_ orientation: ImageOrientation) {
        let size = PixelSize(width: 3, height: 2)
        let isTurned = [.leftMirrored, .right, .rightMirrored, .left].contains(orientation)
        #expect(orientation.upright(size) == (isTurned ? size.transposed : size))
    }
}
