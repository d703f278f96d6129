import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding
@testable import WebImageFormats

/// A part of a TIFF is the same as the part of the whole image, and takes the memory of the part.
@Suite(
    .timeLimit(.minutes(3)),
    .enabled(
        if: LibraryFormat.tiff.isBuilt && OtherProgram.isInstalled("/usr/bin/tiffcp"), "needs libtiff and its tools"))
struct TIFFRegionTests {
    private let registry = FormatFiles.registry
    private let files: FormatFiles

    init() throws { files = try FormatFiles() }

    /// Strips and tiles of all kinds, as the arguments of `tiffcp`.
    private static let layouts: [[String]] = [
        ["-s", "-r", "97"], ["-s", "-r", "7", "-c", "lzw:2"], ["-s", "-r", "1", "-c", "packbits"],
        ["-s", "-r", "16", "-c", "zip", "-p", "separate"], ["-t", "-w", "64", "-l", "48"],
        ["-t", "-w", "16", "-l", "16", "-c", "zip:2"], ["-t", "-w", "512", "-l", "32", "-p", "separate"],
        ["-s", "-r", "16", "-c", "jpeg:r:90"], ["-t", "-w", "48", "-l", "32", "-c", "jpeg:r:90"],
        ["-8", "-s", "-r", "50"],
        ["-B", "-t", "-w", "128", "-l", "128"],
    ]

    /// How the pixels are stored, as a script of Pillow.
    private static let modes = ["RGB", "RGBA", "L", "1", "P", "CMYK"]

