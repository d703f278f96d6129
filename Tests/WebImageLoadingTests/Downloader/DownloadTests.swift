import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

/// What a server sends is what the caller gets.
@Suite struct DownloadTests {
    private let downloader = ImageDownloader.forTests()

    @Test(arguments: ["small.png", "medium.png", "large.png"])
    func deliversTheBytesOfAFile(name: String) async throws {
        let (nginx, files) = try (SharedServers.nginx.get(), SharedServers.files.get())
        let recording = downloader.record(try nginx.url("/" + name)).recording
        #expect(try await recording.body() == Data(contentsOf: files.url(name)))
        #expect(recording.isInOrder)
        #expect(recording.response?.statusCode == 200)
        #expect(recording.response?.headerValue("content-type") == "image/png")
    }
}
