import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding
@testable import WebImageFormats

@Suite(.timeLimit(.minutes(3))) struct ProbingTests {
    private let files: FormatFiles
    private let registry = FormatFiles.registry

    init() throws { files = try FormatFiles() }

    @Test(arguments: FormatFiles.made.filter { $0 != .svg }) func aPrefixTellsTheSame(format: LibraryFormat) throws {
        try files.make(
            format, "image", from: files.png("source.png", size: PixelSize(width: 50, height: 40), hasAlpha: true))
        let data = try files.data("image")
        let info = try registry.info(of: data)
        var first: Int?
        for length in 0...data.count {
            guard let probe = try registry.probe(data.prefix(length)) else {
                #expect(first == nil, "forgets at \(length) bytes")
                continue
            }
            first = first ?? length
            #expect(probe.size == info.size && probe.hasAlpha == info.hasAlpha && probe.format == format.format)
        }
        // TIFF may have its directory at the end.
        if format != .tiff { #expect((first ?? data.count) < 1_200) }
    }

    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif")) func boxesTellWhatTheLibraryDoes() throws {
        let png = try files.png("source.png", size: PixelSize(width: 50, height: 40), hasAlpha: true)
        for (depth, transfer) in [(8, 13), (10, 16), (12, 18)] {
            try files.run("avifenc", "-s", "9", "-d", "\(depth)", "--cicp", "9/\(transfer)/9", png, files.path("image"))
            let data = try files.data("image")
            let found = MediaFile(data.bytes)
            let media = try #require(found)
            #expect(media.bitDepth == depth && media.hasAlpha && !media.isSequence && media.frameCount == 1)
            #expect(media.codePoints == ColorCodePoints(primaries: 9, transfer: UInt8(transfer)))
        }
    }

    /// Found by fuzzing: a second description replaced the first.
    @Test func moreBytesDoNotChangeTheAnswer() throws {
        let file = Fixture.directory.deletingLastPathComponent().appending(path: "boxes/two-descriptions.avif")
        let data = try Data(contentsOf: file)
        var sizes: Set<PixelSize> = []
        for length in 0...data.count {
            if let media = MediaFile(data.prefix(length).bytes) { sizes.insert(media.size) }
        }
        #expect(sizes.count <= 1)
    }

    @Test(.enabled(if: LibraryFormat.avif.isBuilt, "needs libavif")) func damagedBoxesAreSafe() throws {
        try files.make(.avif, "image", from: files.png("source.png", size: PixelSize(width: 50, height: 40)))
        let whole = try files.data("image").prefix(600)
        var random = SplitMix64(seed: 7)
        for _ in 0..<5_000 {
            var data = whole
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                data[Int.random(in: 0..<data.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = MediaFile(data.prefix(Int.random(in: 0...data.count, using: &random)).bytes)
        }
    }
}

@Suite(.timeLimit(.minutes(3)), .enabled(if: LibraryFormat.jpegXL.isBuilt)) struct JPEGXLPreviewTests {
    private let files: FormatFiles
    private let registry = FormatFiles.registry

    init() throws { files = try FormatFiles() }

    @Test func aPreviewIsShownBeforeTheEnd() throws {
        let source = try FormatFiles.painting(PixelSize(width: 800, height: 600))
        try files.run("cjxl", files.png("source.png", source), files.path("image"), "-d", "0.3")
        let data = try files.data("image")
        let decoder = try #require(try registry.makeIncrementalDecoder(startingWith: data.prefix(100)))
        var previews: [(length: Int, psnr: Double)] = []
        var length = 100
        while length < data.count {
            let next = min(length + 1_000, data.count)
            try decoder.append(data[length..<next])
            length = next
            guard length < data.count, let preview = try decoder.preview() else { continue }
            #expect(preview.isPartial)
            previews.append((length, Pixels(preview.pixels).psnr(against: Pixels(source)) ?? 0))
        }
        #expect(previews.count == 1)
        #expect(previews.allSatisfy { $0.psnr > 20 })
        #expect(Pixels(try decoder.finish().pixels) == Pixels(try registry.decode(data).pixels))
    }
}
