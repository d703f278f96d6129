import FoundationEssentials
import Testing
@testable import WebImage
import WebImageTestSupport
import WebImageTesting
@testable import WebImageProcessing
@testable import WebImageLoading

/// Each option where it acts. Those that only give another property its value are in OptionPropertyTests, those of
/// previews in PreviewTests, those of the block list in BlockListTests.
@Suite(.timeLimit(.minutes(1))) struct OptionTests {
    let fixture: ManagerFixture
    let url: URL

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("a")
    }

    private func storedBytes(of request: WebImageRequest) async -> Data? {
        await fixture.cache.disk?.flush()
        return await fixture.cache.disk?.data(for: request.cacheKey.source)
    }

    // MARK: Who answers

    @Test func memoryOnlyWritesNothingToTheDisk() async throws {
        let request = WebImageRequest(url).withoutStoringOnDisk
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        #expect(await storedBytes(of: request) == nil)
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) != nil)
    }

    @Test func memoryOnlyLeavesTheDiskUnchanged() async throws {
        async let first = fixture.manager.response(for: WebImageRequest(url, cachePolicy: .http))
        try await fixture.nextLoad().answer(SolidPicture(1), "Cache-Control: max-age=10\nETag: \"1\"")
        _ = try await first
        let key = WebImageRequest(url).cacheKey.description
        await fixture.cache.disk?.flush()
        let before = await fixture.cache.disk?.entry(for: key)?.responseMetadata
        fixture.time.advance(seconds: 20)
        let request = WebImageRequest(url, cachePolicy: .http).withoutStoringOnDisk
        async let second = fixture.manager.response(for: request)
        try await fixture.nextLoad().confirm("Cache-Control: max-age=100")
        _ = try await second
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.entry(for: key)?.responseMetadata == before)
        #expect(fixture.manager.cachedImage(for: request) != nil, "memory knows that it is fresh again")
    }

    @Test func memoryOnlyStillReadsTheDisk() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        fixture.cache.memory.removeAll()
        let request = WebImageRequest(url).withoutStoringOnDisk
        #expect(try await fixture.manager.response(for: request).origin == .diskCache)
    }

    @Test func ignoreDiskCacheNeitherReadsNorWrites() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        fixture.cache.memory.removeAll()
        let request = WebImageRequest(url).withoutDisk
        let response = try await fixture.load(request, answeringWith: SolidPicture(2))
        #expect(response.origin == .remote)
        #expect(await storedBytes(of: request) == (try SolidPicture(1).png()))
    }

    @Test func cacheOnlyLoadsNothing() async throws {
        let request = WebImageRequest(url, cachePolicy: .cacheOnly)
        await #expect(throws: WebImageError.notInCache(key: request.cacheKey.source)) {
            try await fixture.load(request, answeringWith: SolidPicture(1))
        }
        #expect(fixture.loader.loadCount == 0)
    }

    @Test func loaderOnlyAsksTheLoaderDespiteACachedImage() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        let request = WebImageRequest(url, cachePolicy: .reload)
        let before = fixture.cache.memory.statistics
        #expect(SolidPicture(2).matches(try await fixture.load(request, answeringWith: SolidPicture(2)).image))
        let after = fixture.cache.memory.statistics
        #expect(after.hitCount == before.hitCount && after.missCount == before.missCount, "it is not looked for")
        #expect(
            SolidPicture(2).matches(try #require(fixture.manager.cachedImage(for: WebImageRequest(url)))),
            "it is stored")
    }

    @Test func refreshCacheRevalidatesWithTheServer() async throws {
        _ = try await fixture.load(WebImageRequest(url)) { try $0.answer(SolidPicture(1), "ETag: \"1\"") }
        let request = WebImageRequest(url, cachePolicy: .refresh)
        let confirmed = try await fixture.load(request) { load in
            #expect(load.request.headers["If-None-Match"] == "\"1\"")
            load.confirm()
        }
        #expect(SolidPicture(1).matches(confirmed.image))
        let changed = try await fixture.load(request) { try $0.answer(SolidPicture(2), "ETag: \"2\"") }
        #expect(SolidPicture(2).matches(changed.image))
        #expect(
            SolidPicture(2).matches(try #require(fixture.manager.cachedImage(for: WebImageRequest(url)))),
            "it is stored")
    }

    @Test func httpCacheServesForTheLifetimeTheServerSets() async throws {
        let request = WebImageRequest(url, cachePolicy: .http)
        _ = try await fixture.load(request) { try $0.answer(SolidPicture(1), "Cache-Control: max-age=60") }
        fixture.time.advance(seconds: 59)
        #expect(try await fixture.manager.response(for: request).origin == .memoryCache)
        fixture.time.advance(seconds: 2)
        let later = try await fixture.load(request) { try $0.answer(SolidPicture(2), "Cache-Control: max-age=60") }
        #expect(SolidPicture(2).matches(later.image))
    }

    @Test(arguments: [WebImageOptions.queryMemoryData, [.queryMemoryData, .queryDiskSync]])
    func queryMemoryDataReturnsTheBytesOfMemoryHits(options: WebImageOptions) async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        #expect(try await fixture.manager.response(for: WebImageRequest(url)).data == nil)
        let request = WebImageRequest(url, options: options)
        let response = try await fixture.manager.response(for: request)
        #expect(response.origin == .memoryCache)
        #expect(response.data == (try SolidPicture(1).png()))
        // With callbacks, in whatever way they are fetched.
        let results = Results()
        fixture.manager.load(request, completion: results.note)
        #expect(try await results.wait(for: 1)[0].get().data == SolidPicture(1).png())
    }

    @Test func queryMemoryDataWithQueryDiskSyncReturnsBytesWithinTheCall() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        let (queue, results) = (ManualCallbackQueue(), Results())
        let request = WebImageRequest(url, options: [.queryMemoryData, .queryDiskSync])
        fixture.manager.load(request, callbackQueue: queue, completion: results.note)
        queue.runAll()
        #expect(try results.all.first?.get().data == SolidPicture(1).png())
    }

    @Test func queryDiskSyncAnswersWithinTheCall() async throws {
        let thumbnail = Thumbnail(.pixels(width: 4, height: 4))
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        fixture.cache.memory.removeAll()
        let plain = WebImageRequest(url, thumbnail: thumbnail, processors: [ProbeProcessor(name: "a", red: 2).erased])
        #expect(fixture.manager.cachedImage(for: plain) == nil)
        var request = plain
        request.options = .queryDiskSync
        let (queue, results) = (ManualCallbackQueue(), Results())
        fixture.manager.load(request, callbackQueue: queue, completion: results.note)
        queue.runAll()
        let response = try #require(try results.all.first?.get())
        #expect(response.origin == .diskCache)
        #expect(response.image.pixels[0, 0].x == 3)
        #expect(response.image.pixels.size == PixelSize(width: 4, height: 3))
        #expect(fixture.manager.cachedImage(for: plain) != nil, "memory has it now")
        // A miss is loaded as ever.
        let other = WebImageRequest(try ManagerFixture.url("other"), options: .queryDiskSync)
        #expect(try await fixture.load(other, answeringWith: SolidPicture(5)).origin == .remote)
    }

    @Test func aCachedImageIsInMemoryAndABlockingOneOnDiskToo() async throws {
        let request = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 4, height: 4)))
        #expect(fixture.blockingCachedImage(for: request) == nil)
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        fixture.cache.memory.removeAll()
        for options in [[], WebImageOptions.queryDiskSync] {
            #expect(fixture.manager.cachedImage(for: request.with { $0.options = options }) == nil)
        }
        let image = try #require(fixture.blockingCachedImage(for: request))
        #expect(image.pixels.size == PixelSize(width: 4, height: 3))
        #expect(fixture.manager.cachedImage(for: request)?.pixels === image.pixels, "memory has it now")
        #expect(fixture.blockingCachedImage(for: request.with { $0.cachePolicy = .reload }) == nil)
    }

    @Test func queryDiskSyncPreloadsFramesToo() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: TestAnimation.gif([10, 20, 30]))
        fixture.cache.memory.removeAll()
        let request = WebImageRequest(url, options: [.queryDiskSync, .preloadAllFrames])
        let (queue, results) = (ManualCallbackQueue(), Results())
        fixture.manager.load(request, callbackQueue: queue, completion: results.note)
        queue.runAll()
        let image = try #require(try results.all.first?.get().image)
        #expect(try #require(image.animation).byteCount >= 3 * image.pixels.byteCount)
    }

    @Test func matchAnimatedKindTakesNoStillForAnAnimation() async throws {
        let cache = ImageCache(
            memory: MemoryCache(costLimit: 1 << 20), disk: nil,
            configuration: {
                var configuration = ImageCache.Configuration()
                configuration.allowsAnimated = false
                return configuration
            }())
        let fixture = try ManagerFixture { $0.cache = cache }
        let gif = try TestAnimation.gif([10, 20, 30])
        _ = try await fixture.load(WebImageRequest(url), answeringWith: gif)
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url))?.frameCount == 1)
        let request = WebImageRequest(url, options: .matchAnimatedKind)
        #expect(fixture.manager.cachedImage(for: request) == nil)
        #expect(try await fixture.load(request, answeringWith: gif).image.frameCount == 3)
    }

    // MARK: How it is loaded

    @Test func loaderPropertiesReachTheLoader() async throws {
        let changed = WebImageRequest(url).with { request in
            request.handlesCookies = true
            request.usesCredentialStorage = true
            request.allowsInvalidCertificates = true
        }
        fixture.manager.load(changed) { _ in }
        let request = try await fixture.nextLoad().request
        #expect(request.handlesCookies && request.usesCredentialStorage && request.allowsInvalidCertificates)
        fixture.manager.load(WebImageRequest(try ManagerFixture.url("b"))) { _ in }
        let plain = try await fixture.nextLoad().request
        #expect(!plain.handlesCookies && !plain.usesCredentialStorage && !plain.allowsInvalidCertificates)
        fixture.manager.cancelAll()
    }

    @Test func showNetworkActivityCountsTheLoad() async throws {
        let activity = NetworkActivity()
        let fixture = try ManagerFixture { $0.networkActivity = activity }
        let results = Results()
        fixture.manager.load(WebImageRequest(url), completion: results.note)
        let silent = try await fixture.nextLoad()
        #expect(activity.count == 0)
        fixture.manager.load(
            WebImageRequest(try ManagerFixture.url("b"), options: .showNetworkActivity), completion: results.note)
        let shown = try await fixture.nextLoad()
        #expect(activity.count == 1)
        try silent.answer(SolidPicture(1).png())
        try shown.answer(SolidPicture(1).png())
        _ = await results.wait(for: 2)
        #expect(activity.count == 0)
        // Nothing from memory counts, nor a load that is over at once.
        fixture.manager.load(WebImageRequest(url, options: .showNetworkActivity), completion: results.note)
        #expect(activity.count == 0)
        _ = await results.wait(for: 3)
    }

    @Test func showNetworkActivityCountsNothingFromDisk() async throws {
        // Each change would be waiting to settle: this clock stands still.
        let activity = NetworkActivity(clock: ManualClock())
        let changes = activity.changes()
        defer { withExtendedLifetime(changes) {} }
        let fixture = try ManagerFixture { $0.networkActivity = activity }
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        await fixture.cache.disk?.flush()
        fixture.cache.memory.removeAll()
        let response = try await fixture.manager.response(for: WebImageRequest(url, options: .showNetworkActivity))
        #expect(response.origin == .diskCache)
        #expect(activity.count == 0 && !activity.isSettling)
    }

    @Test func showNetworkActivityCountsASharedTransferOnce() async throws {
        let activity = NetworkActivity()
        let fixture = try ManagerFixture { $0.networkActivity = activity }
        let results = Results()
        fixture.manager.load(WebImageRequest(url), completion: results.note)
        let load = try await fixture.nextLoad()
        #expect(activity.count == 0)
        // They join a transfer that has begun.
        let operation = fixture.manager.load(
            WebImageRequest(url, options: .showNetworkActivity), completion: results.note)
        fixture.manager.load(
            WebImageRequest(url, options: .showNetworkActivity, processors: [ProbeProcessor(name: "a", red: 5).erased]),
            completion: results.note)
        #expect(activity.count == 1)
        operation.cancel()
        #expect(activity.count == 1)
        try load.answer(SolidPicture(1).png())
        _ = await results.wait(for: 3)
        #expect(activity.count == 0)
    }

    @Test func showNetworkActivityEndsWithACancelledTransfer() async throws {
        let activity = NetworkActivity()
        let fixture = try ManagerFixture { $0.networkActivity = activity }
        let results = Results()
        let operation = fixture.manager.load(
            WebImageRequest(url, options: .showNetworkActivity), completion: results.note)
        let load = try await fixture.nextLoad()
        operation.cancel()
        _ = await load.cancellations.first { _ in true }
        #expect(activity.count == 0)
    }

    @Test func showNetworkActivityCountsNothingWithoutAServer() async throws {
        // A change of its count settles when the clock goes on.
        let clock = ManualClock()
        let activity = NetworkActivity(clock: clock)
        let changes = activity.changes()
        defer { withExtendedLifetime(changes) {} }
        let fixture = try ManagerFixture { $0.networkActivity = activity }
        for policy in [CachePolicy.cacheOnly, .offline] {
            let request = WebImageRequest(url, options: .showNetworkActivity, cachePolicy: policy)
            await #expect(throws: WebImageError.self) { try await fixture.manager.image(for: request) }
            #expect(!activity.isSettling)
        }
        fixture.manager.load(WebImageRequest(url, options: .showNetworkActivity, cachePolicy: .http)) { _ in }
        _ = try await fixture.nextLoad()
        #expect(activity.isSettling)
        #expect(activity.count == 1)
        fixture.manager.cancelAll()
        try await clock.waitForSleepers()
        clock.advance(by: NetworkActivity.settlingTime)
    }

    @Test func continueInBackgroundRequestsTimeAndReturnsIt() async throws {
        let expirations = LockBox<[@Sendable () -> Void]>([])
        let ended = Countdown()
        let fixture = try ManagerFixture { configuration in
            configuration.beginBackgroundTask = { onExpiration in
                expirations.withLock { $0.append(onExpiration) }
                return { ended.signal() }
            }
        }
        fixture.manager.load(WebImageRequest(try ManagerFixture.url("b"))) { _ in }
        #expect(expirations.withLock { $0.isEmpty })
        let results = Results()
        fixture.manager.load(WebImageRequest(url, options: .continueInBackground), completion: results.note)
        let expire = try #require(expirations.withLock { $0.first })
        expire()
        _ = await results.wait(for: 1)
        #expect(results.errors == [.cancelled])
        try await ended.wait()
        fixture.manager.cancelAll()
    }

    @Test func prioritiesReachTheLoader() async throws {
        fixture.manager.load(WebImageRequest(url, priority: .low)) { _ in }
        #expect(try await fixture.nextLoad().initialPriority == .low)
        fixture.manager.load(WebImageRequest(try ManagerFixture.url("b"), priority: .high)) { _ in }
        #expect(try await fixture.nextLoad().initialPriority == .high)
        fixture.manager.cancelAll()
    }

    // MARK: What is made of the bytes

    @Test func ignoreDecodingReturnsOnlyTheBytes() async throws {
        let decoder = ProbeDecoder()
        let fixture = try ManagerFixture(decoder: decoder)
        let request = WebImageRequest(
            url, options: .ignoreDecoding, thumbnail: Thumbnail(.pixels(width: 2, height: 2)),
            processors: [ProbeProcessor(name: "a").erased])
        let response = try await fixture.load(request, answeringWith: SolidPicture(1))
        #expect(response.data == (try SolidPicture(1).png()))
        #expect(response.info?.size == PixelSize(width: 8, height: 6))
        #expect(response.image.isPartial)
        #expect(response.image.pixels.size == PixelSize(width: 1, height: 1))
        #expect(decoder.decodeCount == 0)
        #expect(fixture.manager.cachedImage(for: request) == nil)
        // They are on disk, and a request for the image decodes those.
        let picture = try await fixture.manager.response(for: WebImageRequest(url))
        #expect(picture.origin == .diskCache)
        #expect(SolidPicture(1).matches(picture.image))
    }

    @Test func avoidForcedDecodeStoresNothingInMemory() async throws {
        let request = WebImageRequest(url, options: .avoidForcedDecode)
        let first = try await fixture.load(request, answeringWith: SolidPicture(1))
        #expect(SolidPicture(1).matches(first.image))
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) == nil)
        let second = try await fixture.manager.response(for: request)
        #expect(second.origin == .diskCache)
        #expect(SolidPicture(1).matches(second.image))
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) == nil)
        // Images that other requests store there are found.
        _ = try await fixture.manager.response(for: WebImageRequest(url))
        #expect(try await fixture.manager.response(for: request).origin == .memoryCache)
    }

    @Test func ignoreDecodingStoresNoWebPage() async throws {
        let request = WebImageRequest(url, options: .ignoreDecoding)
        await #expect(throws: WebImageError.self) {
            try await fixture.load(request, answeringWith: Data("<html>".utf8))
        }
        #expect(await storedBytes(of: request) == nil)
    }

    @Test func firstFrameOnlyReturnsAStillImage() async throws {
        let request = WebImageRequest(url, options: .firstFrameOnly)
        let gif = try TestAnimation.gif([10, 20])
        let still = try await fixture.load(request, answeringWith: gif)
        #expect(still.image.animation == nil)
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) == nil, "a still never stands for the animation")
        #expect(fixture.manager.cachedImage(for: request) != nil)
        let whole = try await fixture.manager.response(for: WebImageRequest(url))
        #expect(whole.image.frameCount == 2)
        #expect(whole.origin == .diskCache)
    }

    @Test func firstFrameOnlyUsesTheFirstFrameOfAnAnimationInMemory() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: TestAnimation.gif([10, 20]))
        let still = try #require(
            fixture.manager.cachedImage(for: WebImageRequest(url, options: .firstFrameOnly)))
        #expect(still.animation == nil)
        #expect(still.frameCount == 1)
        #expect(SolidPicture(10).matches(still))
    }

    @Test func preloadAllFramesDecodesThem() async throws {
        let request = WebImageRequest(url, options: .preloadAllFrames)
        let response = try await fixture.load(request, answeringWith: TestAnimation.gif([10, 20, 30]))
        let animation = try #require(response.image.animation)
        let pixelBytes = 3 * response.image.pixels.byteCount
        #expect(animation.byteCount >= pixelBytes, "the frames are there, and are counted")
        let reader = animation.makeFrameReader()
        let reds = try [0, 1, 2, 0].map { try reader.frame(at: $0, cancellation: nil)[0, 0].x }
        #expect(reds == [10, 20, 30, 10])
        let plain = try await fixture.manager.response(for: WebImageRequest(url))
        #expect(try #require(plain.image.animation).byteCount < pixelBytes)
    }

    @Test func firstFrameOnlyTakesPrecedenceOverPreloadAllFrames() async throws {
        let request = WebImageRequest(url, options: [.firstFrameOnly, .preloadAllFrames])
        #expect(try await fixture.load(request, answeringWith: TestAnimation.gif([1, 2])).image.animation == nil)
    }

    @Test func decodedByteLimitScalesLargeImagesDown() async throws {
        let request = WebImageRequest(url).with { $0.decodedByteLimit = 100 }
        let response = try await fixture.load(request, answeringWith: SolidPicture(1))
        #expect(response.image.pixels.size.pixelCount * 4 <= 100)
        #expect(fixture.manager.cachedImage(for: request) != nil)
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) == nil)
        let whole = try await fixture.manager.image(for: WebImageRequest(url))
        #expect(whole.pixels.size == PixelSize(width: 8, height: 6))
    }

    @Test func theManagersDecodedByteLimitAppliesToRequestsWithoutOne() async throws {
        let fixture = try ManagerFixture {
            $0.optionsProcessor = { $0.decodedByteLimit = $0.decodedByteLimit ?? 100 }
        }
        let small = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1)).image
        #expect(small.pixels.size.pixelCount * 4 <= 100)
        let large = WebImageRequest(url).with { $0.decodedByteLimit = 1000 }
        #expect(try await fixture.manager.image(for: large).pixels.size == PixelSize(width: 8, height: 6))
    }

    @Test func decodedByteLimitKeepsImagesUpright() async throws {
        // 24×16 pixels, to be turned by a quarter.
        let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Fixtures/images/orientation-6.jpg")
        let request = WebImageRequest(url).with { $0.decodedByteLimit = 8 * 12 * 4 }
        let image = try await fixture.load(request, answeringWith: Data(contentsOf: path)).image
        #expect(image.pixels.size == PixelSize(width: 8, height: 12))
    }

    @Test func everyFrameIsProcessedUnlessTheManagerDisablesIt() async throws {
        let processor = ProbeProcessor(name: "a", red: 5)
        let gif = try TestAnimation.gif([10, 20])
        func reds(_ image: Image) throws -> [UInt8] {
            let reader = try #require(image.animation).makeFrameReader()
            return try [0, 1].map { try reader.frame(at: $0, cancellation: nil)[0, 0].x }
        }
        let request = WebImageRequest(url, processors: [processor.erased])
        #expect(try reds(await fixture.load(request, answeringWith: gif).image) == [15, 25])

        let other = try ManagerFixture {
            $0.optionsProcessor = { $0.transformsAnimations = $0.transformsAnimations ?? false }
        }
        #expect(try reds(await other.load(request, answeringWith: gif).image) == [10, 20])
        var transforming = request
        transforming.transformsAnimations = true
        #expect(try reds(await other.manager.image(for: transforming)) == [15, 25])
        // A request may leave them as they are where the manager does not.
        let plain = request.with { $0.transformsAnimations = false }
        #expect(try reds(await fixture.manager.image(for: plain)) == [10, 20])
        // Stills are processed all the same.
        let still = WebImageRequest(try ManagerFixture.url("still"), processors: [processor.erased])
        #expect(try await other.load(still, answeringWith: SolidPicture(1)).image.pixels[0, 0].x == 6)
    }

    @Test func vectorsAreProcessedUnlessTheManagerDisablesIt() async throws {
        let codecs = CodecRegistry()
        codecs.register(VectorDecoder())
        let fixture = try ManagerFixture {
            $0.codecs = codecs
            $0.optionsProcessor = { $0.transformsVectors = $0.transformsVectors ?? false }
        }
        let request = WebImageRequest(url, processors: [ProbeProcessor(name: "a", red: 5).erased])
        let drawing = Data("<svg 10".utf8)
        #expect(try await fixture.load(request, answeringWith: drawing).image.pixels[0, 0].x == 10)
        var transforming = request
        transforming.transformsVectors = true
        #expect(try await fixture.manager.image(for: transforming).pixels[0, 0].x == 15)
    }

    @Test func aWaitingLoadIsNoNetworkActivity() async throws {
        let activity = NetworkActivity()
        let fixture = try ManagerFixture { $0.networkActivity = activity }
        fixture.manager.isSuspended = true
        let results = Results()
        fixture.manager.load(WebImageRequest(url, options: .showNetworkActivity), completion: results.note)
        #expect(activity.count == 0)
        fixture.manager.isSuspended = false
        let load = try await fixture.nextLoad()
        #expect(activity.count == 1)
        try load.answer(SolidPicture(1).png())
        _ = await results.wait(for: 1)
        #expect(activity.count == 0)
    }
}

/// Takes a number for a drawing of one colour.
private struct VectorDecoder: ImageDecoder {
    let format = ImageFormat(name: "svg", mimeType: "image/svg+xml", fileExtension: "svg")

    func canDecode(_ data: Data) -> Bool { data.starts(with: Data("<svg".utf8)) }

    func info(of data: Data) throws(WebImageError) -> ImageInfo {
        ImageInfo(format: format, size: PixelSize(width: 8, height: 6))
    }

    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        do {
            var image = try SolidPicture(10).image()
            image.format = format
            return image
        } catch {
            throw .decoding(format: format, reason: .corrupt("\(error)"))
        }
    }
}
