import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage
@testable import WebImageProcessing

/// Previews that are the thumbnail in a file's EXIF data.
@Suite(.timeLimit(.minutes(1))) struct ThumbnailPreviewTests {
    private let fixture: ManagerFixture
    private let url: URL

    init() throws {
        fixture = try ManagerFixture { $0.previewInterval = .zero }
        url = try ManagerFixture.url("a")
    }

    /// A turned photograph of 96 × 64 pixels as stored, with a thumbnail of 24 × 16.
    private func photograph(thumbnailHeight: Int = 16) throws -> Data {
        func jpeg(_ width: Int, _ height: Int) throws -> Data {
            let area = PixelRect(x: 0, y: 0, width: width, height: height)
            let noise = try #require(try NoisyPicture.image(side: 96).pixels.cropped(to: area))
            return try CodecRegistry.shared.encode(
                Image(pixels: noise), as: .jpeg, options: EncodingOptions(isProgressive: false))
        }
        return PhotographFile.file(try jpeg(96, 64), orientation: 6, thumbnail: try jpeg(24, thumbnailHeight))
    }

    @Test func theThumbnailIsShownBeforeTheImage() async throws {
        let request = WebImageRequest(url, options: .progressiveThumbnail)
        let (previews, _) = try await fixture.previews(of: photograph(), parts: [0.6], request)
        #expect(previews.map(\.pixels.size) == [PixelSize(width: 16, height: 24)], "upright, and no rows")
        #expect(previews.allSatisfy { $0.isPartial })
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url))?.pixels.size == PixelSize(width: 64, height: 96))
    }

    @Test func rowsFollowIt() async throws {
        let request = WebImageRequest(url, options: [.progressive, .progressiveThumbnail])
        let (previews, _) = try await fixture.previews(of: photograph(), parts: [0.6, 0.8], request)
        #expect(previews.map(\.width).prefix(2) == [16, 64])
    }

    @Test func withoutAUsableThumbnailOnlyRowsAreShown() async throws {
        let request = WebImageRequest(url, options: [.progressive, .progressiveThumbnail])
        let (previews, _) = try await fixture.previews(of: photograph(thumbnailHeight: 24), parts: [0.8], request)
        #expect(previews.map(\.width).first == 64)
    }

    @Test func withoutTheOptionItIsNotShown() async throws {
        let (previews, _) = try await fixture.previews(
            of: photograph(), parts: [0.8], WebImageRequest(url, options: .progressive))
        #expect(previews.allSatisfy { $0.width == 64 })
    }

    @Test func itIsScaledAndProcessedLikeTheImage() async throws {
        let request = WebImageRequest(
            url, options: .progressiveThumbnail, thumbnail: Thumbnail(.pixels(width: 8)),
            processors: [ProbeProcessor(name: "a").erased])
        let (previews, _) = try await fixture.previews(of: photograph(), parts: [0.6], request)
        #expect(previews[0].pixels.size == PixelSize(width: 8, height: 12))
        #expect(previews[0].isTransformed)
    }
}
