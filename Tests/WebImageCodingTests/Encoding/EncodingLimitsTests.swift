import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

/// Files that must not be larger than so and so.
@Suite struct EncodingLimitsTests {
    private let registry = CodecRegistry()

    private func photo() throws -> Image { try registry.decode(Fixture("photo.jpg").data()) }

    @Test func fitsPicturesInABox() throws {
        let image = try photo()
        let limits = EncodingLimits(bounds: Thumbnail(width: 40, height: 40))
        for format in [ImageFormat.jpeg, .png, .webp, .gif] {
            let size = try registry.info(of: registry.encode(image, as: format, limits: limits)).size
            #expect(size == Thumbnail(width: 40, height: 40).targetSize(of: image.pixels.size))
        }
        let large = EncodingLimits(bounds: Thumbnail(width: 5_000, height: 5_000))
        #expect(try registry.info(of: registry.encode(image, as: .png, limits: large)).size == image.pixels.size)
    }

    @Test(arguments: [ImageFormat.gif, .png, .webp])
    func fitsEveryFrameInABox(_ format: ImageFormat) throws {
        let image = try registry.decode(Fixture("animated.webp").data())
        let limits = EncodingLimits(bounds: Thumbnail(width: 16, height: 0))
        let copy = try registry.decode(registry.encode(image, as: format, limits: limits))
        #expect(copy.width == 16 && copy.frameCount == 3)
        #expect(copy.animation?.frames.map(\.duration) == image.animation?.frames.map(\.duration))
    }

    @Test(arguments: [ImageFormat.jpeg, .webp])
    func lowersQualityFirst(_ format: ImageFormat) throws {
        let image = try photo()
        let best = try registry.encode(image, as: format).count
        let worst = try registry.encode(image, as: format, options: EncodingOptions(quality: 0.4)).count
        let limit = (best + worst) / 2
        let data = try registry.encode(image, as: format, limits: EncodingLimits(byteCount: limit))
        #expect(data.count <= limit && data.count > worst)
        #expect(try registry.info(of: data).size == image.pixels.size)
    }

    @Test(arguments: [ImageFormat.jpeg, .webp, .png, .gif])
    func lowersTheSizeThen(_ format: ImageFormat) throws {
        let image = try photo()
        let limit = format == .webp ? 500 : 1_500
        let data = try registry.encode(image, as: format, limits: EncodingLimits(byteCount: limit))
        let info = try registry.info(of: data)
        #expect(data.count <= limit && data.count > limit / 5, "\(data.count)")
        #expect(info.size.width < image.width)
        let proportions = Double(info.size.width * image.height) / Double(info.size.height * image.width)
        #expect(abs(proportions - 1) < 0.2)
    }

    @Test(arguments: [ImageFormat.gif, .png, .webp])
    func shrinksAnimations(_ format: ImageFormat) throws {
        let image = try registry.decode(Fixture("animated.webp").data())
        let whole = try registry.encode(image, as: format).count
        let limit = format == .webp ? 700 : whole / 2
        let data = try registry.encode(image, as: format, limits: EncodingLimits(byteCount: limit))
        #expect(data.count <= limit)
        #expect(try registry.info(of: data).frameCount == 3)
    }

    /// Also where a box has changed the proportions.
    @Test(arguments: [ImageFormat.gif, .png]) func keepsTheProportionsOfStretchedAnimations(_ format: ImageFormat)
        throws
    {
        let image = try registry.decode(Fixture("animated.webp").data())
        let bounds = Thumbnail(width: image.width, height: image.height / 4, mode: .stretch)
        let whole = try registry.encode(image, as: format, limits: EncodingLimits(bounds: bounds)).count
        let limits = EncodingLimits(bounds: bounds, byteCount: whole * 2 / 3)
        let size = try registry.info(of: registry.encode(image, as: format, limits: limits)).size
        #expect(size.width < image.width)
        let expected = bounds.targetSize(of: image.pixels.size)
        #expect(abs(size.height * expected.width / size.width - expected.height) <= 2)
    }

    @Test func leavesAloneWhatIsShortEnough() throws {
        let image = try photo()
        let data = try registry.encode(image, as: .jpeg)
        #expect(try registry.encode(image, as: .jpeg, limits: EncodingLimits(byteCount: data.count)) == data)
    }

    @Test(arguments: [ImageFormat.jpeg, .webp, .png, .gif])
    func saysHowShortItGets(_ format: ImageFormat) throws {
        let image = try photo()
        let encoder = CountingEncoder(try registry.encoder(for: format))
        let registry = CodecRegistry(encoders: [encoder])
        #expect {
            try registry.encode(image, as: format, limits: EncodingLimits(byteCount: 10))
        } throws: { error in
            guard case .encoding(format, .tooLong(let byteCount, 10))? = error as? WebImageError else { return false }
            return byteCount > 10 && byteCount < 2_000
        }
        #expect(encoder.count <= 16)
    }
}

/// Counts what it is asked for.
private final class CountingEncoder: ImageEncoder {
    private let encoder: any ImageEncoder
    private let calls = Lock(0)

    init(_ encoder: any ImageEncoder) { self.encoder = encoder }

    var format: ImageFormat { encoder.format }
    var count: Int { calls.withLock { $0 } }

    func usesQuality(_ options: EncodingOptions) -> Bool { encoder.usesQuality(options) }

    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        calls.withLock { $0 += 1 }
        return try encoder.encode(image, options: options)
    }
}
