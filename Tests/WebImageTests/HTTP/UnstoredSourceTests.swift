import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport

/// Sources that no cache stores, such as files: each size is loaded by itself.
@Suite(.timeLimit(.minutes(3))) struct UnstoredSourceTests {
    private let fixture: ManagerFixture
    private let small: WebImageRequest
    private let large: WebImageRequest

    init() throws {
        fixture = try ManagerFixture(isCacheable: false)
        let url = try ManagerFixture.url("file")
        small = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 2)))
        large = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 4)))
    }

    @Test func imagesOfAllSizesStayInMemoryWhileTheBytesAreTheSame() async throws {
        _ = try await fixture.load(small, answeringWith: SolidPicture(1))
        _ = try await fixture.load(large, answeringWith: SolidPicture(1))
        #expect(fixture.manager.cachedImage(for: small) != nil)
        #expect(fixture.manager.cachedImage(for: large) != nil)
    }

    @Test func otherBytesReplaceImagesOfAllSizes() async throws {
        _ = try await fixture.load(small, answeringWith: SolidPicture(1))
        _ = try await fixture.load(large, answeringWith: SolidPicture(2))
        #expect(fixture.manager.cachedImage(for: small) == nil)
        #expect(SolidPicture(2).matches(try #require(fixture.manager.cachedImage(for: large))))
    }
}
