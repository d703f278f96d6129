import FoundationEssentials
import Testing
@testable import WebImage
import WebImageTestSupport
@testable import WebImageProcessing

/// Options that say opposite things: which goes first, as `WebImageOptions` has it. Those that give a priority or a
/// policy are in OptionPropertyTests, those of the block list in BlockListTests, those of views in PictureOptionsTests.
@Suite(.timeLimit(.minutes(1))) struct OptionConflictTests {
    private let fixture: ManagerFixture
    private let url: URL

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("a")
    }

    @Test(arguments: [
        WebImageOptions.progressive, .progressiveBlur, .progressiveThumbnail, .firstFrameOnly, .preloadAllFrames,
    ])
    func ignoreDecodingTakesPrecedence(_ other: WebImageOptions) async throws {
        let decoder = ProbeDecoder()
        let fixture = try ManagerFixture(decoder: decoder) {
            $0.optionsProcessor = { $0.decodedByteLimit = 4 }
            $0.previewInterval = .zero
        }
        let processor = ProbeProcessor(name: "a")
        let request = WebImageRequest(url, options: [.ignoreDecoding, other], processors: [processor.erased])
        #expect(fixture.manager.cacheKey(for: request) == WebImageRequest(url).cacheKey)
        let (previews, results) = (LockBox(0), Results())
        fixture.manager.load(
            request, preview: { _ in previews.withLock { $0 += 1 } }, completion: results.note)
        let picture = try CodecRegistry.shared.encode(NoisyPicture.image(side: 64), as: .png)
        try await fixture.nextLoad().answer(picture, pieceCount: 8)
        let response = try await results.wait(for: 1)[0].get()
        #expect(response.data == picture)
        #expect(response.image.isPartial && response.image.pixels.size == PixelSize(width: 1, height: 1))
        #expect(previews.withLock { $0 } == 0)
        #expect((decoder.decodeCount, processor.runCount) == (0, 0))
    }

    @Test(arguments: [WebImageOptions.preloadAllFrames, .matchAnimatedKind])
    func firstFrameOnlyTakesPrecedence(_ other: WebImageOptions) async throws {
        let fixture = try ManagerFixture {
            $0.optionsProcessor = { $0.transformsAnimations = $0.transformsAnimations ?? false }
        }
        var request = WebImageRequest(
            url, options: [.firstFrameOnly, other], processors: [ProbeProcessor(name: "a", red: 5).erased])
        request.transformsAnimations = true
        let image = try await fixture.load(request, answeringWith: TestAnimation.gif([10, 20])).image
        #expect(image.animation == nil)
        #expect(image.pixels[0, 0].x == 15)
        // From memory, too.
        let plain = WebImageRequest(url, options: [.firstFrameOnly, other])
        _ = try await fixture.manager.image(for: WebImageRequest(url))
        let still = try #require(fixture.manager.cachedImage(for: plain))
        #expect(still.animation == nil)
    }

    @Test(arguments: [WebImageOptions.queryDiskSync, .queryMemoryData, [.queryMemoryData, .queryDiskSync]])
    func noAccessToDiskTakesPrecedence(_ other: WebImageOptions) async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        fixture.cache.memory.removeAll()
        let request = WebImageRequest(url, options: other).withoutDisk
        #expect(fixture.blockingCachedImage(for: request) == nil)
        #expect(try await fixture.load(request, answeringWith: SolidPicture(2)).origin == .remote)
        let results = Results()
        fixture.manager.load(request, completion: results.note)
        let hit = try await results.wait(for: 1)[0].get()
        #expect(hit.origin == .memoryCache)
        #expect(hit.data == nil)
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.data(for: request.cacheKey.source) == (try SolidPicture(1).png()))
    }

    @Test func cacheOnlyWithoutDiskUsesMemory() async throws {
        let request = WebImageRequest(url, cachePolicy: .cacheOnly).withoutDisk
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        #expect(try await fixture.manager.response(for: request).origin == .memoryCache)
        fixture.cache.memory.removeAll()
        await #expect(throws: WebImageError.notInCache(key: request.cacheKey.source)) {
            try await fixture.manager.image(for: request)
        }
    }
}
