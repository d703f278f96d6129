import Foundation
import Testing
import WebImage

/// A program that imports nothing but WebImage reads and writes the formats that `webimage-decoder` has.
@Suite(.timeLimit(.minutes(2))) struct LibraryFormatIsolationTests {
    #if WEBIMAGE_FORMATS
        private let drawing =
            "<svg xmlns='http://www.w3.org/2000/svg' width='24' height='16'><rect width='24' height='16' fill='#06c'/></svg>"

        @Test func importingWebImageSuffices() async throws {
            let image = try CodecRegistry.shared.decode(Data(drawing.utf8))
            #expect(image.format == .svg && image.pixels.size == PixelSize(width: 24, height: 16))
            let file = try CodecRegistry.shared.encode(image, as: .avif, options: EncodingOptions(isLossless: true))
            #expect(try CodecRegistry.shared.info(of: file).format == .avif)
            let url = try #require(URL(string: "data:image/avif;base64,\(file.base64EncodedString())"))
            let manager = WebImageManager(configuration: .init(cache: ImageCache(disk: nil)))
            let loaded = try await manager.image(at: url)
            #expect(loaded.format == .avif && loaded.pixels.size == image.pixels.size)
            #expect(IsolatedDecoding.shared.blockingStatus.counters.imageCount >= 3)
        }

        @Test func withoutTheProgramTheErrorSaysWhatToAdd() throws {
            var configuration = IsolatedDecoding.Configuration()
            configuration.path = "/nowhere/webimage-decoder"
            let registry = CodecRegistry.shared.isolated(
                by: .libraryFormats, in: IsolatedDecoding(configuration: configuration))
            let error = try #require(throws: WebImageError.self) { try registry.decode(Data(drawing.utf8)) }
            guard case .isolation(.svg, .unavailable, _) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(error.description.contains("/nowhere/webimage-decoder cannot be executed"))
            #expect(error.description.contains(#".product(name: "webimage-decoder", package: "swift-web-image")"#))
        }
    #endif
}