    /// Compares parts with those of the whole image.
    private func check(_ data: Data, _ seed: UInt64, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let whole = try registry.decode(data)
        var random = SplitMix64(seed: seed)
        let (width, height) = (whole.pixels.width, whole.pixels.height)
        var regions = (0..<4).map { _ in
            let (x, y) = (Int.random(in: 0..<width, using: &random), Int.random(in: 0..<height, using: &random))
            return PixelRect(
                x: x, y: y, width: .random(in: 1...width - x, using: &random),
                height: .random(in: 1...height - y, using: &random))
        }
        regions += [
            PixelRect(x: 0, y: 0, width: width, height: height),
            PixelRect(x: width - 1, y: height - 1, width: 1, height: 1),
            PixelRect(x: -5, y: height / 2, width: 12, height: height),
        ]
        for region in regions {
            var options = DecodingOptions()
            options.region = region
            let part = try registry.decode(data, options: options)
            let expected = try #require(try whole.pixels.cropped(to: region)).copied().freeze(isOpaque: false)
            #expect(
                Pixels(try part.pixels.copied().freeze(isOpaque: false)) == Pixels(expected), "\(region)",
                sourceLocation: sourceLocation)
            #expect(!part.isThumbnail, sourceLocation: sourceLocation)
        }
    }

    private func makeSource(_ mode: String) throws {
        let png = try files.png("source.png", size: PixelSize(width: 133, height: 97), hasAlpha: mode == "RGBA")
        let script = "import sys; from PIL import Image; Image.open(sys.argv[1]).convert(sys.argv[3]).save(sys.argv[2])"
        try OtherProgram.run(OtherProgram.python, ["-c", script, png, files.path("source.tif"), mode])
    }

    @Test(arguments: layouts) func isThePartOfTheWholeImage(_ layout: [String]) throws {
        try makeSource("RGB")
        try OtherProgram.run("/usr/bin/tiffcp", layout + [files.path("source.tif"), files.path("image.tif")])
        try check(files.data("image.tif"), 5)
    }

    @Test(arguments: modes, [["-s", "-r", "20"], ["-t", "-w", "64", "-l", "48"]])
    func isThePartInEachMode(_ mode: String, _ layout: [String]) throws {
        try makeSource(mode)
        try OtherProgram.run("/usr/bin/tiffcp", layout + [files.path("source.tif"), files.path("image.tif")])
        try check(files.data("image.tif"), 6)
    }

    @Test(arguments: 1...8, [["-s", "-r", "16"], ["-t", "-w", "64", "-l", "48"]])
    func followsTheOrientation(_ orientation: Int, _ layout: [String]) throws {
        try makeSource("RGB")
        try OtherProgram.run("/usr/bin/tiffcp", layout + [files.path("source.tif"), files.path("image.tif")])
        try files.run("tiffset", "-s", "274", "\(orientation)", files.path("image.tif"))
        try check(files.data("image.tif"), UInt64(orientation))
    }

    /// These are dithered, in a pattern that begins at the corner of the image.
    @Test(arguments: [10, 16, 32], [false, true]) func isThePartOfDeepColors(_ bits: Int, _ isPlanar: Bool) throws {
        var tiff = TIFFBytes(width: 61, height: 43, bits: bits)
        tiff.isPlanar = isPlanar
        let row = (0..<61).map { Double($0) / 60 }
        let planes = (0..<3).map { plane in
            (0..<43).map { y in row.map { ($0 + Double(y * (plane + 1)) / 200).truncatingRemainder(dividingBy: 1) } }
        }
        let mixed = (0..<43).map { y in (0..<61).flatMap { x in planes.map { $0[y][x] } } }
        tiff.strips = isPlanar ? planes.map(tiff.packed) : [tiff.packed(mixed)]
        try check(tiff.data, UInt64(bits))
    }

    @Test func refusesARegionOutside() throws {
        try makeSource("RGB")
        var options = DecodingOptions()
        options.region = PixelRect(x: 70_000, y: 0, width: 5, height: 5)
        let error = #expect(throws: WebImageError.self) {
            try registry.decode(files.data("source.tif"), options: options)
        }
        #expect(error?.description.contains("a region outside the image") == true)
    }

    /// Damage matters only in the part.
    @Test func showsThePartsThatThereAre() throws {
        var tiff = TIFFBytes(width: 333, height: 216)
        tiff.strips = (0..<27).map { _ in Array(repeating: 90, count: 333 * 3 * 8) }
        var offsets = (0..<27).map { 8 + $0 * 333 * 3 * 8 }
        offsets[20] = 10_000_000
        tiff.entries = [(273, 4, offsets), (278, 4, [8])]
        var options = DecodingOptions(allowsDamage: false)
        options.region = PixelRect(x: 10, y: 0, width: 300, height: 160)
        _ = try registry.decode(tiff.data, options: options)
        options.region = PixelRect(x: 10, y: 0, width: 300, height: 161)
        #expect(throws: WebImageError.self) { try registry.decode(tiff.data, options: options) }
        options.allowsDamage = true
        let part = try registry.decode(tiff.data, options: options)
        #expect(part.isPartial)
        #expect(part.pixels[0, 160].w == 0 && part.pixels[0, 159].w == 255)
    }

    /// A view of tiles asks for the size first.
    @Test func tellsASizeThatIsTooLargeToDecode() throws {
        var tiff = TIFFBytes(width: 20_000, height: 12_000)
        tiff.strips = [[1, 2, 3]]
        #expect(try registry.info(of: tiff.data).size == PixelSize(width: 20_000, height: 12_000))
        #expect(throws: WebImageError.self) { try registry.decode(tiff.data) }
    }

    /// 100 megapixels in strips: 400 MB as a whole.
    @Test func takesTheMemoryOfThePart() throws {
        var tiff = TIFFBytes(width: 10_240, height: 10_240, channels: 1)
        tiff.photometric = 1
        tiff.strips = [Array(repeating: 90, count: 10_240 * 64)]
        // All strips are the same bytes.
        tiff.entries = [
            (273, 4, Array(repeating: 8, count: 160)), (278, 4, [64]),
            (279, 4, Array(repeating: 10_240 * 64, count: 160)),
        ]
        var options = DecodingOptions()
        options.limits.pixelCount = 200_000_000
        options.limits.memoryByteCount = 32 << 20
        #expect(throws: WebImageError.self) { try registry.decode(tiff.data, options: options) }
        options.region = PixelRect(x: 5_000, y: 5_000, width: 1_024, height: 1_024)
        let part = try registry.decode(tiff.data, options: options)
        #expect(part.pixels.size == PixelSize(width: 1_024, height: 1_024))
        #expect(part.pixels[1_023, 1_023].x == 90)
    }
}
