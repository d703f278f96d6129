import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport

/// What is known of the file of a loaded image.
@Suite(.timeLimit(.minutes(1))) struct PropertiesTests {
    private let fixture: ManagerFixture
    private let data: Data
    private let request: WebImageRequest

    init() throws {
        fixture = try ManagerFixture()
        var options = EncodingOptions()
        // Little-endian: a directory with the model, "Rig".
        let exif =
            Data("II*\0".utf8) + [8, 0, 0, 0, 1, 0, 0x10, 1, 2, 0, 4, 0, 0, 0] + Data("Rig\0".utf8) + Data(count: 4)
        options.metadata = ImageMetadata(exif: exif, xmp: Data("<x:xmpmeta/>".utf8))
        data = try CodecRegistry().encode(SolidPicture(1).image(), as: .jpeg, options: options)
        request = WebImageRequest(try ManagerFixture.url("photo"), options: .waitForStore)
    }

    private var manager: WebImageManager { fixture.manager }

    @Test func theFileComesFromTheCache() async throws {
        let image = try await fixture.load(request, answeringWith: data).image
        var small = request
        small.thumbnail = Thumbnail(.pixels(width: 1, height: 1))
        for request in [request, small] {
            let properties = try await manager.properties(for: request)
            #expect(properties.info.size == image.pixels.size && properties.byteCount == data.count)
            #expect(properties.exif?.camera == "Rig" && properties.metadata.xmp != nil)
        }
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func errorsNameTheURL() async throws {
        _ = try await fixture.load(request, answeringWith: data)
        var other = request
        other.codecs = CodecRegistry(decoders: [])
        let error = await #expect(throws: WebImageError.self) { try await manager.properties(for: other) }
        #expect(error == .decoding(format: .jpeg, reason: .noDecoder, url: request.url))
        var missing = WebImageRequest(try ManagerFixture.url("missing"))
        missing.cachePolicy = .cacheOnly
        await #expect(throws: WebImageError.self) { try await manager.properties(for: missing) }
    }
}
