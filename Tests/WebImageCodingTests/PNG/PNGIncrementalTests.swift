import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

/// PNG files that arrive in pieces.
@Suite struct PNGIncrementalTests {
    private static let fixtures = [
        "rgb-8.png", "rgba-8.png", "rgba-8-adam7.png", "palette-4-alpha.png", "palette-2-adam7.png",
        "rgba-16-adam7.png",
        "grey-1.png", "orientation-6.png", "animated.png",
    ].map(Fixture.init)

    private func decoder(_ options: DecodingOptions = DecodingOptions()) throws -> any IncrementalImageDecoder {
        try #require(PNGDecoder().makeIncrementalDecoder(options: options))
    }

    /// A preview after the first part, then the rest: the same as all at once.
    @Test(arguments: fixtures)
    func endsAsOneShotWhereverItWasCut(_ fixture: Fixture) throws {
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

    /// Rows from the top are those of the whole picture, and all below are clear.
    private func expectRows(of preview: PixelBuffer, asIn whole: PixelBuffer) {
        let (shown, final) = (Pixels(preview).bytes, Pixels(whole).bytes)
        let rows = stride(from: 0, to: shown.count, by: preview.bytesPerRow).map { $0..<$0 + preview.bytesPerRow }
        let goodCount = rows.prefix { shown[$0] == final[$0] }.count
        #expect(goodCount > 0)
        #expect(rows.dropFirst(goodCount).allSatisfy { shown[$0].allSatisfy { $0 == 0 } })
        if goodCount < rows.count { #expect(!preview.isOpaque) }
    }

    @Test(arguments: fixtures)
    func takesSingleBytes(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let decoder = try decoder()
        for byte in data {
            try decoder.append(Data([byte]))
            _ = try decoder.preview()
        }
        let image = try decoder.finish()
        #expect(Pixels(image.pixels) == Pixels(try PNGDecoder().decode(data, options: DecodingOptions()).pixels))
    }

    /// One pixel of 64 is there after the first pass, and stands for all of them.
    @Test func showsAnInterlacedPictureInBlocks() throws {
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
    func givesPreviewsOfTheThumbnailsSize(_ name: String) throws {
        let data = try Fixture(name).data()
        let options = DecodingOptions(thumbnail: Thumbnail(width: 5, height: 5))
        let decoder = try decoder(options)
        try decoder.append(data.prefix(data.count * 9 / 10))
        let preview = try #require(try decoder.preview())
        try decoder.append(data.suffix(from: data.count * 9 / 10))
        let image = try decoder.finish()
        #expect(preview.pixels.size == image.pixels.size)
        #expect(image.isThumbnail && preview.isThumbnail)
        #expect(Pixels(image.pixels) == Pixels(try PNGDecoder().decode(data, options: options).pixels))
    }

    @Test func tellsWhatStandsBeforeThePixels() throws {
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

    @Test func refusesAGiantBeforeItHasPixels() throws {
        let size = PixelSize(width: 60_000, height: 60_000)
        let decoder = try decoder()
        #expect(throws: WebImageError.imageTooLarge(size: size, pixelLimit: 100_000_000)) {
            try decoder.append(PNGWriter.signature + PNGWriter.header(size, color: .rgba))
        }
    }

    @Test func refusesWhatIsNoPNG() throws {
        let decoder = try decoder()
        #expect(throws: WebImageError.self) { try decoder.append(Data(repeating: 7, count: 100)) }
    }

    @Test(arguments: ["rgba-8.png", "rgba-8-adam7.png"])
    func stopsWhenCancelled(_ name: String) throws {
        let data = try Fixture(name).data()
        let all = Checkpoints()
        func run(_ checkpoints: Checkpoints) throws {
            let decoder = try decoder(DecodingOptions(cancellation: checkpoints.cancellation))
            try decoder.append(data.prefix(600))
            _ = try decoder.preview()
            try decoder.append(data.suffix(from: 600))
            _ = try decoder.finish()
        }
        try run(all)
        for number in 1...all.count {
            let checkpoints = Checkpoints(cancellingAt: number)
            #expect(throws: WebImageError.cancelled) { try run(checkpoints) }
            #expect(checkpoints.count == number)
        }
    }
}
