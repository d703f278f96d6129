import CodingTestSupport
import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding
@testable import WebImageFormats

/// One image of 16 bits, with a profile, in every format that has them.
@Suite(
    .timeLimit(.minutes(3)), .enabled(if: FormatFiles.made.count == LibraryFormat.allCases.count, "needs all libraries")
)
struct DeepColorTests {
    private let files: FormatFiles
    private let registry = FormatFiles.registry
    private let width = 125
    private let height = 16

    init() throws { files = try FormatFiles() }

    /// The profile of ProPhoto.
    private func profile() throws -> ColorProfile {
        let data = try Data(
            contentsOf: Fixture.directory.deletingLastPathComponent().appending(path: "color/prophoto.webp"))
        return try #require(try WebPDecoder().colorProfile(of: data))
    }

    /// Many colors outside of sRGB, with exact levels of 8 bits, so that programs for 8 bits can be asked.
    private func makePNG() throws -> Data {
        let script = """
            import struct, sys, zlib
            def chunk(name, content):
                return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
            width, height, profile, out = int(sys.argv[1]), int(sys.argv[2]), open(sys.argv[3], "rb").read(), sys.argv[4]
            levels = [0, 64, 128, 200, 255]
            row = b"".join(struct.pack(">3H", *(levels[i] * 257 for i in (x // 25, x // 5 % 5, x % 5))) for x in range(width))
            open(out, "wb").write(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 16, 2, 0, 0, 0))
                + chunk(b"iCCP", b"p\\0\\0" + zlib.compress(profile)) + chunk(b"IDAT", zlib.compress((b"\\0" + row) * height))
                + chunk(b"IEND", b""))
            """
        let icc = try files.directory.write(Data(profile().bytes), to: "p.icc").path
        try OtherProgram.run(
            OtherProgram.python, ["-c", script, "\(width)", "\(height)", icc, files.path("deep.png")])
        return try files.data("deep.png")
    }

    private func makeTIFF() throws -> Data {
        let levels = [0, 64, 128, 200, 255]
        var tiff = TIFFBytes(width: width, height: height, bits: 16)
        let row = (0..<width).flatMap { (x: Int) -> [UInt8] in
            let indices: [Int] = [x / 25, x / 5 % 5, x % 5]
            return indices.flatMap { tiff.number(levels[$0] * 257, 2) }
        }
        tiff.strips = [Array(repeatElement(row, count: height).joined())]
        tiff.entries = [(34675, 7, try profile().bytes.map(Int.init))]
        return tiff.data
    }

    /// What lcms2 makes of the same levels with 8 bits, as Pillow calls it.
    private func reference() throws -> [UInt8] {
        let script = """
            import sys
            from PIL import Image, ImageCms
            levels = [0, 64, 128, 200, 255]
            row = bytes(levels[i] for x in range(125) for i in (x // 25, x // 5 % 5, x % 5))
            image = Image.frombytes("RGB", (125, 1), row)
            result = ImageCms.profileToProfile(image, sys.argv[1], ImageCms.createProfile("sRGB"))
            sys.stdout.buffer.write(result.tobytes())
            """
        return try Array(OtherProgram.run(OtherProgram.python, ["-c", script, files.path("p.icc")]))
    }

    @Test func everyFormatGivesTheColorsOfLittleCMS() throws {
        let png = try makePNG()
        try files.run("cjxl", files.path("deep.png"), files.path("deep.jxl"), "-d", "0")
        try files.run("avifenc", "-d", "12", "-s", "9", "--lossless", files.path("deep.png"), files.path("deep.avif"))
        let pixels = try registry.decode(png).pixels
        let reference = try reference()
        for x in 0..<width {
            for (channel, value) in [pixels[x, 5].x, pixels[x, 5].y, pixels[x, 5].z].enumerated() {
                #expect(abs(Int(value) - Int(reference[x * 3 + channel])) <= 2, "\(x)")
            }
        }
        #expect(Pixels(try registry.decode(makeTIFF()).pixels) == Pixels(pixels))
        #expect(Pixels(try registry.decode(files.data("deep.jxl")).pixels) == Pixels(pixels))
        // Of 12 bits.
        let avif = try registry.decode(files.data("deep.avif")).pixels
        #expect((Pixels(avif).difference(from: Pixels(pixels)) ?? 255) <= 3)
    }

    @Test func jpeg2000GivesThemToo() throws {
        let png = try makePNG()
        try files.run("opj_compress", "-n", "1", "-i", files.path("deep.png"), "-o", files.path("deep.jp2"))
        // OpenJPEG's program writes an enumerated color space; a box with a profile replaces it.
        var data = try files.data("deep.jp2")
        let profile = try profile().bytes
        let name = try #require(data.firstRange(of: Data("colr".utf8)))
        let start = name.lowerBound - 4
        let box = bigEndian(11 + profile.count) + Data("colr".utf8) + Data([2, 0, 0]) + Data(profile)
        let header = try #require(data.firstRange(of: Data("jp2h".utf8))).lowerBound - 4
        let headerLength = data[header..<header + 4].reduce(0) { $0 << 8 | Int($1) }
        data.replaceSubrange(start..<start + 15, with: box)
        data.replaceSubrange(header..<header + 4, with: bigEndian(headerLength - 15 + box.count))
        let difference = Pixels(try registry.decode(data).pixels).difference(
            from: Pixels(try registry.decode(png).pixels))
        #expect(difference == 0)
    }

    private func bigEndian(_ number: Int) -> Data {
        Data([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) })
    }

    /// Rows as they arrive, thumbnails, and all at once have the same pixels.
    @Test func everyWayOfDecodingAPNGConvertsAllBits() throws {
        let data = try makePNG()
        let whole = try registry.decode(data).pixels
        let incremental = try #require(PNGDecoder().makeIncrementalDecoder(options: DecodingOptions()))
        #expect(Pixels(try incremental.decode(data, inPiecesOf: 40).pixels) == Pixels(whole))
        let thumbnail = Thumbnail(.pixels(width: 50, height: 50), mode: .aspectFit)
        let small = try registry.decode(data, options: DecodingOptions(thumbnail: thumbnail)).pixels
        let expected = try whole.resampled(to: small.size, cancellation: nil)
        #expect((Pixels(small).difference(from: Pixels(expected)) ?? 255) <= 1)
    }

    /// Black is an extra channel of a JPEG XL; see Tests/Fixtures/jxl_ink.c.
    @Test func inksOfJPEGXLAreConvertedByTheirProfile() throws {
        let directory = Fixture.directory.deletingLastPathComponent().appending(path: "color")
        let press = try Data(contentsOf: directory.appending(path: "press.jpg"))
        let conversion = ColorConversion(
            from: .profile(try #require(try JPEGDecoder().colorProfile(of: press))), model: .cmyk)
        let pixels = try registry.decode(Data(contentsOf: directory.appending(path: "ink.jxl"))).pixels
        #expect(pixels.size == PixelSize(width: 16, height: 4) && pixels.isOpaque)
        for y in 0..<4 {
            for x in 0..<16 {
                var expected = [x % 4, x / 4, y, (x + y) % 2].map { 255 - UInt8($0 * 85) }
                conversion.convertInk(&expected, pixelCount: 1)
                for channel in 0..<3 {
                    #expect(abs(Int(pixels[x, y][channel]) - Int(expected[channel])) <= 2, "\(x) \(y)")
                }
            }
        }
    }
}
