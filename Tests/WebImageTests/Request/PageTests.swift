import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport

/// Requests for one of several images in a file.
@Suite(.timeLimit(.minutes(1))) struct PageTests {
    private let fixture: ManagerFixture
    private let request: WebImageRequest

    init() throws {
        fixture = try ManagerFixture()
        request = WebImageRequest(try ManagerFixture.url("icon.ico"))
    }

    /// An icon with an image of 16 × 16 and one of 32 × 32.
    private func icon() throws -> Data {
        var options = EncodingOptions()
        options.iconSides = [16, 32]
        let image = try SolidPicture(5, size: PixelSize(width: 64, height: 64)).image()
        return try CodecRegistry.shared.encode(image, as: .ico, options: options)
    }

    @Test func eachPageIsAnImageOfItsOwn() async throws {
        let whole = try await fixture.load(request, answeringWith: icon())
        #expect(whole.image.pixels.size == PixelSize(width: 32, height: 32))
        for (page, side) in [16, 32].enumerated() {
            let response = try await fixture.manager.response(for: request.with { $0.page = page })
            #expect(response.image.pixels.size == PixelSize(width: side, height: side))
            #expect(response.origin == .diskCache)
        }
        #expect(fixture.manager.cachedImage(for: request.with { $0.page = 0 })?.width == 16)
        #expect(fixture.manager.cachedImage(for: request)?.width == 32)
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func aMissingPageIsAnError() async throws {
        _ = try await fixture.load(request, answeringWith: icon())
        let missing = request.with { $0.page = 2 }
        let error = await #expect(throws: WebImageError.self) { try await fixture.manager.response(for: missing) }
        guard case .decoding(.ico, .page(2, count: 2), _)? = error else {
            Issue.record("\(error.map { "\($0)" } ?? "no error")")
            return
        }
        #expect(try await fixture.manager.response(for: request).image.width == 32, "the file is still there")
    }
}
