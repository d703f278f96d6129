import CodingTestSupport
import Foundation
import Testing
@testable import WebImageCoding
import WebImageCore

/// The pixels that other programs decode from the same files.
@Suite(.timeLimit(.minutes(3))) struct DecodedPixelsTests {
    // libjpeg-turbo's releases differ in the rounding of upsampling.
    @Test(arguments: Fixture.all(withExtension: "jpg"))
    func decodesJPEGLikePillow(_ fixture: Fixture) throws {
        let image = try JPEGDecoder().decode(fixture.data(), options: DecodingOptions())
        let difference = try #require(Pixels(image.pixels).difference(from: fixture.reference()))
        #expect(difference <= 2)
        #expect(image.format == .jpeg)
        #expect(image.pixels.isOpaque)
    }

    @Test(arguments: Fixture.all(withExtension: "png"))
    func decodesEveryKindOfPNGExactly(_ fixture: Fixture) throws {
        let image = try PNGDecoder().decode(fixture.data(), options: DecodingOptions())
        let reference = try fixture.reference()
        #expect(Pixels(image.pixels) == reference)
        #expect(image.pixels.isOpaque == reference.isOpaque)
    }

    @Test(arguments: Fixture.all(withExtension: "gif"))
    func decodesTheFirstFrameOfAGIFExactly(_ fixture: Fixture) throws {
        let image = try GIFDecoder().decode(fixture.data(), options: DecodingOptions())
        let reference = try fixture.reference()
        #expect(Pixels(image.pixels) == reference)
        #expect(image.pixels.isOpaque == reference.isOpaque)
    }

    // libwebp premultiplies with different rounding.
    @Test(arguments: Fixture.all(withExtension: "webp"))
    func decodesWebPLikePillow(_ fixture: Fixture) throws {
        let image = try WebPDecoder().decode(fixture.data(), options: DecodingOptions())
        let reference = try fixture.reference()
        let difference = try #require(Pixels(image.pixels).difference(from: reference))
        #expect(difference <= 1)
        #expect(image.pixels.isOpaque == reference.isOpaque)
    }

    @Test func findsAllFixtures() {
        #expect(Fixture.all(withExtension: "jpg").count >= 18)
        #expect(Fixture.all(withExtension: "png").count >= 36)
        #expect(Fixture.all(withExtension: "gif").count >= 7)
        #expect(Fixture.all(withExtension: "webp").count >= 6)
    }
}

