import CodingTestSupport
import Foundation
import Testing
@testable import WebImageCoding
import WebImageCore

/// The choice of a decoder.
@Suite(.timeLimit(.minutes(3))) struct CodecRegistryTests {
    /// Accepts PNG data and returns a given result.
    private struct PickyDecoder: ImageDecoder {
        let format = ImageFormat.png
        let answer: @Sendable () throws(WebImageError) -> Image

        func info(of data: Data) throws(WebImageError) -> ImageInfo {
            let image = try answer()
            return ImageInfo(format: .png, size: image.pixels.size)
        }

        func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image { try answer() }
    }

    private func dot() throws -> PixelBuffer {
        try Pixels(size: PixelSize(width: 1, height: 1), bytes: [1, 2, 3, 255]).buffer()
    }

    @Test func triesTheLastRegisteredFirst() throws {
        let registry = CodecRegistry()
        let data = try Fixture("rgb-8.png").data()
        let dot = try dot()
        registry.register(PickyDecoder { () throws(WebImageError) in Image(pixels: dot) })
        #expect(try registry.decode(data).width == 1)
        #expect(try registry.info(of: data).size == PixelSize(width: 1, height: 1))
    }

    @Test func onlySmallFilesOfThisPackageAreQuick() throws {
        let registry = CodecRegistry()
        let (icon, photo) = (try icon(64), try icon(65))
        #expect(registry.isQuick(toDecode: icon))
        #expect(!registry.isQuick(toDecode: photo))
        #expect(!registry.isQuick(toDecode: icon + Data(count: 9_000)))
        #expect(!registry.isQuick(toDecode: Data(repeating: 0, count: 100)))
        let dot = try dot()
        registry.register(PickyDecoder { () throws(WebImageError) in Image(pixels: dot) })
        #expect(!registry.isQuick(toDecode: icon))
    }

    private func icon(_ side: Int) throws -> Data {
        let pixels = try MutablePixelBuffer(width: side, height: 64).freeze(isOpaque: false)
        return try CodecRegistry().encode(Image(pixels: pixels), as: .png)
    }

    @Test func triesTheNextIfADecoderDoesNotSupportTheFile() throws {
        let registry = CodecRegistry()
        let data = try Fixture("rgb-8.png").data()
        registry.register(
            PickyDecoder { () throws(WebImageError) in
                throw .decoding(format: .png, reason: .unsupported("color"))
            })
        #expect(try registry.decode(data).width == 19)
        #expect(try registry.info(of: data).size.width == 19)
    }

    @Test func triesNoOtherDecoderForDamagedData() throws {
        let registry = CodecRegistry()
        let error = WebImageError.decoding(format: .png, reason: .corrupt("all of it"))
        registry.register(PickyDecoder { () throws(WebImageError) in throw error })
        let data = try Fixture("rgb-8.png").data()
        #expect(throws: error) { try registry.decode(data) }
    }

    @Test func reportsUnsupportedFeatures() throws {
        let error = WebImageError.decoding(format: .png, reason: .unsupported("color"))
        let registry = CodecRegistry(decoders: [PickyDecoder { () throws(WebImageError) in throw error }])
        let data = try Fixture("rgb-8.png").data()
        #expect(throws: error) { try registry.decode(data) }
    }

    @Test(arguments: ["", "<!DOCTYPE html><html>", "GIF88a", "\u{0}\u{1}"])
    func refusesUnknownFormats(_ text: String) {
        let data = Data(text.utf8)
        let error = WebImageError.unrecognizedFormat(contentType: nil, leadingBytes: Array(data.prefix(16)))
        #expect(throws: error) { try CodecRegistry().decode(data) }
        #expect(throws: error) { try CodecRegistry().info(of: data) }
    }

    @Test func readsASliceOfLargerData() throws {
        let png = try Fixture("rgba-8.png").data()
        let slice = (Data(repeating: 7, count: 100) + png)[100...]
        #expect(try Pixels(CodecRegistry().decode(slice).pixels) == Fixture("rgba-8.png").reference())
    }

    @Test func listsReadableFormatsInOrder() throws {
        let registry = CodecRegistry()
        #expect(registry.readableFormats == [.webp, .jpeg, .png, .gif, .qoi, .bmp, .ico, .icns, .pnm])
        registry.register(PickyDecoder { () throws(WebImageError) in throw .cancelled })
        #expect(registry.readableFormats == [.png, .webp, .jpeg, .gif, .qoi, .bmp, .ico, .icns, .pnm])
    }

    @Test func refusesToEncodeWithoutAnEncoder() throws {
        let image = Image(pixels: try dot())
        #expect(throws: WebImageError.encoding(format: .gif, reason: .noEncoder)) {
            try CodecRegistry(encoders: [PNGEncoder()]).encode(image, as: .gif)
        }
    }

    @Test func probesWithEveryAcceptingDecoder() throws {
        let registry = CodecRegistry()
        let data = try Fixture("rgb-8.png").data()
        // It has no probe.
        registry.register(PickyDecoder { () throws(WebImageError) in throw .cancelled })
        #expect(try registry.probe(data)?.size == PixelSize(width: 19, height: 13))
    }

    @Test(arguments: ["progressive-420.jpg", "rgb-8.png", "interlaced.gif", "lossy.webp"])
    func decodesArrivingBytes(_ name: String) throws {
        let registry = CodecRegistry()
        let data = try Fixture(name).data()
        #expect(try registry.makeIncrementalDecoder(startingWith: data.prefix(2)) == nil)
        let decoder = try #require(try registry.makeIncrementalDecoder(startingWith: data.prefix(20)))
        try decoder.append(data.dropFirst(20))
        #expect(try Pixels(decoder.finish().pixels) == Pixels(registry.decode(data).pixels))
    }

    @Test func decodesArrivingBytesWithTheFirstDecoder() throws {
        let registry = CodecRegistry()
        registry.register(PickyDecoder { () throws(WebImageError) in throw .cancelled })
        let data = try Fixture("rgb-8.png").data()
        // The built-in decoder would decode other pixels.
        #expect(try registry.makeIncrementalDecoder(startingWith: data) == nil)
        #expect(try registry.animation(of: Fixture("animated.png").data()) == nil)
    }

    @Test func findsTheFramesOfAnimations() throws {
        let registry = CodecRegistry()
        for name in ["animated.gif", "animated.png", "animated.webp"] {
            #expect(try registry.animation(of: Fixture(name).data())?.frameCount == 3, "\(name)")
        }
        #expect(try registry.animation(of: Fixture("rgb-8.png").data()) == nil)
    }

    // MARK: Several codecs

    /// Accepts PNG data and declines it, and records its calls.
    private struct ModestDecoder: ImageDecoder {
        let format = ImageFormat.png
        let name: String
        let asked: LockBox<[String]>

        func info(of data: Data) throws(WebImageError) -> ImageInfo { throw decline() }
        func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image { throw decline() }

        func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)? {
            Declining(error: decline())
        }

        private func decline() -> WebImageError {
            asked.withLock { $0.append(name) }
            return .decoding(format: .png, reason: .unsupported(name))
        }

        private final class Declining: IncrementalImageDecoder {
            let error: WebImageError
            init(error: WebImageError) { self.error = error }
            var animation: (any AnimationSource)? { nil }
            func append(_ bytes: Data) throws(WebImageError) { throw error }
            func preview() throws(WebImageError) -> Image? { throw error }
            func finish() throws(WebImageError) -> Image { throw error }
        }
    }

    @Test func triesDecodersUntilOneSupportsTheFile() throws {
        let (registry, asked) = (CodecRegistry(), LockBox<[String]>([]))
        for name in ["first", "second", "third"] { registry.register(ModestDecoder(name: name, asked: asked)) }
        let data = try Fixture("rgb-8.png").data()
        func expectAll(_ what: Comment, _ body: () throws -> Void) throws {
            asked.withLock { $0 = [] }
            try body()
            #expect(asked.withLock { $0 } == ["third", "second", "first"], what)
        }
        try expectAll("decode") { _ = try registry.decode(data) }
        try expectAll("info") { _ = try registry.info(of: data) }
        try expectAll("pieces") {
            let decoder = try #require(try registry.makeIncrementalDecoder(startingWith: data))
            #expect(try decoder.finish().width == 19)
        }
        // The error is that of the first decoder.
        let declining = ["first", "second"].map { ModestDecoder(name: $0, asked: asked) }
        #expect(throws: WebImageError.decoding(format: .png, reason: .unsupported("second"))) {
            try CodecRegistry(decoders: declining).decode(data)
        }
    }

    /// A custom format: `DOT!`, then red, green and blue.
    private struct DotCodec: ImageDecoder, ImageEncoder {
        let format = ImageFormat(name: "dot", mimeType: "image/x-dot", fileExtension: "dot")

        func canDecode(_ data: Data) -> Bool { data.starts(with: Data("DOT!".utf8)) }

        func info(of data: Data) throws(WebImageError) -> ImageInfo {
            ImageInfo(format: format, size: PixelSize(width: 1, height: 1))
        }

        func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
            guard data.count == 7 else { throw .decoding(format: format, reason: .truncated) }
            var pixels = try MutablePixelBuffer(width: 1, height: 1)
            pixels.withUnsafeMutableBytes { $0.copyBytes(from: data.suffix(3) + [255]) }
            return Image(pixels: pixels.freeze(isOpaque: true), format: format)
        }

        func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
            let pixel = image.pixels[0, 0]
            return Data("DOT!".utf8) + [pixel.x, pixel.y, pixel.z]
        }
    }

    @Test func readsAndWritesACustomFormat() throws {
        let (registry, codec) = (CodecRegistry(), DotCodec())
        let data = Data("DOT!".utf8) + [1, 2, 3]
        #expect(throws: WebImageError.self) { try registry.decode(data) }
        registry.register(codec as any ImageDecoder)
        registry.register(codec as any ImageEncoder)
        let image = try registry.decode(data)
        #expect(image.format == codec.format)
        #expect(image.pixels[0, 0] == SIMD4(1, 2, 3, 255))
        #expect(try registry.encode(image, as: codec.format) == data)
        #expect(try registry.info(of: data).format == codec.format)
        #expect(throws: WebImageError.decoding(format: codec.format, reason: .truncated)) {
            try registry.decode(data.dropLast())
        }
    }

    @Test(arguments: [
        DecodingOptions(), DecodingOptions(thumbnail: Thumbnail(.pixels(width: 30, height: 30))),
        DecodingOptions(thumbnail: Thumbnail(.pixels(width: 30, height: 30), mode: .aspectFill)),
        DecodingOptions(thumbnail: Thumbnail(.pixels(width: 500, height: 500))), DecodingOptions(byteLimit: 4 * 300),
        DecodingOptions(thumbnail: Thumbnail(.pixels(width: 30, height: 30)), byteLimit: 4 * 100),
    ]) func tellsCustomDecodersTheSizeThatBuiltInOnesReturn(options: DecodingOptions) throws {
        var pixels = try MutablePixelBuffer(width: 60, height: 40)
        pixels.clear()
        let file = try CodecRegistry.builtIn.encode(Image(pixels: pixels.freeze(isOpaque: false)), as: .png)
        let decoded = try CodecRegistry.builtIn.decode(file, options: options)
        #expect(options.targetSize(of: PixelSize(width: 60, height: 40)) == decoded.pixels.size)
    }

    @Test func namesReadableFormatsToServers() {
        let registry = CodecRegistry()
        let everything =
            "image/webp,image/jpeg,image/png,image/gif,image/qoi,image/bmp,image/vnd.microsoft.icon,image/icns,"
            + "image/x-portable-anymap,image/*;q=0.8,*/*;q=0.5"
        #expect(registry.acceptHeaders["Accept"] == everything)
        registry.register(DotCodec() as any ImageDecoder)
        #expect(registry.acceptHeaders["Accept"] == "image/x-dot," + everything)
        // Another decoder for the same format does not add a format.
        registry.register(DotCodec() as any ImageDecoder)
        #expect(registry.acceptHeaders["Accept"] == "image/x-dot," + everything)
        #expect(CodecRegistry(decoders: [PNGDecoder()]).acceptHeaders["Accept"] == "image/png,image/*;q=0.8,*/*;q=0.5")
    }

    @Test func substitutesEachCodecOnce() throws {
        let made = LockBox((decoders: 0, encoders: 0))
        let source = CodecRegistry(decoders: [PNGDecoder()], encoders: [PNGEncoder()])
        let registry = CodecRegistry(
            substituting: source,
            decoder: { decoder in
                made.withLock { $0.decoders += 1 }
                return decoder
            },
            encoder: { encoder in
                made.withLock { $0.encoders += 1 }
                return encoder
            })
        let data = try Fixture("rgb-8.png").data()
        for _ in 0..<3 {
            let image = try registry.decode(data)
            _ = try registry.encode(image, as: .png)
            #expect(registry.acceptHeaders["Accept"] == "image/png,image/*;q=0.8,*/*;q=0.5")
        }
        #expect(made.withLock { $0 } == (1, 1))
        // What is registered later in either of them is seen.
        source.register(GIFDecoder())
        #expect(registry.readableFormats == [.gif, .png])
        registry.register(DotCodec() as any ImageDecoder)
        #expect(registry.acceptHeaders["Accept"] == "image/x-dot,image/png,image/gif,image/*;q=0.8,*/*;q=0.5")
        #expect(registry.readableFormats == [DotCodec().format, .gif, .png])
        #expect(!source.readableFormats.contains(DotCodec().format))
        #expect(made.withLock { $0.decoders } == 5)
    }

    @Test func encodesWithTheLastRegisteredEncoder() throws {
        struct Stamp: ImageEncoder {
            let format = ImageFormat.png
            func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data { Data([1, 2, 3]) }
        }
        let registry = CodecRegistry()
        registry.register(Stamp())
        #expect(try registry.encode(Image(pixels: dot()), as: .png) == Data([1, 2, 3]))
    }
}

