import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage
@testable import WebImageCoding
@testable import WebImageProcessing

/// The use of one size of an image for another.
@Suite(.timeLimit(.minutes(1))) struct ReuseTests {
    private let fixture: ManagerFixture
    private let decoder: ProbeDecoder
    private let url: URL

    init() throws {
        decoder = ProbeDecoder()
        fixture = try ManagerFixture(decoder: decoder)
        url = try ManagerFixture.url("a")
    }

    private func request(
        _ width: Int, _ height: Int, _ mode: ResizeMode = .aspectFit, options: WebImageOptions = [],
        cachePolicy: CachePolicy = .cacheFirst
    ) -> WebImageRequest {
        WebImageRequest(
            url, options: options, cachePolicy: cachePolicy,
            thumbnail: Thumbnail(.pixels(width: width, height: height), mode: mode))
    }

    private let picture = SolidPicture(7, size: PixelSize(width: 80, height: 60))

    @Test func theFullImageServesEverySize() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: picture)
        for (wanted, size) in [
            (request(20, 20), PixelSize(width: 20, height: 15)),
            (request(20, 20, .aspectFill), PixelSize(width: 27, height: 20)),
            (request(10, 30, .stretch), PixelSize(width: 10, height: 30)),
            (request(200, 200), PixelSize(width: 80, height: 60)),
        ] {
            let response = try await fixture.manager.response(for: wanted)
            #expect(response.origin == .memoryCache)
            #expect(response.image.pixels.size == size)
            #expect(response.image.isThumbnail == (size != picture.size))
            #expect(response.data == nil)
            #expect(picture.matches(response.image))
            #expect(fixture.manager.cachedImage(for: wanted) != nil, "it is kept under its own key")
        }
        #expect(decoder.decodeCount == 1)
        #expect(fixture.manager.counters.reusedVariants == 4)
    }

    @Test func aLargerThumbnailServesASmallerOne() async throws {
        _ = try await fixture.load(request(40, 40), answeringWith: picture)
        let response = try await fixture.manager.response(for: request(20, 20))
        #expect(response.image.pixels.size == PixelSize(width: 20, height: 15))
        #expect(response.image.isThumbnail)
        #expect(decoder.decodeCount == 1)
        #expect(
            try await fixture.manager.response(for: request(20, 20, cachePolicy: .cacheOnly)).origin == .memoryCache)
    }

    @Test func aSmallerThumbnailIsThePreviewOfALargerOne() async throws {
        _ = try await fixture.load(request(20, 20), answeringWith: picture)
        let previews = LockBox<[PixelSize]>([])
        let results = Results()
        fixture.manager.load(
            request(40, 40), preview: { image in previews.withLock { $0.append(image.pixels.size) } },
            completion: results.note)
        let image = try await results.wait(for: 1)[0].get().image
        #expect(image.pixels.size == PixelSize(width: 40, height: 30))
        #expect(previews.withLock { $0 } == [PixelSize(width: 20, height: 15)])
        #expect(decoder.decodeCount == 2)
    }

    @Test func aStretchedThumbnailIsNotReused() async throws {
        // Of sides long enough to tell proportions, though wrong ones.
        let stretched = try await fixture.load(request(40, 20, .stretch), answeringWith: picture)
        #expect(stretched.image.pixels.size == PixelSize(width: 40, height: 20))
        let response = try await fixture.manager.response(for: request(20, 20))
        #expect(response.origin == .diskCache)
        #expect(response.image.pixels.size == PixelSize(width: 20, height: 15))
        #expect(fixture.manager.counters.reusedVariants == 0)
    }

    @Test func processorsContinueFromTheReusedSize() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: picture)
        var wanted = request(20, 20)
        wanted.processors = [ProbeProcessor(name: "a", red: 2).erased]
        let response = try await fixture.manager.response(for: wanted)
        #expect(response.image.pixels[0, 0].x == 9)
        #expect(response.image.pixels.size == PixelSize(width: 20, height: 15))
        #expect(decoder.decodeCount == 1)
        // A processed image is not used for other requests.
        fixture.cache.memory.remove(for: WebImageRequest(url).cacheKey)
        fixture.cache.memory.remove(for: request(20, 20).cacheKey)
        #expect(try await fixture.manager.response(for: request(10, 10)).origin == .diskCache)
    }

    @Test func aFirstFrameIsNoAnimation() async throws {
        let gif = try TestAnimation.gif([10, 20])
        _ = try await fixture.load(WebImageRequest(url, options: .firstFrameOnly), answeringWith: gif)
        #expect(try await fixture.manager.response(for: request(4, 4)).image.frameCount == 2)
        let still = try await fixture.manager.response(for: request(4, 4, options: .firstFrameOnly))
        #expect(still.image.frameCount == 1)
    }

    @Test func reuseIsSkippedForReloadsAndWhenTurnedOff() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: picture)
        let reloaded = try await fixture.load(request(20, 20, cachePolicy: .reload), answeringWith: picture)
        #expect(reloaded.origin == .remote)
        let other = try ManagerFixture { $0.reusesVariants = false }
        _ = try await other.load(WebImageRequest(url), answeringWith: picture)
        #expect(try await other.manager.response(for: request(20, 20)).origin == .diskCache)
    }

    @Test func removedImagesAreNotReused() async throws {
        _ = try await fixture.load(request(40, 40), answeringWith: picture)
        fixture.cache.memory.removeAll()
        #expect(try await fixture.manager.response(for: request(20, 20)).origin == .diskCache)
        #expect(fixture.manager.cachedVariant(of: request(80, 80))?.pixels.size == PixelSize(width: 20, height: 15))
    }

    @Test func theFailureOfOneVariantAffectsNoOther() async throws {
        let (good, bad) = (Results(), Results())
        var failing = request(20, 20)
        failing.processors = [ProbeProcessor(name: "bad", failure: .emptyResult).erased]
        var refused = request(40, 40)
        refused.decodingLimits = DecodingLimits(pixelCount: 10)
        fixture.manager.load(failing, completion: bad.note)
        fixture.manager.load(refused, completion: bad.note)
        fixture.manager.load(request(20, 20), completion: good.note)
        fixture.manager.load(WebImageRequest(url), completion: good.note)
        try await fixture.nextLoad().answer(picture.png())
        #expect(await bad.wait(for: 2).count == 2)
        #expect(bad.errors.count == 2)
        for result in await good.wait(for: 2) { #expect(picture.matches(try result.get().image)) }
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func theIndexIsBounded() {
        let index = VariantIndex()
        func entry(_ source: String, _ variant: String) -> VariantIndex.Entry {
            VariantIndex.Entry(
                key: ImageCacheKey(source: source, variant: variant), size: picture.size, isWhole: false,
                isStretched: false,
                isFirstFrame: false)
        }
        for number in 0..<20 { index.note(entry("a", "\(number)")) }
        #expect(index.entries(of: "a").map(\.key.variant) == (12..<20).map { "\($0)" })
        index.note(entry("a", "15"))
        #expect(index.entries(of: "a").count == 8)
        for entry in index.entries(of: "a") { index.forget(entry) }
        #expect(index.entries(of: "a").isEmpty)
    }

    @Test func anImageStoredForOneSizeIsNotTheFullImage() async throws {
        _ = try await fixture.load(request(40, 40), answeringWith: picture)
        let own = SolidPicture(9, size: PixelSize(width: 40, height: 30))
        fixture.manager.store(try own.image(), for: request(40, 40))
        let whole = try await fixture.manager.response(for: WebImageRequest(url))
        #expect(picture.matches(whole.image))
        #expect(whole.image.pixels.size == picture.size)
    }

    @Test func anImageTheAppStoresServesEverySize() async throws {
        let fixture = try ManagerFixture(hasDisk: false)
        fixture.manager.store(try picture.image(), for: WebImageRequest(url))
        let response = try await fixture.manager.response(for: request(20, 20, cachePolicy: .cacheOnly))
        #expect(response.image.pixels.size == PixelSize(width: 20, height: 15))
    }

    @Test func theCachedVariantIsTheLargestOne() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: picture)
        _ = try await fixture.manager.response(for: request(20, 20))
        for wanted in [WebImageRequest(url), request(20, 20), request(5, 5)] {
            #expect(fixture.manager.cachedVariant(of: wanted)?.pixels.size == picture.size)
        }
    }

    @Test func aThinThumbnailDoesNotDetermineTheProportions() async throws {
        let thin = SolidPicture(7, size: PixelSize(width: 1000, height: 10))
        _ = try await fixture.load(request(4, 4), answeringWith: thin)
        let wanted = request(2, 1, .aspectFill)
        #expect(try await fixture.manager.response(for: wanted).image.pixels.size == PixelSize(width: 100, height: 1))
    }

    @Test func theIndexKeepsTheLatestSources() {
        let index = VariantIndex()
        for number in 0..<30_000 {
            index.note(
                VariantIndex.Entry(
                    key: ImageCacheKey(source: "\(number)", variant: "a"), size: picture.size, isWhole: false,
                    isStretched: false,
                    isFirstFrame: false))
        }
        #expect((25_000..<30_000).allSatisfy { !index.entries(of: "\($0)").isEmpty })
    }
}
