import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

/// Where decoders look whether anybody still wants the picture.
@Suite struct DecodingCancellationTests {
    private let registry = CodecRegistry()

    /// Three checkpoints at least: before, while and after the pixels are decoded.
    @Test(arguments: [
        "photo.jpg", "progressive-444.jpg", "orientation-6.jpg", "photo.png", "rgba-16-adam7.png", "offset.gif",
        "lossy.webp", "lossless-alpha.webp", "animated.webp",
    ])
    func stopsAtWhicheverCheckpointItIsCancelled(_ name: String) throws {
        let data = try Fixture(name).data()
        try Checkpoints.expectCancellationAtEach(atLeast: 3) { checkpoints in
            let thumbnail = Thumbnail(width: 5, height: 5)
            _ = try registry.decode(
                data, options: DecodingOptions(thumbnail: thumbnail, cancellation: checkpoints.cancellation))
        }
    }

    /// A batch is a quarter megapixel: a picture of one megapixel has four each time all its pixels are gone through.
    @Test(arguments: [(ImageFormat.jpeg, 4), (.png, 16), (.gif, 8), (.webp, 4)])
    func looksUpEveryFewMillisecondsHoweverSmallTheData(format: ImageFormat, count: Int) throws {
        let size = PixelSize(width: 2048, height: 512)
        let data: Data
        if format == .gif {
            data = solidGIF(width: size.width, height: size.height)
        } else {
            let white = Pixels(size: size, bytes: [UInt8](repeating: 255, count: size.pixelCount * 4))
            data = try registry.encode(Image(pixels: white.buffer(isOpaque: true)), as: format)
        }
        #expect(data.count < 20_000)
        let checkpoints = Checkpoints()
        let image = try registry.decode(data, options: DecodingOptions(cancellation: checkpoints.cancellation))
        #expect(image.pixels.size == size)
        #expect(image.pixels.isOpaque)
        #expect(checkpoints.count > count)
    }

    /// What libpng has made of `data`, a megapixel with alpha.
    private func begunPNG(isInterlaced: Bool) throws -> PNGStreamDecoder {
        let size = PixelSize(width: 1024, height: 1024)
        let header = PNGWriter.header(size, color: .rgba, isInterlaced: isInterlaced)
        // A quarter of its bytes: the upper rows, or, interlaced, all of them in blocks of four pixels.
        let data = PNGWriter.file(header: header, filtered: [UInt8](repeating: 0, count: 1025 * 1024))
        var file = PNGFile()
        file.read(data.bytes)
        let still = try #require(file.still)
        let stream = try PNGStreamDecoder(still)
        try stream.take(still.chunks, of: data.bytes, cancellation: nil)
        #expect(stream.shownRowCount > 200 && stream.missingRowCount > 0)
        return stream
    }

    /// Behind the last row libpng makes, all pixels are gone through once more: to be premultiplied, or to be cleared.
    @Test(arguments: [false, true]) func looksUpWhileItFinishesAPNG(isInterlaced: Bool) throws {
        try Checkpoints.expectCancellationAtEach(atLeast: isInterlaced ? 4 : 3) { checkpoints in
            _ = try begunPNG(isInterlaced: isInterlaced).finish(cancellation: checkpoints.cancellation)
        }
        try Checkpoints.expectCancellationAtEach(atLeast: isInterlaced ? 4 : 3) { checkpoints in
            _ = try begunPNG(isInterlaced: isInterlaced).snapshot(cancellation: checkpoints.cancellation)
        }
    }
}
