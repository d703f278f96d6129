import Foundation
import Testing
import WebImageCoding
import WebImageCore

/// Which decoder gets the bytes.
@Suite struct CodecRegistryTests {
    /// Takes PNG data and answers as told.
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

    @Test func asksTheLastRegisteredFirst() throws {
        let registry = CodecRegistry()
        let data = try Fixture("rgb-8.png").data()
        let dot = try dot()
        registry.register(PickyDecoder { () throws(WebImageError) in Image(pixels: dot) })
        #expect(try registry.decode(data).width == 1)
        #expect(try registry.info(of: data).size == PixelSize(width: 1, height: 1))
    }

    @Test func passesOnWhatADecoderDoesNotSupport() throws {
        let registry = CodecRegistry()
        let data = try Fixture("rgb-8.png").data()
        registry.register(
            PickyDecoder { () throws(WebImageError) in
                throw .decoding(format: .png, reason: .unsupported("colour"))
            })
        #expect(try registry.decode(data).width == 19)
        #expect(try registry.info(of: data).size.width == 19)
    }

    @Test func doesNotPassOnDamagedData() throws {
        let registry = CodecRegistry()
        let error = WebImageError.decoding(format: .png, reason: .corrupt("all of it"))
        registry.register(PickyDecoder { () throws(WebImageError) in throw error })
        let data = try Fixture("rgb-8.png").data()
        #expect(throws: error) { try registry.decode(data) }
    }

    @Test func reportsWhatNobodySupports() throws {
        let error = WebImageError.decoding(format: .png, reason: .unsupported("colour"))
        let registry = CodecRegistry(decoders: [PickyDecoder { () throws(WebImageError) in throw error }])
        let data = try Fixture("rgb-8.png").data()
        #expect(throws: error) { try registry.decode(data) }
    }

    @Test(arguments: ["", "<!DOCTYPE html><html>", "GIF88a", "\u{0}\u{1}"])
    func refusesDataOfNoKnownFormat(_ text: String) {
        let data = Data(text.utf8)
        let error = WebImageError.unrecognizedFormat(contentType: nil, leadingBytes: Array(data.prefix(16)))
        #expect(throws: error) { try CodecRegistry().decode(data) }
        #expect(throws: error) { try CodecRegistry().info(of: data) }
    }

    @Test func readsASliceOfLargerData() throws {
        let picture = try Fixture("rgba-8.png").data()
        let slice = (Data(repeating: 7, count: 100) + picture)[100...]
        #expect(try Pixels(CodecRegistry().decode(slice).pixels) == Fixture("rgba-8.png").reference())
    }

    @Test func listsWhatItReadsInTheOrderOfAsking() throws {
        let registry = CodecRegistry()
        #expect(registry.readableFormats == [.webp, .jpeg, .png, .gif])
        registry.register(PickyDecoder { () throws(WebImageError) in throw .cancelled })
        #expect(registry.readableFormats == [.png, .webp, .jpeg, .gif])
    }

    @Test func refusesToWriteWhatItHasNoEncoderFor() throws {
        let image = Image(pixels: try dot())
        #expect(throws: WebImageError.encoding(format: .gif, reason: .noEncoder)) {
            try CodecRegistry(encoders: [PNGEncoder()]).encode(image, as: .gif)
        }
    }

    @Test func asksEveryDecoderThatAcceptsForAProbe() throws {
        let registry = CodecRegistry()
        let data = try Fixture("rgb-8.png").data()
        // It has no probe of its own.
        registry.register(PickyDecoder { () throws(WebImageError) in throw .cancelled })
        #expect(try registry.probe(data)?.size == PixelSize(width: 19, height: 13))
    }

    @Test(arguments: ["progressive-420.jpg", "rgb-8.png", "interlaced.gif", "lossy.webp"])
    func decodesWhatArrives(_ name: String) throws {
        let registry = CodecRegistry()
        let data = try Fixture(name).data()
        #expect(try registry.makeIncrementalDecoder(startingWith: data.prefix(2)) == nil)
        let decoder = try #require(try registry.makeIncrementalDecoder(startingWith: data.prefix(20)))
        try decoder.append(data.dropFirst(20))
        #expect(try Pixels(decoder.finish().pixels) == Pixels(registry.decode(data).pixels))
    }

    @Test func leavesArrivingBytesToTheDecoderThatWillDecodeThem() throws {
        let registry = CodecRegistry()
        registry.register(PickyDecoder { () throws(WebImageError) in throw .cancelled })
        let data = try Fixture("rgb-8.png").data()
        // The built-in decoder would make other pixels of the whole.
        #expect(try registry.makeIncrementalDecoder(startingWith: data) == nil)
        #expect(try registry.animation(of: Fixture("animated.png").data()) == nil)
    }

    @Test func findsTheFramesOfWhatMoves() throws {
        let registry = CodecRegistry()
        for name in ["animated.gif", "animated.png", "animated.webp"] {
            #expect(try registry.animation(of: Fixture(name).data())?.frameCount == 3, "\(name)")
        }
        #expect(try registry.animation(of: Fixture("rgb-8.png").data()) == nil)
    }
}
