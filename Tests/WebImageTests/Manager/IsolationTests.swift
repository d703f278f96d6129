import FoundationEssentials
import Testing
import WebImageCoding
import WebImageCore
import WebImageIsolation

@testable import WebImage

/// Managers have images decoded in other processes, as their policy says.
@Suite(.timeLimit(.minutes(2))) struct IsolationTests {
    private func configuration(_ policy: IsolationPolicy, path: String?) -> WebImageManager.Configuration {
        var configuration = WebImageManager.Configuration(cache: ImageCache(disk: nil))
        var processes = IsolatedDecoding.Configuration()
        processes.path = path
        configuration.isolatedDecoding = IsolatedDecoding(configuration: processes)
        configuration.isolation = policy
        return configuration
    }

    private func imageURL() throws -> URL {
        var pixels = try MutablePixelBuffer(width: 9, height: 9)
        pixels.clear()
        let file = try CodecRegistry.shared.encode(Image(pixels: pixels.freeze(isOpaque: false)), as: .png)
        return try #require(URL(string: "data:image/png;base64,\(file.base64EncodedString())"))
    }

    @Test func aManagerDecodesInAnotherProcess() async throws {
        let configuration = configuration(.allFormats, path: nil)
        let manager = WebImageManager(configuration: configuration)
        let image = try await manager.image(at: imageURL())
        #expect(image.pixels.size == PixelSize(width: 9, height: 9))
        let counters = configuration.isolatedDecoding.blockingStatus.counters
        #expect(counters.imageCount == 1)
    }

    @Test func theDefaultIsolatesOnlyFormatsOfLibraries() async throws {
        let configuration = configuration(.libraryFormats, path: nil)
        let manager = WebImageManager(configuration: configuration)
        _ = try await manager.image(at: imageURL())
        #expect(configuration.isolatedDecoding.blockingStatus.counters.imageCount == 0)
        #expect(WebImageManager.Configuration().isolation == .libraryFormats)
        #expect(WebImageManager.Configuration.server.isolation == .allFormats)
    }

    @Test func withoutAProcessItDecodesNothing() async throws {
        let url = try imageURL()
        let manager = WebImageManager(configuration: configuration(.allFormats, path: "/nowhere/webimage-decoder"))
        let error = await #expect(throws: WebImageError.self) { try await manager.image(at: url) }
        guard case .isolation(.png, .unavailable, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(manager.blockedURLs.isEmpty)
    }
}
