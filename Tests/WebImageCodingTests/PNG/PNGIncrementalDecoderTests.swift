import CodingTestSupport
import CWebImageDeflate
import Foundation
import Testing
@testable import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// PNG files that arrive in pieces.
@Suite(.timeLimit(.minutes(3))) struct PNGIncrementalDecoderTests {
    private static let fixtures = [
        "rgb-8.png", "rgba-8.png", "rgba-8-adam7.png", "palette-4-alpha.png", "palette-2-adam7.png",
        "rgba-16-adam7.png",
        "grey-1.png", "orientation-6.png", "animated.png",
    ].map(Fixture.init)

    private func decoder(_ options: DecodingOptions = DecodingOptions()) throws -> any IncrementalImageDecoder {
        try #require(PNGDecoder().makeIncrementalDecoder(options: options))
    }

    /// A preview after the first part, then the rest: the same as at once.
    @Test(arguments: fixtures)
    func decodesLikeTheWholeFileWhereverItIsSplit(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let whole = try PNGDecoder().decode(data, options: DecodingOptions())
        let isInterlaced = data[28] == 1
        var previewCount = 0
        for length in 0...data.count {
            let decoder = try decoder()
            try decoder.append(data.prefix(length))
            if let preview = try decoder.preview() {
                previewCount += 1
                #expect(preview.isPartial)
                #expect(preview.pixels.size == whole.pixels.size)
                if !isInterlaced, whole.pixels.width == 19 { expectRows(of: preview.pixels, asIn: whole.pixels) }
                #expect(try decoder.preview() == nil, "nothing new")
            }
            try decoder.append(data.suffix(from: data.startIndex + length))
            if length.isMultiple(of: 3) { _ = try decoder.preview() }
            let image = try decoder.finish()
            #expect(Pixels(image.pixels) == Pixels(whole.pixels), "cut after \(length) of \(data.count) bytes")
            #expect(image.pixels.isOpaque == whole.pixels.isOpaque)
            #expect(!image.isPartial)
            #expect(image.frameCount == whole.frameCount)
        }
        #expect(previewCount > 10)
    }

    /// The rows are those of the whole image, and transparent below.
    private func expectRows(of preview: PixelBuffer, asIn whole: PixelBuffer) {
        let (shown, final) = (Pixels(preview).bytes, Pixels(whole).bytes)
        let rows = stride(from: 0, to: shown.count, by: preview.bytesPerRow).map { $0..<$0 + preview.bytesPerRow }
        let goodCount = rows.prefix { shown[$0] == final[$0] }.count
        #expect(goodCount > 0)
        #expect(rows.dropFirst(goodCount).allSatisfy { shown[$0].allSatisfy { $0 == 0 } })
        if goodCount < rows.count { #expect(!preview.isOpaque) }
    }

    @Test(arguments: fixtures)
    func acceptsSingleBytes(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let decoder = try decoder()
        for byte in data {
            try decoder.append(Data([byte]))
            _ = try decoder.preview()
        }
        let image = try decoder.finish()
        #expect(Pixels(image.pixels) == Pixels(try PNGDecoder().decode(data, options: DecodingOptions()).pixels))
    }

    /// After the first pass, one of 64 pixels fills them all.
    @Test func showsAnInterlacedImageInBlocks() throws {
        let data = try Fixture("rgba-8-adam7.png").data()
        let whole = try PNGDecoder().decode(data, options: DecodingOptions()).pixels
        let decoder = try decoder()
        var previews: [PixelBuffer] = []
        for byte in data {
            try decoder.append(Data([byte]))
            if let preview = try decoder.preview() { previews.append(preview.pixels) }
        }
        let complete = try #require(previews.first { $0[18, 12] != SIMD4() })
        for y in 0..<whole.height {
            for x in 0..<whole.width { #expect(complete[x, y] == whole[x / 8 * 8, y / 8 * 8]) }
        }
        #expect(previews.count > 20)
        #expect(previews.last.map(Pixels.init) == Pixels(whole))
    }

    @Test(arguments: ["rgba-8.png", "rgba-8-adam7.png", "orientation-6.png"])
    func createsPreviewsAtTheSizeOfTheThumbnail(_ name: String) throws {
        let data = try Fixture(name).data()
        let options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: 5, height: 5)))
        let decoder = try decoder(options)
        try decoder.append(data.prefix(data.count * 9 / 10))
        let preview = try #require(try decoder.preview())
        try decoder.append(data.suffix(from: data.count * 9 / 10))
        let image = try decoder.finish()
        #expect(preview.pixels.size == image.pixels.size)
        #expect(image.isThumbnail && preview.isThumbnail)
        #expect(Pixels(image.pixels) == Pixels(try PNGDecoder().decode(data, options: options).pixels))
    }

    @Test func probesTheChunksBeforeThePixels() throws {
        let data = try Fixture("animated.png").data()
        let decoder = try decoder()
        let pixels = try #require(data.firstRange(of: Data("IDAT".utf8))).upperBound
        try decoder.append(data.prefix(pixels - 1))
        #expect(decoder.probe == nil)
        try decoder.append(data[pixels - 1..<pixels])
        #expect(decoder.probe?.size == PixelSize(width: 19, height: 13))
        #expect(decoder.probe?.isAnimated == true)
        var still = try PNGDecoder().probe(Fixture("rgba-8.png").data().prefix(41))
        #expect(
            still == ImageProbe(format: .png, size: PixelSize(width: 19, height: 13), isAnimated: false, hasAlpha: true)
        )
        still = try PNGDecoder().probe(Fixture("orientation-6.png").data())
        #expect(
            still
                == ImageProbe(
                    format: .png, size: PixelSize(width: 13, height: 19), orientation: .right, isAnimated: false))
    }

    /// The default image is not a frame; missing frames are not damage while the file is arriving.
    @Test func showsTheFirstFrameAlsoIfDamageIsRefused() throws {
        var writer = APNGWriter(claimedCount: 2)
        writer.addStill(gray: 99)
        for gray in [10, 20] as [UInt8] {
            writer.addHeader()
            writer.addData(gray: gray)
        }
        let options = DecodingOptions(allowsDamage: false)
        let decoder = try decoder(options)
        let end = try #require(writer.data.chunkOffsets(of: "IEND").first)
        try decoder.append(writer.data.prefix(end))
        let preview = try #require(try decoder.preview())
        #expect(preview.isPartial)
        #expect(preview.pixels[0, 0] == SIMD4(10, 10, 10, 255))
        #expect(try decoder.preview() == nil)
        try decoder.append(writer.data.suffix(from: end))
        #expect(try decoder.finish().isPartial == false)
    }

    /// Streams that one of the libraries accepts and the other one does not.
    @Test(arguments: [narrowWindowStream(), manyDistancesStream()], [true, false])
    func decodesUnusualStreamsTheSameAfterAnyPreview(stream: Data, allowsDamage: Bool) throws {
        let data =
            PNGWriter.signature + PNGWriter.header(Self.oddSize, color: .gray) + PNGWriter.chunk("IDAT", stream)
            + PNGWriter.chunk("IEND")
        let options = DecodingOptions(allowsDamage: allowsDamage)
        let whole = try PNGDecoder().decode(data, options: options)
        #expect(!whole.isPartial)
        for cut in stride(from: 40, through: data.count, by: 50) {
            let decoder = try decoder(options)
            try decoder.append(data.prefix(cut))
            _ = try decoder.preview()
            try decoder.append(data.suffix(from: cut))
            _ = try decoder.preview()
            let image = try decoder.finish()
            #expect(Pixels(image.pixels) == Pixels(whole.pixels), "cut after \(cut) bytes")
            #expect(!image.isPartial)
        }
    }

    private static let oddSize = PixelSize(width: 300, height: 12)

    /// The last rows repeat the first, from farther away than the header allows.
    private static func narrowWindowStream() -> Data {
        var generator = SplitMix64(seed: 5)
        let row = { [0] + (0..<oddSize.width).map { _ in UInt8.random(in: 0...255, using: &generator) } }
        let rows = (0..<10).map { _ in row() }
        var stream = PNGWriter.compressed((rows + rows.prefix(2)).flatMap { $0 })
        // Deflate in a window of 256 bytes; both bytes together are a multiple of 31.
        stream.replaceSubrange(0..<2, with: [0x08, 0x1D])
        return stream
    }

    /// All rows but the last stored, then one whose codes have 32 distances (RFC 1951, 3.2.7), two too many.
    private static func manyDistancesStream() -> Data {
        let rowByteCount = oddSize.width + 1
        var generator = SplitMix64(seed: 6)
        var rows = (0..<oddSize.height - 1).flatMap { _ in
            [0] + (0..<oddSize.width).map { _ in UInt8.random(in: 0...255, using: &generator) }
        }
        let length = UInt16(rows.count)
        var stream = Data([0x78, 0x01, 0])
        for number in [length, ~length] { stream += [UInt8(number & 0xFF), UInt8(number >> 8)] }
        stream += rows
        var bits = BitWriter()
        // The last block, with its own codes: 257 literals, 32 distances, 18 lengths of code lengths.
        for (value, count) in [(1, 1), (2, 2), (0, 5), (31, 5), (14, 4)] { bits.write(value, count: count) }
        // Bit 0 is a length of 1, bit 1 a run of zeros: the third and last in the order 16, 17, 18, 0, 8, …, 1.
        for place in 0..<18 { bits.write(place == 2 || place == 17 ? 1 : 0, count: 3) }
        func writeRun(_ count: Int) {
            bits.write(1, count: 1)
            bits.write(count - 11, count: 7)
        }
        bits.write(0, count: 1)
        writeRun(138)
        writeRun(117)
        bits.write(0, count: 1)
        writeRun(32)
        // A row of zeros, and the end.
        for _ in 0..<rowByteCount { bits.write(0, count: 1) }
        bits.write(1, count: 1)
        stream += bits.bytes
        rows += [UInt8](repeating: 0, count: rowByteCount)
        return stream + PNGWriter.number(Int(libdeflate_adler32(1, rows, rows.count)))
    }

    /// The memory for previews grows with the data, and is not known at the start.
    @Test func anImageThatFitsWithoutPreviewsIsNotRefused() throws {
        let size = PixelSize(width: 300, height: 300)
        var generator = SplitMix64(seed: 7)
        let filtered = (0..<size.height).flatMap { _ in
            [0] + (0..<size.width).map { _ in UInt8.random(in: 0...255, using: &generator) }
        }
        let data = PNGWriter.file(
            header: PNGWriter.header(size, color: .gray), filtered: filtered, pieceByteCount: 1 << 13)
        var options = DecodingOptions()
        options.budget = DecodingBudget(byteCount: 1 << 30)
        let expected = try Pixels(PNGDecoder().decode(data, options: options).pixels)
        let reading = try PNGReading(of: data, options: options)
        let still = try #require(reading.file.still)
        options.limits.memoryByteCount = reading.byteCountWithPreviews(of: still) - 1
        let decoder = try decoder(options)
        try decoder.append(data.prefix(20_000))
        #expect(try decoder.preview() != nil)
        try decoder.append(data.suffix(from: 20_000))
        #expect(try Pixels(decoder.finish().pixels) == expected)
        #expect(options.budget.heldByteCount == 0)
    }

    @Test func refusesAHugeImageBeforeItsPixels() throws {
        let size = PixelSize(width: 60_000, height: 60_000)
        let decoder = try decoder()
        #expect(throws: WebImageError.limitExceeded(reason: .pixels(size: size, limit: 100_000_000))) {
            try decoder.append(PNGWriter.signature + PNGWriter.header(size, color: .rgba))
        }
    }

    @Test func refusesOtherFormats() throws {
        let decoder = try decoder()
        #expect(throws: WebImageError.self) { try decoder.append(Data(repeating: 7, count: 100)) }
    }

    @Test(arguments: ["rgba-8.png", "rgba-8-adam7.png"])
    func stopsWhenCancelled(_ name: String) throws {
        let data = try Fixture(name).data()
        try Checkpoints.expectCancellationAtEach(atLeast: 1, ofDecoding: data, cutAt: 600) { cancellation in
            try decoder(DecodingOptions(cancellation: cancellation))
        }
    }
}
