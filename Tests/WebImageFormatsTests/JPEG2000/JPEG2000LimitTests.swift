import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding
@testable import WebImageFormats

/// Files whose headers claim more than there is. What they take of OpenJPEG, `BombTests` shows.
@Suite(.timeLimit(.minutes(3))) struct JPEG2000LimitTests {
    private let registry = FormatFiles.registry

    @Test func refusesAComponentLargerThanTheImage() throws {
        let components = [(8, 255, 255), (8, 255, 255), (8, 255, 255), (8, 1, 1), (8, 1, 1)]
        let data = CodestreamMaker(width: 60_000, height: 60_000, components: components).data
        #expect(try registry.info(of: data).size == PixelSize(width: 236, height: 236))
        let error = #expect(throws: WebImageError.self) { try registry.decode(data) }
        guard case .limitExceeded(.memory(let byteCount, let limit), _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        // Two components of 4 bytes a sample.
        #expect(byteCount > 60_000 * 60_000 * 8 && limit == 1 << 30)
    }

    /// 1,000 × 1,000 × 255 columns of 4 bytes.
    @Test func aWidePaletteTakesNoMemory() throws {
        let files = try FormatFiles()
        let maker = JPEG2000Maker(files: files, size: PixelSize(width: 200, height: 150), channelCount: 1)
        let palette = JPEG2000Maker.palette(entryCount: 2, depths: Array(repeating: 8, count: 255))
        let data = try maker.file(color: JPEG2000Maker.space(16), palette)
        var options = DecodingOptions()
        options.limits.memoryByteCount = 3 << 20
        #expect(try registry.decode(data, options: options).pixels.size == maker.size)
    }

    /// A tile part of 4 GB that OpenJPEG would allocate.
    @Test func aTilePartIsNotLongerThanTheFile() throws {
        var maker = CodestreamMaker()
        maker.tileCount = 0
        let data = maker.data.dropLast(2) + CodestreamMaker.tilePart(0, length: 0xF000_0000)
        #expect(throws: WebImageError.self) {
            try registry.decode(Data(data), options: DecodingOptions(allowsDamage: false))
        }
        #expect(try registry.decode(Data(data)).isPartial)
    }

    @Test func thePartsOfAFileAreFound() throws {
        let whole = CodestreamMaker(width: 64, height: 64, tile: (32, 32), tileCount: 4).data
        #expect(try Codestream(whole.bytes, at: 0, isPrefix: false).isComplete)
        let missing = CodestreamMaker(width: 64, height: 64, tile: (32, 32), tileCount: 3).data
        #expect(try Codestream(missing.bytes, at: 0, isPrefix: false).parts.counts.count { $0.found > 0 } == 3)
        // A program may leave tiles out, as OpenJPEG allows, but not the end as well.
        #expect(try registry.decode(missing, options: DecodingOptions(allowsDamage: false)).pixels.size.width == 64)
        let cut = Data(missing.dropLast(2))
        #expect(try !Codestream(cut.bytes, at: 0, isPrefix: false).isComplete)
        #expect(throws: WebImageError.self) {
            try registry.decode(cut, options: DecodingOptions(allowsDamage: false))
        }
        #expect(try registry.decode(cut).isPartial)
        // Parts of a tile that come again, or that are not announced, are not passed on.
        let again = whole.dropLast(2) + CodestreamMaker.tilePart(0) + Data([0xFF, 0xD9])
        #expect(try Codestream(Data(again).bytes, at: 0, isPrefix: false).parts.end == whole.count - 2)
    }

    @Test(arguments: [(0, 64, "an empty image"), (64, 0, "an empty image"), (300, 300, "300 × 300 tiles")])
    func refusesImpossibleSizes(width: Int, height: Int, problem: String) {
        let data = CodestreamMaker(width: width, height: height, tile: (1, 1)).data
        #expect(throws: WebImageError.decoding(format: .jpeg2000, reason: .corrupt(problem))) {
            try Codestream(data.bytes, at: 0, isPrefix: false)
        }
    }

    /// Every prefix tells nothing or the right size.
    @Test func probesAnyBeginning() throws {
        let files = try FormatFiles()
        let palette = JPEG2000Maker.palette(entryCount: 16, depths: [8, 8, 8, 8])
        let data = try JPEG2000Maker(files: files, channelCount: 1, depth: 4)
            .file(color: JPEG2000Maker.space(16), palette)
        var isKnown = false
        for count in 0...data.count {
            let probe = try registry.probe(data.prefix(count))
            #expect(probe == nil || probe?.size == PixelSize(width: 64, height: 48) && probe?.hasAlpha == true)
            #expect(!isKnown || probe != nil)
            isKnown = probe != nil
        }
        #expect(isKnown)
    }

    @Test(arguments: [0.3, 0.6, 0.9]) func showsWhatIsThereOfACutFile(share: Double) throws {
        let files = try FormatFiles()
        var maker = JPEG2000Maker(files: files, size: PixelSize(width: 300, height: 200))
        maker.arguments = ["-r", "30,10,4,1"]
        let whole = try maker.file(color: JPEG2000Maker.space(16))
        let cut = whole.prefix(Int(Double(whole.count) * share))
        #expect(throws: WebImageError.self) { try registry.decode(cut, options: DecodingOptions(allowsDamage: false)) }
        let image = try registry.decode(cut)
        #expect(image.isPartial)
        let expected = Pixels(try registry.decode(whole).pixels)
        #expect((Pixels(image.pixels).psnr(against: expected) ?? 0) > 15)
        // Damaged files are decoded at full size, and resampled.
        let small = DecodingOptions(thumbnail: Thumbnail(.pixels(width: 75, height: 50)))
        let thumbnail = try registry.decode(cut, options: small)
        #expect(thumbnail.isPartial && thumbnail.pixels.size == PixelSize(width: 75, height: 50))
    }
}