/// Decoding to a size.
@Suite(.timeLimit(.minutes(3))) struct ThumbnailTests {
    private let registry = CodecRegistry()

    private func decode(_ name: String, _ thumbnail: Thumbnail) throws -> Image {
        try registry.decode(Fixture(name).data(), options: DecodingOptions(thumbnail: thumbnail, scale: 2))
    }

    // JPEG scales by its coefficients, which is sharper than filtering pixels.
    @Test(arguments: [(60, 45, 34.0), (97, 73, 32.0)])
    func shrinksJPEGLikePillow(width: Int, height: Int, psnr: Double) throws {
        let image = try decode("photo.jpg", Thumbnail(.pixels(width: width, height: height), mode: .stretch))
        let reference = try Pixels(named: "photo-\(width)x\(height).rgba")
        #expect(try #require(Pixels(image.pixels).psnr(against: reference)) > psnr)
    }

    @Test(arguments: [(50, 37), (80, 30), (1, 1)])
    func shrinksOtherFormatsLikePillow(width: Int, height: Int) throws {
        let image = try decode("photo.png", Thumbnail(.pixels(width: width, height: height), mode: .stretch))
        let reference = try Pixels(named: "photo.png-\(width)x\(height).rgba")
        #expect(try #require(Pixels(image.pixels).psnr(against: reference)) > 45)
    }

    @Test(arguments: [
        (Thumbnail(.pixels(width: 100, height: 100)), PixelSize(width: 100, height: 75)),
        (Thumbnail(.pixels(width: 100, height: 100), mode: .aspectFill), PixelSize(width: 133, height: 100)),
        (Thumbnail(.pixels(width: 31, height: 170), mode: .stretch), PixelSize(width: 31, height: 170)),
        (Thumbnail(.pixels(height: 18)), PixelSize(width: 24, height: 18)),
        (Thumbnail(.pixels(width: 121)), PixelSize(width: 121, height: 91)),
        (Thumbnail(.pixels(width: 1, height: 1)), PixelSize(width: 1, height: 1)),
    ])
    func hasExactlyTheRequestedSize(_ thumbnail: Thumbnail, size: PixelSize) throws {
        let image = try decode("photo.jpg", thumbnail)
        #expect(image.pixels.size == size)
        #expect(image.isThumbnail)
        #expect(image.scale == 2)
        #expect(image.size == PointSize(width: Double(size.width) / 2, height: Double(size.height) / 2))
        #expect(image.pixels.isOpaque)
    }

    @Test(arguments: ["photo.jpg", "photo.png", "animated.gif", "lossy.webp"])
    func neverUpscales(_ name: String) throws {
        let data = try Fixture(name).data()
        for mode in ResizeMode.allCases {
            let image = try decode(name, Thumbnail(.pixels(width: 9_000, height: 9_000), mode: mode))
            #expect(image.pixels.size == (try registry.info(of: data).size))
            #expect(!image.isThumbnail)
        }
    }

    @Test(arguments: ImageOrientation.allCases)
    func measuresAndRotatesTheUprightImage(_ orientation: ImageOrientation) throws {
        let name = "orientation-\(orientation.rawValue).jpg"
        let upright = orientation.upright(PixelSize(width: 24, height: 16))
        let isWide = upright.width > upright.height
        let whole = try registry.decode(Fixture(name).data()).pixels
        for (thumbnail, size) in [
            (Thumbnail(.pixels(width: 12)), PixelSize(width: 12, height: isWide ? 8 : 18)),
            (Thumbnail(.pixels(width: 12, height: 12)), PixelSize(width: isWide ? 12 : 8, height: isWide ? 8 : 12)),
            (
                Thumbnail(.pixels(width: 12, height: 12), mode: .aspectFill),
                PixelSize(width: isWide ? 18 : 12, height: isWide ? 12 : 18)
            ),
            (Thumbnail(.pixels(width: 9, height: 14), mode: .stretch), PixelSize(width: 9, height: 14)),
        ] {
            let image = try decode(name, thumbnail)
            #expect(image.pixels.size == size)
            // The corners stay in place.
            for (x, y) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                let small = image.pixels[x * (image.width - 1), y * (image.height - 1)]
                let large = whole[x * (whole.width - 1), y * (whole.height - 1)]
                #expect(distance(small, large) < 90, "corner \(x), \(y) of \(size)")
            }
        }
    }

    @Test func keepsTransparentPixelsFromBleeding() throws {
        // Straight alpha would blend in the color of transparent pixels; premultiplied color never exceeds alpha.
        let pixels = Pixels(try decode("lossless-alpha.webp", Thumbnail(.pixels(width: 11, height: 9))).pixels)
        for pixel in stride(from: 0, to: pixels.bytes.count, by: 4) {
            #expect(pixels.bytes[pixel..<pixel + 3].allSatisfy { $0 <= pixels.bytes[pixel + 3] })
        }
    }

    private func distance(_ first: SIMD4<UInt8>, _ second: SIMD4<UInt8>) -> Int {
        (0..<4).map { abs(Int(first[$0]) - Int(second[$0])) }.max() ?? 0
    }
}

/// Pooled memory contains other images, which must not be visible.
@Suite(.timeLimit(.minutes(3)), .serialized) struct UnwrittenPixelsTests {
    @Test(arguments: [
        "rgba-8.png", "palette-2-adam7.png", "rgba-16-adam7.png", "grey-1.png", "animated.png", "87a.gif",
        "interlaced.gif", "offset.gif", "gif-mixed.gif", "gif-outside.gif",
    ])
    func showsNoUninitializedPixels(_ name: String) throws {
        let data = try Fixture(name).data()
        for length in stride(from: 20, through: data.count, by: 13) {
            let images = decoded(data.prefix(length), over: 0x5A)
            #expect(images == decoded(data.prefix(length), over: 0xA5), "\(length) bytes")
            if length > data.count * 9 / 10 { #expect(!images.isEmpty) }
        }
    }

    /// All results for `data`: a preview, the image, the frames.
    private func decoded(_ data: Data, over byte: UInt8) -> [Pixels] {
        let registry = CodecRegistry.builtIn
        var images: [Pixels] = []
        func collect(_ decode: () throws -> PixelBuffer?) {
            fillPool(with: byte)
            if let pixels = try? decode() { images.append(Pixels(pixels)) }
        }
        collect {
            let decoder = decoder(for: data)?.makeIncrementalDecoder(options: DecodingOptions())
            try decoder?.append(data)
            return try decoder?.preview()?.pixels
        }
        collect { try registry.decode(data).pixels }
        guard let animation = try? decoder(for: data)?.animation(of: data, options: DecodingOptions()) else {
            return images
        }
        let reader = animation.makeFrameReader()
        for index in animation.frames.indices { collect { try reader.frame(at: index, cancellation: nil) } }
        return images
    }

    private func decoder(for data: Data) -> (any ImageDecoder)? {
        [PNGDecoder(), GIFDecoder()].first { $0.canDecode(data) }
    }

    /// Fills blocks of the size class of small images.
    private func fillPool(with byte: UInt8) {
        PixelBufferPool.shared.removeAll()
        let buffers = (0..<8).compactMap { _ in
            try? Pixels(size: PixelSize(width: 32, height: 32), bytes: Array(repeating: byte, count: 4096)).buffer()
        }
        withExtendedLifetime(buffers) {}
    }
}
