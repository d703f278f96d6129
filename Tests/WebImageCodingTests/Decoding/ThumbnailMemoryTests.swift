import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// The most memory that a thumbnail of 12 megapixels takes, in a process of its own: whole, the pixels are 48 MB.
@Suite(.serialized) struct ThumbnailMemoryTests {
    private static let size = PixelSize(width: 4000, height: 3000)
    private static let side = 200

    /// libjpeg scales by an eighth as it decodes.
    @Test func ofAJPEGIsAFractionOfThePicture() throws {
        #expect(try peak(of: JPEGEncoder().encode(picture(), options: EncodingOptions())) < 16 << 20)
    }

    /// libpng makes a row at a time.
    @Test(arguments: [16, 4]) func ofAPNGThatLibpngReadsIsAFewRows(_ depth: Int) throws {
        let color = depth == 16 ? PNGLayout.ColorType.rgb : .gray
        let rowByteCount = Self.size.width * depth * (depth == 16 ? 3 : 1) / 8 + 1
        let file = PNGWriter.file(
            header: PNGWriter.header(Self.size, depth: depth, color: color),
            filtered: [UInt8](repeating: 0, count: rowByteCount * Self.size.height))
        #expect(try peak(of: file) < 16 << 20)
    }

    /// libdeflate unpacks all of it, into the memory of the pixels.
    @Test func ofAnotherPNGIsThatOfThePicture() throws {
        let file = PNGWriter.file(
            header: PNGWriter.header(Self.size, color: .rgb),
            filtered: [UInt8](repeating: 0, count: (Self.size.width * 3 + 1) * Self.size.height))
        #expect(try peak(of: file) < 60 << 20)
    }

    /// libwebp has no rows to give before they stand in the picture.
    @Test func ofAWebPIsThatOfThePicture() throws {
        #expect(try peak(of: WebPEncoder().encode(picture(), options: EncodingOptions(quality: 0.1))) < 64 << 20)
    }

    /// The canvas, and a byte for each index.
    @Test func ofAGIFIsThatOfThePicture() throws {
        #expect(try peak(of: solidGIF(width: 2900, height: 2800)) < 60 << 20)
    }

    /// In bytes, above what the process has without a picture.
    private func peak(of file: Data) throws -> Int {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/picture"
        try file.write(to: URL(filePath: path))
        return try byteCount(["\(Self.side)", path]) - byteCount(["\(Self.side)"])
    }

    private func byteCount(_ arguments: [String]) throws -> Int {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let process = Process()
        // Beside the test program.
        process.executableURL = URL(filePath: tests).deletingLastPathComponent().appending(path: "DecodeMemoryProbe")
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return try #require(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    private func picture() throws -> Image {
        var pixels = try MutablePixelBuffer(width: Self.size.width, height: Self.size.height)
        pixels.withUnsafeMutableBytes { _ = $0.initializeMemory(as: UInt8.self, repeating: 0xFF) }
        return Image(pixels: pixels.freeze(isOpaque: true))
    }
}
