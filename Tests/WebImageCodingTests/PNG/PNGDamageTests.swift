import CodingTestSupport
import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

/// How damaged PNGs are shown or refused.
@Suite(.timeLimit(.minutes(3))) struct PNGDamageTests {
    private let decoder = PNGDecoder()
    private let strict = DecodingOptions(allowsDamage: false)

    private func rows(_ pixels: PixelBuffer) -> [[UInt8]] {
        let bytes = Pixels(pixels).bytes
        return stride(from: 0, to: bytes.count, by: pixels.bytesPerRow).map {
            Array(bytes[$0..<$0 + pixels.bytesPerRow])
        }
    }

    /// The rows of a truncated file, and transparent ones below; only the end chunk may be missing.
    @Test(arguments: ["rgb-8.png", "rgba-8.png", "palette-8-alpha.png", "grey-16.png"])
    func showsTheRowsBeforeATruncation(_ name: String) throws {
        let data = try Fixture(name).data()
        let whole = rows(try decoder.decode(data, options: strict).pixels)
        var shownCounts: [Int] = []
        for length in 0..<data.count {
            guard let image = try? decoder.decode(data.prefix(length), options: DecodingOptions()) else {
                #expect(shownCounts.isEmpty)
                continue
            }
            let shown = rows(image.pixels)
            let count = zip(shown, whole).prefix { $0 == $1 }.count
            #expect(shown.dropFirst(count).allSatisfy { $0.allSatisfy { $0 == 0 } }, "\(length) bytes")
            #expect(image.isPartial == (count < whole.count))
            if count < whole.count { #expect(!image.pixels.isOpaque) }
            shownCounts.append(count)
        }
        #expect(shownCounts == shownCounts.sorted())
        #expect(Set(shownCounts).count > 5)
        #expect(shownCounts.last == whole.count)
    }

    /// There are rows only above the last one of the first pass; those are complete, if coarse.
    @Test func showsTheBlocksOfATruncatedInterlacedImage() throws {
        let data = try Fixture("rgba-16-adam7.png").data()
        var isSmallest = true
        for length in 0..<data.count - 12 {
            guard let image = try? decoder.decode(data.prefix(length), options: DecodingOptions()) else { continue }
            #expect(image.isPartial || length > data.count - 40)
            if isSmallest { #expect(rows(image.pixels).prefix { $0.contains { $0 != 0 } }.count == 8) }
            isSmallest = false
        }
        #expect(!isSmallest)
    }

    @Test(arguments: ["rgb-8.png", "rgba-8-adam7.png"])
    func showsTheRowsBeforeAWrongChecksum(_ name: String) throws {
        var data = try Fixture(name).data()
        data = data.withWrongChecksum(ofChunkAt: try #require(data.chunkOffsets(of: "IDAT").first))
        let image = try decoder.decode(data, options: DecodingOptions())
        #expect(image.isPartial)
        #expect(Pixels(image.pixels) == (try Fixture(name).reference()))
        let failure = WebImageError.decoding(format: .png, reason: .corrupt("wrong checksum of IDAT"))
        #expect(throws: failure) { try decoder.decode(data, options: strict) }
    }

    @Test(arguments: ["IHDR", "PLTE"])
    func refusesAWrongChecksumBeforeThePixels(_ name: String) throws {
        var data = try Fixture("palette-8.png").data()
        data = data.withWrongChecksum(ofChunkAt: try #require(data.chunkOffsets(of: name).first))
        for options in [strict, DecodingOptions()] {
            #expect(throws: WebImageError.self) { try decoder.decode(data, options: options) }
        }
    }

    /// Without its transparency the image is opaque.
    @Test func ignoresAnAncillaryChunkWithAWrongChecksum() throws {
        var data = try Fixture("palette-8-alpha.png").data()
        data = data.withWrongChecksum(ofChunkAt: try #require(data.chunkOffsets(of: "tRNS").first))
        let image = try decoder.decode(data, options: strict)
        #expect(image.pixels.isOpaque)
        #expect(!image.isPartial)
    }

    private static let size = PixelSize(width: 6, height: 5)
    private let header = PNGWriter.header(size, color: .gray)
    private let rowBytes = [UInt8](repeating: 0, count: 7)
    private var stream: Data { PNGWriter.compressed((0..<5).flatMap { _ in rowBytes }) }

    private func file(_ chunks: Data...) -> Data { PNGWriter.signature + chunks.reduce(Data(), +) }

    /// Order and content of critical chunks.
    @Test func refusesInvalidChunks() {
        let (data, end) = (PNGWriter.chunk("IDAT", stream), PNGWriter.chunk("IEND"))
        #expect(throws: Never.self) { try decoder.decode(file(header, data, end), options: strict) }
        let impossible: [String: Data] = [
            "no header": file(data, end),
            "two headers": file(header, header, data, end),
            "no data": file(header, end),
            "an unknown critical chunk": file(header, PNGWriter.chunk("NEWS", [1]), data, end),
            "a name of no letters": file(header, PNGWriter.chunk("a1b2", [1]), data, end),
            "a depth of 3 bits": file(PNGWriter.header(Self.size, depth: 3, color: .gray), data, end),
            "no palette": file(PNGWriter.header(Self.size, color: .palette), data, end),
            "half a color": file(
                PNGWriter.header(Self.size, color: .palette), PNGWriter.chunk("PLTE", [1, 2]), data, end),
            "two palettes": file(
                PNGWriter.header(Self.size, color: .palette), PNGWriter.chunk("PLTE", [1, 2, 3]),
                PNGWriter.chunk("PLTE", [1, 2, 3]), data, end),
            "data that are no zlib stream": file(header, PNGWriter.chunk("IDAT", [1, 2, 3]), end),
            "rows too few": file(
                header, PNGWriter.chunk("IDAT", PNGWriter.compressed(rowBytes + rowBytes)), end),
        ]
        for (what, data) in impossible {
            #expect(throws: WebImageError.self, "\(what)") { try decoder.decode(data, options: strict) }
        }
    }

    @Test func showsTheRowsOfAStreamThatEndsEarly() throws {
        let rows = PNGWriter.compressed(rowBytes + rowBytes)
        let data = file(header, PNGWriter.chunk("IDAT", rows), PNGWriter.chunk("IEND"))
        let image = try decoder.decode(data, options: DecodingOptions())
        #expect(image.isPartial)
        #expect(image.pixels[5, 1] == SIMD4(0, 0, 0, 255))
        #expect(image.pixels[0, 2] == SIMD4())
    }

    /// Data in any number of chunks, also empty; those after another chunk are ignored.
    @Test func joinsDataOfManyChunks() throws {
        let pieces = stream.map { PNGWriter.chunk("IDAT", [$0]) + PNGWriter.chunk("IDAT") }.reduce(Data(), +)
        let stray = PNGWriter.chunk("tEXt", [65, 0]) + PNGWriter.chunk("IDAT", [1, 2, 3])
        let image = try decoder.decode(file(header, pieces, stray, PNGWriter.chunk("IEND")), options: strict)
        #expect(image.pixels.isOpaque)
    }

    @Test func dataAfterAnotherChunkDoNotContinueTheImage() throws {
        let (first, rest) = (stream.prefix(stream.count / 2), stream.dropFirst(stream.count / 2))
        let chunks = [PNGWriter.chunk("IDAT", first), PNGWriter.chunk("IDAT", rest)]
        let (text, end) = (PNGWriter.chunk("tEXt", [65, 0]), PNGWriter.chunk("IEND"))
        #expect(throws: Never.self) { try decoder.decode(file(header, chunks[0], chunks[1], end), options: strict) }
        #expect(throws: WebImageError.self) {
            try decoder.decode(file(header, chunks[0], text, chunks[1], end), options: strict)
        }
    }

    /// Compressed text and profiles are not decompressed, and a chunk that claims two gigabytes does not block.
    @Test(.timeLimit(.minutes(1))) func skipsBombs() throws {
        let bomb = PNGWriter.compressed([UInt8](repeating: 0, count: 8 << 20))
        let chunks =
            PNGWriter.chunk("zTXt", Data([65, 0, 0]) + bomb) + PNGWriter.chunk("iCCP", Data([65, 0, 0]) + bomb)
        let data = file(header, chunks, PNGWriter.chunk("IDAT", stream), PNGWriter.chunk("IEND"))
        #expect(try decoder.decode(data, options: strict).pixels.size == Self.size)
        let claims = file(header, PNGWriter.number(0x7FFF_FFFF) + Data("PLTE".utf8) + [1, 2, 3])
        #expect(throws: WebImageError.decoding(format: .png, reason: .truncated)) {
            try decoder.decode(claims, options: DecodingOptions())
        }
        let incremental = try #require(decoder.makeIncrementalDecoder(options: DecodingOptions()))
        try incremental.append(claims)
        #expect(try incremental.preview() == nil)
        #expect(throws: WebImageError.self) { try incremental.finish() }
    }

    /// Incremental decoding gives the same for damaged files.
    @Test(arguments: ["rgb-8.png", "rgba-8-adam7.png", "palette-4-alpha.png", "animated.png"])
    func decodesFlippedBitsTheSameInPieces(_ name: String) throws {
        let data = try Fixture(name).data()
        var options = DecodingOptions()
        options.limits.pixelCount = 1_000_000
        for position in data.indices.dropFirst(8) {
            var damaged = data
            damaged[position] ^= 1 << (position % 8)
            let whole = try? decoder.decode(damaged, options: options)
            let pieces = try? decodedInPieces(damaged, options)
            #expect(whole.map { Pixels($0.pixels) } == pieces.map { Pixels($0.pixels) }, "bit in byte \(position)")
            #expect(whole?.isPartial == pieces?.isPartial)
            #expect(whole?.animation?.frames == pieces?.animation?.frames)
        }
    }

    private func decodedInPieces(_ data: Data, _ options: DecodingOptions) throws -> Image {
        try #require(decoder.makeIncrementalDecoder(options: options)).decode(data, inPiecesOf: 100)
    }
}
