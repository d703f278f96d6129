import FoundationEssentials
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

/// The bytes that are stored on disk for an image.
@Suite(.timeLimit(.minutes(3))) struct ImageEncodingTests {
    private let fixture: ImageCacheFixture
    private let key: ImageCacheKey

    init() throws {
        fixture = try ImageCacheFixture()
        key = fixture.key
    }

    private func stored(_ image: Image, in cache: ImageCache) async -> Data? {
        await cache.store(image, for: key, in: .disk)
        return await cache.disk?.data(for: key.description)
    }

    @Test(
        arguments: [
            (nil, 255, .jpeg), (nil, 128, .png), (.webp, 255, .webp), (.webp, 128, .webp), (.png, 255, .png),
            (.jpeg, 255, .jpeg), (.jpeg, 128, .png), (.gif, 255, .jpeg), (.gif, 128, .png),
        ] as [(ImageFormat?, UInt8, ImageFormat)])
    func choosesTheFormatByAlpha(_ format: ImageFormat?, _ alpha: UInt8, _ expected: ImageFormat) async throws {
        var image = try solidImage(alpha: alpha)
        image.format = format
        let data = try #require(await stored(image, in: fixture.cache()))
        #expect(ImageFormat(signatureOf: data) == expected)
        #expect(try CodecRegistry.builtIn.info(of: data).hasAlpha == (alpha < 255))
    }

    @Test func keepsTheBytesOfAnAnimation() async throws {
        let gif = try animatedGIF()
        // Decoding keeps the bytes of an animation.
        var image = try CodecRegistry.builtIn.decode(gif)
        #expect(image.animation != nil && image.data == gif)
        #expect(image.memoryCost == image.pixels.byteCount + gif.count)
        #expect(await stored(image, in: fixture.cache()) == gif)
        // A thumbnail does not have the bytes of its original, but is animated too.
        image.isThumbnail = true
        let copy = try #require(await stored(image, in: fixture.cache()))
        #expect(copy != gif)
        let (info, original) = try (CodecRegistry.builtIn.info(of: copy), CodecRegistry.builtIn.info(of: gif))
        #expect(info.frameDurations == original.frameDurations && info.loopCount == original.loopCount)
    }

    @Test func encodesInTheRequestedQuality() async throws {
        let image = try noise()
        let data = await stored(image, in: fixture.cache())
        #expect(data == (try CodecRegistry.builtIn.encode(image, as: .jpeg, options: EncodingOptions(quality: 0.9))))
        let small = await stored(image, in: fixture.cache { $0.encodingQuality = 0.2 })
        #expect(small?.count ?? .max < data?.count ?? 0)
    }

    private func noise() throws -> Image {
        var random = SplitMix64(seed: 1)
        var pixels = try MutablePixelBuffer(width: 64, height: 64)
        pixels.withUnsafeMutableBytes { bytes in bytes.copyBytes(from: random.opaquePixels(count: bytes.count / 4)) }
        return Image(pixels: pixels.freeze(isOpaque: true))
    }

    @Test func usesTheSerializer() async throws {
        let calls = LockBox<[(Int, Data?, ImageCacheKey)]>([])
        let cache = fixture.cache { configuration in
            configuration.serializer = { image, data, key in
                calls.withLock { $0.append((image.width, data, key)) }
                return data == nil ? nil : Data("mine".utf8)
            }
        }
        let png = try solidPNG()
        await cache.store(try solidImage(), data: png, for: key)
        #expect(await cache.disk?.data(for: key.source) == Data("mine".utf8))
        // If it returns nil, the image is encoded as usual.
        let data = try #require(await stored(try solidImage(), in: cache))
        #expect(ImageFormat(signatureOf: data) == .jpeg)
        // It is not called without an image, nor without the disk.
        await cache.store(nil, data: png, for: key, in: .disk)
        #expect(await cache.disk?.data(for: key.source) == png)
        await cache.store(try solidImage(), data: png, for: key, in: .memory)
        let seen = calls.withLock { $0 }
        #expect(seen.map(\.0) == [8, 8] && seen.map(\.1) == [png, nil] && seen.map(\.2) == [key, key])
    }

    @Test func reportsAnImageThatCannotBeEncoded() async throws {
        let cache = fixture.cache { $0.codecs = CodecRegistry(encoders: []) }
        await cache.store(nil, data: try solidPNG(), for: key, in: .disk)
        #expect(await stored(try solidImage(), in: cache) == nil)
        #expect(fixture.reports.codes == [302])
    }
}
