import FoundationEssentials
import Testing
import WebImage
@testable import WebImageProcessing

@Suite(.timeLimit(.minutes(3))) struct PlaceholderTests {
    private let fixture: ManagerFixture
    private let request: WebImageRequest

    init() throws {
        fixture = try ManagerFixture()
        request = WebImageRequest(try ManagerFixture.url("a"), thumbnail: Thumbnail(.pixels(width: 6, height: 6)))
    }

    private func image(_ placeholder: Placeholder) throws -> Image? {
        try placeholder.image(for: request, manager: fixture.manager)
    }

    @Test func canBeAnImageOrAColor() throws {
        #expect(SolidPicture(3).matches(try #require(try image(.image(SolidPicture(3).image())))))
        let white = try #require(try image(.color(.white)))
        #expect(white.pixels[0, 0] == SIMD4(255, 255, 255, 255))
        #expect(throws: WebImageError.self) { try image(.color(Color(red: .nan, green: 0, blue: 0))) }
    }

    @Test func canBeMadeFromAHash() throws {
        let photo = NoisyPicture.image(side: 32)
        let blurHash = try BlurHash(of: photo).string
        #expect(try image(.blurHash(blurHash))?.pixels.size == PixelSize(width: 32, height: 32))
        let thumbHash = try ThumbHash(of: photo).base64
        #expect(try image(.thumbHash(thumbHash))?.pixels.size == PixelSize(width: 32, height: 32))
        #expect(throws: WebImageError.self) { try image(.blurHash("!")) }
    }

    @Test func canBeAnotherSizeInMemory() async throws {
        #expect(try image(.cachedVariant) == nil)
        let small = WebImageRequest(request.url, thumbnail: Thumbnail(.pixels(width: 4, height: 4)))
        _ = try await fixture.load(small, answeringWith: SolidPicture(5))
        let found = try #require(try image(.cachedVariant))
        #expect(found.pixels.size == PixelSize(width: 4, height: 3))
        var processed = request
        processed.processors = [ProbeProcessor(name: "a").erased]
        #expect(try Placeholder.cachedVariant.image(for: processed, manager: fixture.manager)?.isTransformed == false)
        fixture.cache.memory.removeAll()
        #expect(try image(.cachedVariant) == nil)
    }

    @Test func canBeMadeByAClosure() throws {
        let placeholder = Placeholder.closure { request in
            request.thumbnail?.size.width == 6 ? try? SolidPicture(8).image() : nil
        }
        #expect(SolidPicture(8).matches(try #require(try image(placeholder))))
        #expect(try placeholder.image(for: WebImageRequest(request.url), manager: fixture.manager) == nil)
    }
}
