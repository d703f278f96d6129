import Foundation
import Testing
import WebImageCoding
import WebImageCore

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
}
