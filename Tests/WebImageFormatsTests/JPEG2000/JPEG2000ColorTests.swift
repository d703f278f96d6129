import CodingTestSupport
import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding
@testable import WebImageFormats

/// Compares with opj_decompress, whose PNGs have the colors that it makes of each color space.
@Suite(.timeLimit(.minutes(3))) struct JPEG2000ColorTests {
    private let files: FormatFiles
    private let registry = FormatFiles.registry

    init() throws { files = try FormatFiles() }

    private func maker(_ channelCount: Int = 3, depth: Int = 8, steps: [(Int, Int)] = []) -> JPEG2000Maker {
        JPEG2000Maker(files: files, channelCount: channelCount, depth: depth, steps: steps)
    }

    /// The largest difference from opj_decompress where the image is rather opaque.
    private func difference(_ data: Data) throws -> Int {
        try files.directory.write(data, to: "image.jp2")
        let other = try files.decodeElsewhere(.jpeg2000, "image.jp2")
        let own = Pixels(try registry.decode(data).pixels)
        #expect(try registry.info(of: data).size == own.size)
        return try #require(own.difference(from: other))
    }

    @Test(arguments: [18, 24], [8, 12]) func convertsYCC(space: Int, depth: Int) throws {
        for steps in [[(1, 1)], [(1, 1), (2, 1), (2, 1)], [(1, 1), (2, 2), (2, 2)]] {
            let data = try maker(depth: depth, steps: steps).file(color: JPEG2000Maker.space(space))
            // Deeper pixels are dithered.
            #expect(try difference(data) <= (depth == 8 ? 0 : 2))
        }
    }

    /// opj_decompress writes no image of most of these. Each pixel has the chroma of the sample to its left and above.
    @Test(arguments: [
        [(1, 1), (1, 2), (1, 2)], [(1, 1), (4, 1), (4, 1)], [(1, 1), (2, 2), (1, 1)], [(1, 1), (3, 5), (2, 1)],
    ])
    func convertsYCCWithAnySubsampling(steps: [(Int, Int)]) throws {
        var maker = maker(steps: steps)
        maker.size = PixelSize(width: 60, height: 60)
        let pixels = Pixels(try registry.decode(maker.file(color: JPEG2000Maker.space(18))).pixels)
        var largest = 0.0
        for index in 0..<pixels.size.pixelCount {
            let values = (0..<3).map { channel -> Double in
                let (dx, dy) = steps[channel]
                let (x, y) = (
                    Double(index % 60 / dx) / Double(60 / dx - 1), Double(index / 60 / dy) / Double(60 / dy - 1)
                )
                return (JPEG2000Maker.level(channel, x, y) * 255).rounded()
            }
            let (y, blue, red) = (values[0], values[1] - 128, values[2] - 128)
            let expected = [y + 1.402 * red, y - 0.344 * blue - 0.714 * red, y + 1.772 * blue]
            for (channel, color) in expected.enumerated() {
                largest = max(largest, abs(Double(pixels.bytes[index * 4 + channel]) - min(255, max(0, color))))
            }
        }
        #expect(largest <= 1)
    }

    @Test func componentsWithFewerColumnsAreChroma() throws {
        let steps = [(1, 1), (2, 2), (2, 2)]
        #expect(try difference(maker(steps: steps).file(color: JPEG2000Maker.space(16))) == 0)
        let codestream = try maker(steps: steps).codestream()
        #expect(try difference(codestream) == 0)
    }

    @Test(arguments: [8, 10, 16]) func convertsCMYK(depth: Int) throws {
        #expect(try difference(maker(4, depth: depth).file(color: JPEG2000Maker.space(12))) <= (depth == 8 ? 0 : 1))
    }

    @Test(arguments: [8, 10, 16]) func convertsCIELab(depth: Int) throws {
        let half = 1 << (depth - 1)
        let own = [100, 0, 160, half, 180, half, 0x0044_3530]
        for parameters in [[], [100, 0, 170, half, 200, half * 3 / 4, 0x0044_3530], own] {
            let data = try maker(depth: depth).file(color: JPEG2000Maker.space(14, parameters))
            #expect(try difference(data) <= 2, "\(parameters)")
        }
    }

    @Test(arguments: [[8, 8, 8], [5, 5, 5], [12, 12, 12], [8]]) func appliesPalettes(depths: [Int]) throws {
        for (depth, entryCount) in [(8, 256), (8, 200), (4, 16), (2, 4), (10, 1024)] {
            let palette = JPEG2000Maker.palette(entryCount: entryCount, depths: depths)
            let data = try maker(1, depth: depth).file(color: JPEG2000Maker.space(depths.count < 3 ? 17 : 16), palette)
            #expect(try difference(data) <= 1, "\(depth) \(entryCount)")
            #expect(try registry.info(of: data).bitDepth == depths[0])
        }
    }

    @Test func appliesAPaletteWithAlphaAndColumnsInAnyOrder() throws {
        let palette = JPEG2000Maker.palette(entryCount: 200, depths: [8, 8, 8, 8])
        let order = JPEG2000Maker.definitions((0, 3), (0, 2), (0, 1), (1, 0))
        let data = try maker(1).file(color: JPEG2000Maker.space(16), palette, order)
        let pixels = Pixels(try registry.decode(data).pixels)
        try files.directory.write(data, to: "image.jp2")
        let other = try files.decodeElsewhere(.jpeg2000, "image.jp2")
        #expect((pixels.difference(from: other) ?? 255) <= 1)
        #expect(try registry.info(of: data).hasAlpha)
    }

    @Test func readsChannelsInTheirDefinedOrder() throws {
        let reversed = JPEG2000Maker.definitions((0, 3), (0, 2), (0, 1))
        #expect(try difference(maker().file(color: JPEG2000Maker.space(16), reversed)) == 0)
        let alphaFirst = JPEG2000Maker.definitions((1, 0), (0, 1), (0, 2), (0, 3))
        let data = try maker(4).file(color: JPEG2000Maker.space(16), alphaFirst)
        let pixels = Pixels(try registry.decode(data).pixels)
        // opj_decompress writes alpha where it is.
        let straight = try maker(4).codestream()
        #expect(try registry.info(of: data).hasAlpha && registry.info(of: straight).hasAlpha)
        #expect(pixels.bytes[3] == 0 && pixels.bytes[63 * 4 + 3] == 255)
    }

    @Test func premultipliedColorsStayAsTheyAre() throws {
        func decoded(_ type: Int) throws -> Pixels {
            let definitions = JPEG2000Maker.definitions((0, 1), (0, 2), (0, 3), (type, 0))
            return Pixels(try registry.decode(maker(4).file(color: JPEG2000Maker.space(16), definitions)).pixels)
        }
        let (straight, premultiplied) = (try decoded(1), try decoded(2))
        for index in stride(from: 0, to: straight.bytes.count, by: 4) {
            let alpha = premultiplied.bytes[index + 3]
            let color = Self.level(2, index / 4)
            #expect(premultiplied.bytes[index + 2] == min(alpha, color))
            #expect(abs(Int(straight.bytes[index + 2]) - Int(color) * Int(alpha) / 255) <= 1)
        }
    }

    /// Of the maker's channels, as a byte.
    private static func level(_ channel: Int, _ index: Int) -> UInt8 {
        let (x, y) = (Double(index % 64) / 63, Double(index / 64) / 47)
        return UInt8((JPEG2000Maker.level(channel, x, y) * 255).rounded())
    }

    @Test(arguments: [1, 2, 3, 4], [2, 4, 8, 10, 12, 16]) func readsAllDepths(channelCount: Int, depth: Int) throws {
        for isSigned in [false, true] {
            var maker = maker(channelCount, depth: depth)
            maker.isSigned = isSigned
            let data = try maker.file(color: JPEG2000Maker.space(channelCount < 3 ? 17 : 16))
            let info = try registry.info(of: data)
            #expect(info.bitDepth == depth && info.hasAlpha == (channelCount % 2 == 0))
            let pixels = Pixels(try registry.decode(data).pixels)
            let highest = Double((1 << depth) - 1)
            var largest = 0.0
            for index in stride(from: 0, to: 64 * 48, by: 7) {
                let (x, y) = (Double(index % 64) / 63, Double(index / 64) / 47)
                // All values are exact but for the file's depth, the dithering and alpha.
                let levels = (0..<channelCount).map {
                    (JPEG2000Maker.level($0, x, y) * highest).rounded() / highest * 255
                }
                let alpha = channelCount % 2 == 0 ? levels[channelCount - 1] : 255
                let colors = channelCount < 3 ? [levels[0], levels[0], levels[0]] : Array(levels.prefix(3))
                for (channel, color) in (colors.map { $0 * alpha / 255 } + [alpha]).enumerated() {
                    largest = max(largest, abs(Double(pixels.bytes[index * 4 + channel]) - color))
                }
            }
            #expect(largest <= 1.6)
        }
    }

    @Test func moreChannelsThanFourAreIgnored() throws {
        let data = try maker(7).codestream()
        let three = try registry.decode(maker(3).codestream()).pixels
        let image = try registry.decode(data)
        #expect(image.pixels.isOpaque && Pixels(image.pixels) == Pixels(three))
    }

    /// OpenJPEG tells profiles only after decoding.
    @Test(arguments: [8, 16]) func convertsColorsByTheProfile(depth: Int) throws {
        let png = try Data(contentsOf: Fixture.directory.appending(path: "../color/adobe.png"))
        let profile = try #require(try registry.colorProfile(of: png))
        let data = try maker(depth: depth).file(color: JPEG2000Maker.profile(Data(profile.bytes)))
        #expect(try registry.info(of: data).hasColorProfile)
        try files.directory.write(data, to: "image.jp2")
        let other = try files.decodeElsewhere(.jpeg2000, "image.jp2")
        let own = Pixels(try registry.decode(data).pixels)
        let plain = Pixels(try registry.decode(maker(depth: depth).codestream()).pixels)
        let (found, without) = (own.psnr(against: other) ?? 0, plain.psnr(against: other) ?? .infinity)
        // Deep pixels treat colors differently that sRGB does not have.
        #expect(depth == 8 ? found > 45 : found > without, "\(found) \(without)")
    }

    @Test func convertsCMYKByTheProfile() throws {
        let jpeg = try Data(contentsOf: Fixture.directory.appending(path: "../color/press.jpg"))
        let profile = try #require(try registry.colorProfile(of: jpeg))
        let data = try maker(4).file(color: JPEG2000Maker.profile(Data(profile.bytes)))
        let pixels = Pixels(try registry.decode(data).pixels)
        // Each pixel as lcms2 converts it alone.
        let conversion = ColorConversion(from: .profile(profile), model: .cmyk)
        for index in stride(from: 0, to: 64 * 48, by: 11) {
            var expected = (0..<4).map { 255 - Self.level($0, index) }
            conversion.convertInk(&expected, pixelCount: 1)
            #expect(Array(pixels.bytes[index * 4..<index * 4 + 4]) == expected)
        }
    }

    /// The order of columns and rows of subsampled components depends on the image's position.
    @Test(arguments: [(0, 0), (4, 6), (1, 1), (7, 5)]) func readsImagesAwayFromTheOrigin(x: Int, y: Int) throws {
        var maker = maker(steps: [(1, 1), (2, 2), (2, 2)])
        maker.arguments = ["-d", "\(x),\(y)"]
        let data = try maker.file(color: JPEG2000Maker.space(18))
        try files.directory.write(data, to: "image.jp2")
        let other = try files.decodeElsewhere(.jpeg2000, "image.jp2")
        let pixels = Pixels(try registry.decode(data).pixels)
        // At odd positions opj_decompress takes 0 for the chroma of the first column and row.
        var differences = 0
        for index in 0..<pixels.size.pixelCount where index % 64 > 0 && index / 64 > 0 {
            if pixels.bytes[index * 4..<index * 4 + 4] != other.bytes[index * 4..<index * 4 + 4] { differences += 1 }
        }
        #expect(pixels.size == other.size && differences == 0)
    }

    static let codings = [
        ["-t", "32,32"], ["-t", "20,24", "-d", "5,3", "-T", "3,1"], ["-I"], ["-c", "[32,32],[16,16]", "-p", "RPCL"],
        ["-b", "4,4", "-p", "CPRL"], ["-SOP", "-EPH", "-PLT", "-TLM"], ["-M", "1"], ["-M", "4"], ["-M", "63"],
        ["-TP", "R", "-t", "40,40"], ["-r", "20,10,1"], ["-POC", "T1=0,0,1,2,3,CPRL/T1=2,0,1,3,3,CPRL"],
    ]

    @Test(arguments: codings) func readsAllCodings(arguments: [String]) throws {
        var maker = maker()
        maker.arguments = arguments
        #expect(try difference(maker.codestream()) == 0)
        #expect(try difference(maker.file(color: JPEG2000Maker.space(16))) == 0)
    }

    /// A thumbnail of exactly a resolution's size is that resolution.
    @Test(arguments: [["-d", "0,0"], ["-d", "7,5"], ["-t", "16,16"], ["-d", "3,2", "-t", "30,30"]], [1, 2])
    func thumbnailsAreResolutions(arguments: [String], reduction: Int) throws {
        for steps in [[(1, 1)], [(1, 1), (2, 2), (2, 2)]] {
            // opj_decompress takes the place of chroma at full size for that of the resolution.
            guard steps.count == 1 || arguments[0] != "-d" || arguments[1] == "0,0" else { continue }
            var maker = maker(steps: steps)
            maker.arguments = arguments
            let data = try maker.file(color: JPEG2000Maker.space(steps.count == 1 ? 16 : 18))
            try files.directory.write(data, to: "image.jp2")
            try files.run(
                "opj_decompress", "-r", "\(reduction)", "-i", files.path("image.jp2"), "-o", files.path("small.png"))
            let other = try files.pixels(ofPNG: "small.png")
            let thumbnail = Thumbnail(.pixels(width: other.size.width, height: other.size.height), mode: .stretch)
            let image = try registry.decode(data, options: DecodingOptions(thumbnail: thumbnail))
            #expect(image.isThumbnail && image.pixels.size == other.size)
            if steps.count == 1 {
                #expect(Pixels(image.pixels) == other)
            } else {
                #expect((Pixels(image.pixels).psnr(against: other) ?? 0) > 15)
            }
        }
    }
}