/// The information in files that are not decoded.
@Suite(.timeLimit(.minutes(3))) struct ImageInfoTests {
    private let registry = CodecRegistry()

    private func info(of name: String) throws -> ImageInfo { try registry.info(of: Fixture(name).data()) }

    @Test func agreesWithThePixels() throws {
        let fixtures = ["jpg", "png", "gif", "webp"].flatMap(Fixture.all)
        for fixture in fixtures {
            let reference = try fixture.reference()
            let info = try registry.info(of: fixture.data())
            #expect(info.size == reference.size, "\(fixture.name)")
            let isTransparent = stride(from: 3, to: reference.bytes.count, by: 4).contains { reference.bytes[$0] < 255 }
            if isTransparent { #expect(info.hasAlpha, "\(fixture.name)") }
        }
    }

    @Test(arguments: ImageOrientation.allCases)
    func givesTheUprightSizeOfEveryOrientation(_ orientation: ImageOrientation) throws {
        let info = try info(of: "orientation-\(orientation.rawValue).jpg")
        #expect(info.orientation == orientation)
        #expect(info.size == orientation.upright(PixelSize(width: 24, height: 16)))
    }

    @Test(arguments: ["orientation-6.png", "orientation-6.webp"])
    func readsEXIFOfOtherFormats(_ name: String) throws {
        #expect(try info(of: name).orientation == .right)
    }

    @Test(arguments: ["profile.jpg", "profile.png", "orientation-6.webp"])
    func detectsColorProfiles(_ name: String) throws {
        #expect(try info(of: name).hasColorProfile)
    }

    @Test(arguments: ["baseline-444.jpg", "rgb-8.png", "87a.gif", "lossless.webp"])
    func reportsPlainStills(_ name: String) throws {
        let info = try info(of: name)
        #expect(info.frameCount == 1)
        #expect(info.loopCount == nil)
        #expect(info.frameDurations == [])
        #expect(!info.hasColorProfile)
        #expect(!info.hasAlpha)
    }

    @Test func countsTheFramesOfAGIF() throws {
        let info = try info(of: "animated.gif")
        #expect(info.frameCount == 3)
        #expect(info.frameDurations == [.milliseconds(70), .milliseconds(100), .milliseconds(500)])
        // Two repetitions after the first play.
        #expect(info.loopCount == 3)
    }

    @Test func countsTheFramesOfAnAPNG() throws {
        let info = try info(of: "animated.png")
        #expect(info.frameCount == 3)
        // The second counts hundredths; the third has no duration.
        #expect(info.frameDurations == [.milliseconds(250), .milliseconds(50), .milliseconds(100)])
        #expect(info.loopCount == 2)
    }

    @Test func countsTheFramesOfAWebP() throws {
        let info = try info(of: "animated.webp")
        #expect(info.frameCount == 3)
        #expect(info.frameDurations == [.milliseconds(80), .milliseconds(100), .milliseconds(200)])
        #expect(info.loopCount == 3)
    }

    @Test(arguments: ["animated.gif", "animated.png", "animated.webp"])
    func agreesWithTheFrameCountOfADecodedImage(_ name: String) throws {
        #expect(try registry.decode(Fixture(name).data()).frameCount == 3)
    }

    @Test(arguments: ["progressive-420.jpg", "animated.png", "animated.gif", "lossy-alpha.webp"])
    func readsTheSizeOfIncompleteData(_ name: String) throws {
        let data = try Fixture(name).data()
        let size = try registry.info(of: data).size
        #expect(try registry.info(of: data.prefix(data.count * 3 / 4)).size == size)
    }

    /// Decodes at once, or slowly.
    private struct PacedDecoder: ImageDecoder {
        let format = ImageFormat.png
        let image: Image
        let isSlow = LockBox(false)

        func canDecode(_ data: Data) -> Bool { true }

        func info(of data: Data) throws(WebImageError) -> ImageInfo {
            ImageInfo(format: .png, size: image.pixels.size)
        }

        func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
            let end = ContinuousClock.now + .microseconds(isSlow.withLock { $0 } ? 100 : 0)
            while ContinuousClock.now < end {}
            return image
        }
    }

    @Test func learnsWhichDecodersOfProgramsAreQuick() throws {
        let decoder = PacedDecoder(
            image: Image(pixels: try Pixels(size: PixelSize(width: 1, height: 1), bytes: [1, 2, 3, 255]).buffer()))
        let registry = CodecRegistry(decoders: [decoder], encoders: [])
        let data = Data(repeating: 0, count: 100)
        func isQuick() -> Bool { registry.isQuick(toDecode: data, mayRunOthers: true) }
        for _ in 0..<15 {
            #expect(!isQuick())
            _ = try registry.decode(data)
        }
        // On a busy machine, more calls than necessary may be slow.
        while !isQuick(), !Task.isCancelled { _ = try registry.decode(data) }
        #expect(!registry.isQuick(toDecode: data))
        #expect(!registry.isQuick(toDecode: Data(repeating: 0, count: 9_000), mayRunOthers: true))
        decoder.isSlow.withLock { $0 = true }
        _ = try registry.decode(data)
        #expect(!isQuick())
        // It has to be quick twice as often now.
        decoder.isSlow.withLock { $0 = false }
        for _ in 0..<31 {
            _ = try registry.decode(data)
            #expect(!isQuick())
        }
    }
}
