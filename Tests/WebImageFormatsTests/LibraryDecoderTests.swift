import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding
@testable import WebImageFormats

/// Compares with the programs of each library's own project.
@Suite(.timeLimit(.minutes(3))) struct LibraryDecoderTests {
    private let files: FormatFiles
    private let registry = FormatFiles.registry

    init() throws { files = try FormatFiles() }

    static let sizes = [(161, 120), (64, 64), (1, 1), (17, 3)].map { PixelSize(width: $0.0, height: $0.1) }

    @Test(arguments: FormatFiles.made, sizes) func decodesLikeAnotherProgram(
        format: LibraryFormat, size: PixelSize
    ) throws {
        for hasAlpha in [false, true] {
            let png = try files.png("source.png", size: size, hasAlpha: hasAlpha)
            // x265 does not encode images of a few pixels.
            guard format != .heic || min(size.width, size.height) >= 16 else { continue }
            try files.make(format, "image", from: png)
            let data = try files.data("image")
            let image = try registry.decode(data)
            let other = try files.decodeElsewhere(format, "image")
            // What remains is rounding, of YCbCr and of alpha.
            #expect((Pixels(image.pixels).difference(from: other) ?? 255) <= 3, "\(image.pixels.size) \(other.size)")
            #expect(image.format == format.format)
            #expect(
                image.pixels.isOpaque == other.bytes.enumerated().allSatisfy { $0.offset % 4 != 3 || $0.element == 255 }
            )
            let info = try registry.info(of: data)
            #expect(info.size == image.pixels.size && info.bitDepth == 8 && !info.isHDR)
            #expect(info.hasAlpha || image.pixels.isOpaque)
        }
    }

    @Test(arguments: FormatFiles.made) func aThumbnailHasTheRequestedSize(format: LibraryFormat) throws {
        let png = try files.png("source.png", size: PixelSize(width: 300, height: 200))
        try files.make(format, "image", from: png)
        let data = try files.data("image")
        let thumbnail = Thumbnail(.pixels(width: 75, height: 75), mode: .aspectFit)
        let image = try registry.decode(data, options: DecodingOptions(thumbnail: thumbnail))
        #expect(image.pixels.size == PixelSize(width: 75, height: 50) && image.isThumbnail)
        let whole = try registry.decode(data).pixels
        let expected = try whole.resampled(to: image.pixels.size, cancellation: nil)
        #expect((Pixels(image.pixels).psnr(against: Pixels(expected)) ?? 0) > 25)
    }

    @Test(arguments: FormatFiles.made) func refusesWhatALimitForbids(format: LibraryFormat) throws {
        let png = try files.png("source.png", size: PixelSize(width: 200, height: 150))
        try files.make(format, "image", from: png)
        let data = try files.data("image")
        var options = DecodingOptions()
        options.limits.pixelCount = 100
        let size = try registry.info(of: data).size
        #expect(throws: WebImageError.limitExceeded(reason: .pixels(size: size, limit: 100))) {
            try registry.decode(data, options: options)
        }
        options.limits = .default
        options.limits.memoryByteCount = 1_000
        #expect(throws: WebImageError.self) { try registry.decode(data, options: options) }
        options.limits = .default
        options.cancellation = Cancellation()
        options.cancellation?.cancel()
        #expect(throws: WebImageError.cancelled) { try registry.decode(data, options: options) }
    }

    @Test(arguments: FormatFiles.made) func aPageThatIsNotThereIsAnError(format: LibraryFormat) throws {
        try files.make(format, "image", from: files.png("source.png", size: PixelSize(width: 32, height: 32)))
        var options = DecodingOptions()
        options.page = 3
        #expect(throws: WebImageError.decoding(format: format.format, reason: .page(3, count: 1))) {
            try registry.decode(files.data("image"), options: options)
        }
    }

    @Test(arguments: FormatFiles.made, [-1, 1]) func aFrameThatIsNotThereIsAnError(
        format: LibraryFormat, frame: Int
    ) throws {
        try files.make(format, "image", from: files.png("source.png", size: PixelSize(width: 32, height: 32)))
        let data = try files.data("image")
        #expect(throws: WebImageError.decoding(format: format.format, reason: .unsupported("such a frame"))) {
            try data.withBytes { (bytes) throws(WebImageError) in
                let file = try LibraryFile(format, bytes: bytes, limits: .default)
                _ = try file.pixels(ofFrame: frame, allowsDamage: false, cancellation: nil)
            }
        }
    }

    /// 60 truncated and 60 damaged versions of each.
    @Test(arguments: FormatFiles.made) func survivesDamage(format: LibraryFormat) throws {
        try files.make(format, "image", from: files.png("source.png", size: PixelSize(width: 48, height: 40)))
        let whole = try files.data("image")
        var random = SplitMix64(seed: 19)
        for round in 0..<120 {
            var data = whole
            if round % 2 == 0 {
                data = data.prefix(Int.random(in: 0...whole.count, using: &random))
            } else {
                for _ in 0..<Int.random(in: 1...8, using: &random) {
                    data[Int.random(in: 0..<data.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
            }
            var exercise = DecoderExercise(LibraryDecoder(format), input: data)
            exercise.run()
            // A library's threads may decode different parts of a damaged image.
            #expect(exercise.faults.filter { !$0.contains("second") && !$0.contains("pixels") } == [])
        }
    }

    @Test func decodesTenBitsWithoutBanding() throws {
        let size = PixelSize(width: 256, height: 64)
        let png = try files.png("source.png", size: size)
        try files.run(
            "avifenc", "-d", "10", "-y", "444", "-s", "8", "--min", "0", "--max", "4", png, files.path("deep"))
        let data = try files.data("deep")
        #expect(try registry.info(of: data).bitDepth == 10)
        let pixels = Pixels(try registry.decode(data).pixels)
        #expect((pixels.difference(from: Pixels(try FormatFiles.painting(size))) ?? 255) <= 3)
    }

    @Test(arguments: 0..<4, [-1, 0, 1]) func turnsAVIF(angle: Int, axis: Int) throws {
        let source = try FormatFiles.painting(PixelSize(width: 48, height: 30))
        let png = try files.png("source.png", source)
        var arguments = ["-s", "8", "-y", "444", "--min", "0", "--max", "4", "--irot", "\(angle)"]
        if axis >= 0 { arguments += ["--imir", "\(axis)"] }
        try OtherProgram.run("/usr/bin/avifenc", arguments + [png, files.path("turned")])
        let data = try files.data("turned")
        // Counterclockwise, then mirrored: 0 exchanges top and bottom, 1 left and right.
        let rotated = try source.upright(from: [.up, .left, .down, .right][angle], cancellation: nil)
        let expected =
            axis < 0 ? rotated : try rotated.upright(from: axis == 0 ? .downMirrored : .upMirrored, cancellation: nil)
        let image = try registry.decode(data)
        #expect((Pixels(image.pixels).psnr(against: Pixels(expected)) ?? 0) > 35)
        #expect(try registry.info(of: data).size == expected.size)
        #expect(try registry.probe(data)?.size == expected.size)
    }

    @Test func cropsAVIF() throws {
        let source = try FormatFiles.painting(PixelSize(width: 64, height: 48))
        // 40 × 20 pixels around the middle.
        try files.run(
            "avifenc", "-s", "8", "-y", "444", "--min", "0", "--max", "4", "--clap", "40,1,20,1,0,1,0,1",
            files.png("source.png", source), files.path("cropped"))
        let data = try files.data("cropped")
        let image = try registry.decode(data)
        let expected = try #require(try source.cropped(to: PixelRect(x: 12, y: 14, width: 40, height: 20)))
        #expect(image.pixels.size == PixelSize(width: 40, height: 20))
        #expect((Pixels(image.pixels).psnr(against: Pixels(try expected.copied().freeze(isOpaque: true))) ?? 0) > 35)
        #expect(try registry.probe(data)?.size == image.pixels.size)
    }

    @Test func decodesAGridOfTiles() throws {
        let tiles = try (0..<4).map { try files.png("tile\($0).png", size: PixelSize(width: 64, height: 64)) }
        try OtherProgram.run(
            "/usr/bin/avifenc", ["-s", "8", "--grid", "2x2"] + tiles + [files.path("grid")])
        let data = try files.data("grid")
        #expect(try registry.decode(data).pixels.size == PixelSize(width: 128, height: 128))
        #expect(try registry.probe(data)?.size == PixelSize(width: 128, height: 128))
    }

    @Test(.enabled(if: FormatFiles.canWriteHEIC)) func usesAnEmbeddedThumbnailOnlyIfItIsLargeEnough() throws {
        let png = try files.png("source.png", size: PixelSize(width: 400, height: 300))
        try files.run("heif-enc", "-t", "100", png, "-o", files.path("image"))
        try files.data("image").withBytes { (bytes) throws(WebImageError) in
            for (wanted, used) in [(80, 100), (96, 100), (104, 400), (400, 400)] {
                let size = PixelSize(width: wanted, height: wanted * 3 / 4)
                let file = try LibraryFile(.heic, bytes: bytes, limits: .default, wantedSize: size)
                #expect(file.decodedSize.width == used)
            }
        }
        let thumbnail = Thumbnail(.pixels(width: 80, height: 80), mode: .aspectFit)
        let image = try registry.decode(files.data("image"), options: DecodingOptions(thumbnail: thumbnail))
        #expect(image.pixels.size == PixelSize(width: 80, height: 60))
    }

    @Test(arguments: [
        ["-c", "lzw"], ["-c", "packbits"], ["-c", "zip"], ["-t", "-w", "32", "-l", "16"], ["-8"], ["-B"],
    ])
    func decodesTIFF(options: [String]) throws {
        let source = try FormatFiles.painting(PixelSize(width: 70, height: 45))
        try files.make(.tiff, "source.tif", from: files.png("source.png", source))
        try OtherProgram.run("/usr/bin/tiffcp", options + [files.path("source.tif"), files.path("image.tif")])
        let data = try files.data("image.tif")
        #expect(Pixels(try registry.decode(data).pixels) == Pixels(source))
        var options = DecodingOptions()
        options.allowsDamage = false
        #expect(throws: WebImageError.self) { try registry.decode(data.prefix(data.count / 2), options: options) }
    }

    @Test(arguments: 1...8) func turnsTIFF(orientation: Int) throws {
        let source = try FormatFiles.painting(PixelSize(width: 33, height: 20))
        try files.make(.tiff, "image.tif", from: files.png("source.png", source))
        try files.run("tiffset", "-s", "274", "\(orientation)", files.path("image.tif"))
        let stored = try #require(ImageOrientation(rawValue: orientation))
        let expected = try source.upright(from: stored, cancellation: nil)
        #expect(Pixels(try registry.decode(files.data("image.tif")).pixels) == Pixels(expected))
    }

    @Test func decodesPagesOfTIFF() throws {
        let sizes = [40, 50, 60].map { PixelSize(width: $0, height: 20) }
        for (index, size) in sizes.enumerated() {
            try files.make(.tiff, "\(index).tif", from: files.png("\(index).png", size: size))
        }
        try OtherProgram.run("/usr/bin/tiffcp", (0..<3).map { files.path("\($0).tif") } + [files.path("pages.tif")])
        let data = try files.data("pages.tif")
        let info = try registry.info(of: data)
        #expect(info.pageCount == 3 && info.frameCount == 1)
        for (index, size) in sizes.enumerated() {
            var options = DecodingOptions()
            options.page = index
            let image = try registry.decode(data, options: options)
            #expect(Pixels(image.pixels) == Pixels(try FormatFiles.painting(size)) && image.animation == nil)
        }
    }

    @Test func decodesSixteenBitsOfTIFF() throws {
        let script = """
            import struct, sys
            from PIL import Image
            row = struct.pack("<200H", *(x * 300 for x in range(200)))
            Image.frombytes("I;16", (200, 16), row * 16).save(sys.argv[1])
            """
        try OtherProgram.run(OtherProgram.python, ["-c", script, files.path("deep.tif")])
        let data = try files.data("deep.tif")
        #expect(try registry.info(of: data).bitDepth == 16)
        let pixels = try registry.decode(data).pixels
        for x in 0..<200 {
            let mean = (0..<16).reduce(0.0) { $0 + Double(pixels[x, $1].x) } / 16
            // Dithering keeps the mean of a column: the thresholds of two rows of eight are all different.
            #expect(abs(mean - Double(x * 300) / 257) < 0.6)
        }
    }

    @Test func decodesCodestreamsAndGrayOfJPEG2000() throws {
        let png = try files.png("source.png", size: PixelSize(width: 90, height: 60))
        try files.run("opj_compress", "-i", png, "-o", files.path("image.j2k"))
        let other = try files.decodeElsewhere(.jpeg2000, "image.j2k")
        let difference = Pixels(try registry.decode(files.data("image.j2k")).pixels).difference(from: other)
        #expect(difference == 0)
        let gray = Data("P5\n5 2\n255\n".utf8) + Data([0, 50, 100, 200, 255, 255, 200, 100, 50, 0])
        try files.directory.write(gray, to: "gray.pgm")
        try files.run("opj_compress", "-n", "1", "-i", files.path("gray.pgm"), "-o", files.path("gray.jp2"))
        let pixels = try registry.decode(files.data("gray.jp2")).pixels
        #expect((0..<5).map { pixels[$0, 0] } == [0, 50, 100, 200, 255].map { SIMD4(repeating: $0, alpha: 255) })
    }

    /// Written without the encoders' own limits.
    @Test(arguments: ["avif", "jp2", "tif", "svg", "jxl"]) func refuses65536Pixels(name: String) throws {
        let wide: Data
        if name == "svg" {
            wide = Data("<svg xmlns='http://www.w3.org/2000/svg' width='65536' height='1'/>".utf8)
        } else if name == "avif" {
            let png = try files.png("source.png", size: PixelSize(width: 64, height: 64))
            try files.make(.avif, "image", from: png)
            var data = try files.data("image")
            let place = try #require(data.firstRange(of: Data("ispe".utf8)))
            data.replaceSubrange(place.upperBound + 4..<place.upperBound + 8, with: [0, 1, 0, 0])
            wide = data
        } else {
            try files.directory.write(Data("P5\n65536 2\n255\n".utf8) + Data(count: 131_072), to: "wide.pgm")
            let (from, to) = (files.path("wide.pgm"), files.path("wide." + name))
            switch name {
            case "jp2": try files.run("opj_compress", "-n", "1", "-i", from, "-o", to)
            case "jxl": try files.run("cjxl", from, to, "-d", "0")
            default:
                let script = "import sys; from PIL import Image; Image.open(sys.argv[1]).save(sys.argv[2])"
                try OtherProgram.run(OtherProgram.python, ["-c", script, from, to])
            }
            wide = try files.data("wide." + name)
        }
        let error = #expect(throws: WebImageError.self) { try registry.decode(wide) }
        guard case .limitExceeded(.pixels(let size, _), _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(size.width == 65_536)
    }

    @Test func showsHDRWithoutLosingLight() throws {
        let png = try files.png("source.png", size: PixelSize(width: 64, height: 64))
        for transfer in [16, 18] {
            try files.run(
                "avifenc", "-d", "10", "-s", "8", "-y", "444", "--min", "0", "--max", "4", "--cicp", "9/\(transfer)/9",
                png, files.path("hdr"))
            let data = try files.data("hdr")
            let info = try registry.info(of: data)
            #expect(info.isHDR && info.bitDepth == 10)
            let pixels = try registry.decode(data).pixels
            // Neither clipped nor dark: the brightest corner is bright, and darker ones are darker.
            #expect(pixels[63, 63].y > 200 && pixels[0, 0].y < 60 && pixels[63, 63].y > pixels[63, 30].y)
        }
    }

}

extension SIMD4<UInt8> {
    init(repeating value: UInt8, alpha: UInt8) { self.init(value, value, value, alpha) }
}
