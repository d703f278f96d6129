import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding
@testable import WebImageFormats

/// Files of a few bytes whose headers claim gigabytes.
@Suite(.timeLimit(.minutes(3))) struct JPEG2000LimitTests {
    private let registry = FormatFiles.registry

    struct Claim: CustomTestStringConvertible, Sendable {
        var name: String
        var maker: @Sendable () -> CodestreamMaker
        var testDescription: String { name }
    }

    static let claims = [
        Claim(name: "components") {
            let components = Array(repeating: (8, 1, 1), count: 100)
            return CodestreamMaker(width: 3000, height: 3000, components: components)
        },
        Claim(name: "components and resolutions") {
            let components = Array(repeating: (8, 1, 1), count: 16_384)
            return CodestreamMaker(width: 8, height: 8, components: components, levels: 32, layers: 100)
        },
        Claim(name: "tiles") {
            CodestreamMaker(width: 255, height: 255, tile: (1, 1), levels: 0, tileCount: 65_025)
        },
        Claim(name: "precincts") { CodestreamMaker(width: 4000, height: 4000, precinct: 0x11) },
        Claim(name: "precincts of one tile") {
            var maker = CodestreamMaker(width: 4000, height: 4000, precinct: 0x11)
            maker.tileMarkers = maker.style
            maker.precinct = nil
            return maker
        },
        Claim(name: "code blocks") { CodestreamMaker(width: 8000, height: 4000, block: 0) },
        Claim(name: "matrices of component transforms") {
            let components = Array(repeating: (8, 1, 1), count: 2000)
            var maker = CodestreamMaker(width: 100, height: 100, tile: (10, 10), components: components, levels: 0)
            maker.mainMarkers = CodestreamMaker.marker(0x77, Data([0]))
            return maker
        },
    ]

    @Test(arguments: claims) func refusesWhatTakesMoreMemoryThanAllowed(claim: Claim) throws {
        let data = claim.maker().data
        for limits in [DecodingLimits.default, .server] {
            let error = #expect(throws: WebImageError.self) {
                try registry.decode(data, options: DecodingOptions(limits: limits))
            }
            guard case .limitExceeded(.memory(let byteCount, let limit), _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(byteCount > limit && limit <= limits.memoryByteCount)
        }
        // The header alone is read.
        #expect(try registry.info(of: data).size.width > 0)
    }

    @Test func refusesMorePacketsThanBytes() throws {
        let data = CodestreamMaker(width: 4000, height: 4000, layers: 65_535, precinct: 0x88).data
        #expect(throws: WebImageError.self) { try registry.decode(data) }
    }

    @Test func refusesAComponentLargerThanTheImage() throws {
        let components = [(8, 255, 255), (8, 255, 255), (8, 255, 255), (8, 1, 1), (8, 1, 1)]
        let data = CodestreamMaker(width: 60_000, height: 60_000, components: components).data
        #expect(try registry.info(of: data).size == PixelSize(width: 236, height: 236))
        let error = #expect(throws: WebImageError.self) { try registry.decode(data) }
        guard case .limitExceeded(.pixels(let size, _), _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(size == PixelSize(width: 60_000, height: 60_000))
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
        #expect(try Codestream(missing.bytes, at: 0, isPrefix: false).parts.tileCount == 3)
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

    /// An icon can hold a JPEG 2000: the same limits hold for it.
    @Test func anIconIsBoundedLikeItsImages() throws {
        for claim in Self.claims.prefix(4) {
            let image = claim.maker().data
            let entry = Data("ic07".utf8) + Data(bigEndian: image.count + 8) + image
            let icon = Data("icns".utf8) + Data(bigEndian: entry.count + 8) + entry
            let error = #expect(throws: WebImageError.self) { try registry.decode(icon) }
            guard case .limitExceeded(.memory, _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(try registry.info(of: icon).size.width > 0)
        }
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

extension Data {
    fileprivate init(bigEndian number: Int) {
        self.init((0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) })
    }
}
