import CodingTestSupport
import Dispatch
import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

/// Registered codecs: which there are, what they can do, and how they go.
@Suite(.timeLimit(.minutes(2))) struct CodecRegistrationTests {
    /// Decodes PNG as a dot, and writes three bytes.
    private struct Dot: ImageDecoder, ImageEncoder {
        let format = ImageFormat.png

        func info(of data: Data) throws(WebImageError) -> ImageInfo {
            ImageInfo(format: .png, size: PixelSize(width: 1, height: 1))
        }

        func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
            Image(pixels: try MutablePixelBuffer(width: 1, height: 1).freeze(isOpaque: false))
        }

        func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data { Data([1, 2, 3]) }
    }

    private let registry = CodecRegistry()

    private func data(_ name: String) throws -> Data { try Fixture(name).data() }

    @Test func aRemovedDecoderIsNoLongerUsed() throws {
        let gif = try data("transparent.gif")
        #expect(registry.canDecode(.gif) && registry.canDecode(gif))
        registry.unregisterDecoders { $0.format == .gif }
        #expect(throws: WebImageError.decoding(format: .gif, reason: .noDecoder)) { try registry.decode(gif) }
        #expect(throws: WebImageError.decoding(format: .gif, reason: .noDecoder)) { try registry.info(of: gif) }
        #expect(try registry.probe(gif) == nil)
        #expect(!registry.canDecode(.gif) && !registry.canDecode(gif) && registry.canDecode(.png))
        #expect(!registry.readableFormats.contains(.gif) && registry.acceptHeaders["Accept"]?.contains("gif") == false)
        registry.register(GIFDecoder())
        #expect(try registry.decode(gif).frameCount == 1 && registry.canDecode(.gif))
    }

    @Test func aRemovedEncoderIsNoLongerUsed() throws {
        let image = try registry.decode(data("rgb-8.png"))
        registry.unregisterEncoders { $0.format == .webp }
        #expect(throws: WebImageError.encoding(format: .webp, reason: .noEncoder)) {
            try registry.encode(image, as: .webp)
        }
        #expect(!registry.canEncode(.webp) && !registry.writableFormats.contains(.webp) && registry.canEncode(.png))
        registry.register(WebPEncoder())
        #expect(try ImageFormat(signatureOf: registry.encode(image, as: .webp)) == .webp)
    }

    @Test func theDecoderBeforeTheRemovedOneIsUsedAgain() throws {
        let png = try data("rgb-8.png")
        registry.register(Dot() as any ImageDecoder)
        registry.register(Dot() as any ImageEncoder)
        #expect(try registry.decode(png).width == 1)
        #expect(registry.decoders.first is Dot && registry.encoders.first is Dot)
        registry.unregisterDecoders { $0 is Dot }
        registry.unregisterEncoders { $0 is Dot }
        #expect(try registry.decode(png).width == 19)
        #expect(try registry.encode(registry.decode(png), as: .png).count > 3)
    }

    @Test func codecsAreListedInTheOrderInWhichTheyAreTried() {
        let formats = registry.decoders.map(\.format)
        #expect(formats == registry.readableFormats)
        #expect(registry.encoders.map(\.format) == registry.writableFormats.reversed())
        registry.register(Dot() as any ImageDecoder)
        #expect(registry.decoders.map(\.format) == [.png] + formats)
        registry.unregisterDecoders { _ in true }
        #expect(registry.decoders.isEmpty && registry.readableFormats.isEmpty)
    }

    @Test func theFirstBytesTellWhatCanBeDecoded() throws {
        for name in ["rgb-8.png", "photo.jpg", "transparent.gif", "lossy.webp"] {
            #expect(try registry.canDecode(data(name).prefix(18)), "\(name)")
        }
        #expect(!registry.canDecode(Data("<!DOCTYPE html><html>".utf8)) && !registry.canDecode(Data()))
        // A signature that is known, of a format without a decoder here.
        let avif = Data([0, 0, 0, 0x1C]) + Data("ftypavif".utf8) + Data(count: 16)
        #expect(ImageFormat(signatureOf: avif) == .avif && !registry.canDecode(avif) && !registry.canDecode(.avif))
    }

    // MARK: Registries that are made of others

    private func derived() -> CodecRegistry {
        CodecRegistry(substituting: registry, decoder: { $0 }, encoder: { $0 })
    }

    @Test func registriesMadeOfAnotherFollowIt() throws {
        let derived = derived()
        let gif = try data("transparent.gif")
        #expect(derived.canDecode(gif) && derived.canEncode(.gif))
        registry.unregisterDecoders { $0.format == .gif }
        registry.unregisterEncoders { $0.format == .gif }
        #expect(!derived.canDecode(gif) && !derived.canEncode(.gif))
        #expect(throws: WebImageError.decoding(format: .gif, reason: .noDecoder)) { try derived.decode(gif) }
    }

    @Test func anOriginalDoesNotFollowWhatWasMadeOfIt() throws {
        let derived = derived()
        derived.unregisterDecoders { $0.format == .png }
        derived.unregisterEncoders { $0.format == .png }
        #expect(!derived.canDecode(.png) && !derived.canEncode(.png))
        #expect(registry.canDecode(.png) && registry.canEncode(.png))
        // Also not what is registered there later, unlike what is registered here.
        registry.register(Dot() as any ImageDecoder)
        registry.register(Dot() as any ImageEncoder)
        #expect(!derived.canDecode(.png) && !derived.canEncode(.png))
        derived.register(PNGDecoder())
        derived.register(PNGEncoder())
        #expect(try derived.decode(data("rgb-8.png")).width == 19)
        #expect(try derived.encode(derived.decode(data("rgb-8.png")), as: .png).count > 3)
    }

    @Test func aChangeKeepsWhatIsRegisteredMeanwhile() {
        let isFirst = LockBox(true)
        registry.unregisterDecoders { [registry] decoder in
            let registers = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            if registers { registry.register(Dot() as any ImageDecoder) }
            return decoder.format == .gif
        }
        #expect(registry.decoders.first is Dot && !registry.canDecode(.gif))
    }

    /// `isRemoved` may take its time, and uses the registry here.
    @Test func changesFromSeveralThreadsAreAllMade() {
        let count = registry.decoders.count
        let formats = (0..<64).map { ImageFormat(name: "f\($0)", mimeType: "image/x-\($0)", fileExtension: "f\($0)") }
        struct Named: ImageDecoder {
            let format: ImageFormat
            func info(of data: Data) throws(WebImageError) -> ImageInfo { throw .cancelled }
            func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image { throw .cancelled }
        }
        DispatchQueue.concurrentPerform(iterations: formats.count) { [registry] index in
            registry.register(Named(format: formats[index]))
            guard index % 2 == 0 else { return }
            registry.unregisterDecoders { $0.format == formats[index] && !registry.decoders.isEmpty }
        }
        #expect(registry.decoders.count == count + formats.count / 2)
        #expect(formats.indices.allSatisfy { registry.canDecode(formats[$0]) == ($0 % 2 == 1) })
    }
}
