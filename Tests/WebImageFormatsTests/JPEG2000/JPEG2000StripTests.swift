import CodingTestSupport
import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding
@testable import WebImageFormats

/// Large images are decoded in strips.
@Suite(.timeLimit(.minutes(3))) struct JPEG2000StripTests {
    private let registry = FormatFiles.registry

    struct Kind: CustomTestStringConvertible, Sendable {
        var name: String
        var channelCount = 3
        var depth = 8
        var steps: [(Int, Int)] = []
        var arguments: [String] = []
        var space = 16
        var testDescription: String { name }
    }

    static let kinds = [
        Kind(name: "reversible"),
        Kind(name: "irreversible", arguments: ["-I", "-r", "10"]),
        Kind(name: "tiles", arguments: ["-I", "-r", "10", "-t", "100,90"]),
        Kind(name: "an image beside the origin", arguments: ["-d", "37,53"]),
        Kind(name: "tiles beside the origin", arguments: ["-d", "37,53", "-T", "20,50", "-t", "100,90"]),
        Kind(name: "chroma of half the rows", steps: [(1, 1), (2, 2), (2, 2)], space: 18),
        Kind(
            name: "chroma beside the origin", steps: [(1, 1), (2, 2), (2, 2)], arguments: ["-d", "36,54"], space: 18),
        Kind(name: "deep gray", channelCount: 1, depth: 16, space: 17),
        Kind(name: "tall code blocks", arguments: ["-b", "4,1024"]),
        Kind(name: "small precincts", arguments: ["-c", "[64,64],[32,32]"]),
    ]

    private func pixels(
        _ data: Data, reduction: Int, stripHeight: Int?, allowsDamage: Bool = false
    ) throws -> (pixels: Pixels, isPartial: Bool) {
        try data.withUnsafeBytes { bytes in
            let file = try LibraryFile(.jpeg2000, bytes: bytes, limits: .default)
            let result = try file.pixels(
                reduction: reduction, stripHeight: stripHeight, allowsDamage: allowsDamage, cancellation: nil)
            return (Pixels(result.pixels), result.isPartial)
        }
    }

    @Test(arguments: kinds) func stripsHaveTheSamePixels(kind: Kind) throws {
        let maker = JPEG2000Maker(
            files: try FormatFiles(), size: PixelSize(width: 150, height: 700), channelCount: kind.channelCount,
            depth: kind.depth, steps: kind.steps, arguments: kind.arguments)
        let data = try maker.file(color: JPEG2000Maker.space(kind.space))
        for (reduction, height) in [(0, 128), (0, 256), (1, 128), (2, 128)] {
            let whole = try pixels(data, reduction: reduction, stripHeight: nil).pixels
            #expect(try pixels(data, reduction: reduction, stripHeight: height).pixels == whole)
        }
    }

    /// OpenJPEG's planes take 4 bytes for each sample, and pixels 4 here.
    @Test func aLargeImageIsDecodedInStrips() throws {
        let side = 8000
        let data = CodestreamMaker(width: side, height: side).data
        try data.withUnsafeBytes { bytes in
            let file = try LibraryFile(.jpeg2000, bytes: bytes, limits: .default)
            let pixelByteCount = file.size.pixelByteCount
            #expect(file.workingByteCount() == side * side * 4 * 3)
            let height = try #require(file.stripHeight(reduction: 0, besides: pixelByteCount))
            #expect(height >= 128)
            #expect(pixelByteCount + file.workingByteCount(stripHeight: height) <= 768 << 20)
            // Small enough as a whole.
            #expect(file.stripHeight(reduction: 1, besides: pixelByteCount / 4) == nil)
        }
    }

    /// A component with a row in every third of another's would have to be cut between its rows.
    @Test func anImageThatCannotBeCutIsDecodedAsAWhole() throws {
        let data = CodestreamMaker(width: 9990, height: 9990, components: [(8, 1, 1), (8, 3, 3)]).data
        try data.withUnsafeBytes { bytes in
            let file = try LibraryFile(.jpeg2000, bytes: bytes, limits: .default)
            #expect(file.stripHeight(reduction: 0, besides: file.size.pixelByteCount) == nil)
        }
    }

    /// Memory for strips, and not for the whole.
    @Test func anImageIsDecodedInTheMemoryThatThereIs() throws {
        var maker = JPEG2000Maker(files: try FormatFiles(), size: PixelSize(width: 400, height: 2000))
        maker.arguments = ["-r", "20"]
        let data = try maker.file(color: JPEG2000Maker.space(16))
        var options = DecodingOptions()
        options.limits.memoryByteCount = try data.withUnsafeBytes { bytes in
            let file = try LibraryFile(.jpeg2000, bytes: bytes, limits: .default)
            let least = file.size.pixelByteCount + file.workingByteCount(stripHeight: 128)
            #expect(least < file.size.pixelByteCount + file.workingByteCount())
            return least
        }
        #expect(Pixels(try registry.decode(data, options: options).pixels) == Pixels(try registry.decode(data).pixels))
    }

    @Test func damageInAStripIsAnError() throws {
        let maker = JPEG2000Maker(files: try FormatFiles(), size: PixelSize(width: 200, height: 600))
        let data = try maker.file(color: JPEG2000Maker.space(16))
        let cut = data.prefix(data.count / 2)
        #expect(try pixels(Data(cut), reduction: 0, stripHeight: nil, allowsDamage: true).isPartial)
        #expect(throws: WebImageError.self) {
            try pixels(Data(cut), reduction: 0, stripHeight: 128, allowsDamage: true)
        }
    }
}
