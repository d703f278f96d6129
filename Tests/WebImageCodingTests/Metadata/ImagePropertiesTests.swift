import CodingTestSupport
import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// What is known of a file, in one value.
@Suite(.timeLimit(.minutes(2))) struct ImagePropertiesTests {
    private let registry = CodecRegistry()

    private func photograph() throws -> Data {
        var options = EncodingOptions()
        options.metadata = CameraMetadata.metadata()
        let pixels = try registry.decode(Fixture("photo.jpg").data())
        return try registry.encode(pixels, as: .jpeg, options: options)
    }

    @Test func haveWhatTheOthersTell() throws {
        let data = try photograph()
        let properties = try registry.properties(of: data)
        #expect(try properties.info == registry.info(of: data) && properties.info.format == .jpeg)
        #expect(try properties.metadata == registry.metadata(of: data) && properties.metadata.xmp != nil)
        #expect(properties.exif == properties.metadata.exifFields && properties.exif?.camera == "Leica")
        #expect(properties.byteCount == data.count)
    }

    @Test(arguments: ["animated.gif", "animated.png", "animated.webp"])
    func haveTheFramesOfAnAnimation(name: String) throws {
        let info = try registry.properties(of: Fixture(name).data()).info
        #expect(info.frames.count == 3 && info.frames.allSatisfy { $0.part != nil })
        #expect(info.frameDurations == info.frames.map(\.duration) && info.duration > .milliseconds(300))
    }

    @Test func areThoseOfAFile() throws {
        let (folder, data) = (try TemporaryDirectory(), try photograph())
        let file = try folder.write(data, to: "photo \u{E9}.jpg")
        #expect(try registry.properties(ofFileAt: file) == registry.properties(of: data))
        #expect(throws: WebImageError.self) { try registry.properties(ofFileAt: folder.url("missing")) }
        let remote = try #require(URL(string: "https://example.org/a.jpg"))
        #expect(throws: WebImageError.invalidURL(remote.absoluteString)) { try registry.properties(ofFileAt: remote) }
    }

    @Test func withoutMetadataAnImageHasPropertiesAllTheSame() throws {
        let properties = try registry.properties(of: Fixture("rgb-8.png").data())
        #expect(properties.info.size == PixelSize(width: 19, height: 13))
        #expect(properties.metadata == ImageMetadata() && properties.exif == nil)
        let made = ImageProperties(info: properties.info, metadata: CameraMetadata.metadata(), byteCount: 7)
        #expect(made.exif?.camera == "Leica" && made.byteCount == 7)
    }

    /// Reads PNG, but not its metadata.
    private struct Picky: OwnDecoder, MetadataDecoder {
        let failure: WebImageError
        var format: ImageFormat { .png }

        func info(of data: Data) throws(WebImageError) -> ImageInfo { try PNGDecoder().info(of: data) }
        func metadata(of data: Data) throws(WebImageError) -> ImageMetadata { throw failure }
        func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image { throw failure }
        func probe(_ prefix: Data) throws(WebImageError) -> ImageProbe? { nil }
        func animation(of data: Data, options: DecodingOptions) throws(WebImageError) -> (any AnimationSource)? { nil }
    }

    @Test func metadataThatCannotBeReadCountAsNone() throws {
        let data = try Fixture("rgb-8.png").data()
        let damaged = CodecRegistry(decoders: [Picky(failure: .decoding(format: .png, reason: .truncated))])
        #expect(try damaged.properties(of: data).metadata == ImageMetadata())
        let cancelled = CodecRegistry(decoders: [Picky(failure: .cancelled)])
        #expect(throws: WebImageError.cancelled) { try cancelled.properties(of: data) }
        #expect(throws: WebImageError.self) { try registry.properties(of: Data("no image".utf8)) }
    }
}
