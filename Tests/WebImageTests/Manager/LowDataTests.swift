import FoundationEssentials
import Testing
@testable import WebImage
import WebImageTestSupport

/// Low-data mode: requests load their other URL, and prefetchers pause.
@Suite(.timeLimit(.minutes(1))) struct LowDataTests {
    private let fixture: ManagerFixture
    private let network = MeteredNetwork()
    private let large: URL
    private let small: URL
    private let request: WebImageRequest

    init() throws {
        fixture = try ManagerFixture { [network] in $0.network = network }
        large = try ManagerFixture.url("large")
        small = try ManagerFixture.url("small")
        var request = WebImageRequest(large)
        request.lowDataURL = small
        self.request = request
    }

    private var manager: WebImageManager { fixture.manager }

    @Test func theOtherURLIsLoadedAndCachedUnderItsOwnKey() async throws {
        manager.isLowDataModeEnabled = true
        let response = try await fixture.load(request) { load in
            #expect(load.request.url == small)
            try load.answer(SolidPicture(1).png())
        }
        #expect(response.url == small)
        #expect(SolidPicture(1).matches(response.image))
        #expect(manager.cachedImage(for: request) == nil)
        #expect(manager.cachedImage(for: WebImageRequest(small)) != nil)
        #expect(try await manager.response(for: request).origin == .memoryCache, "no second load")
        manager.isLowDataModeEnabled = false
        #expect(try await fixture.load(request, answeringWith: SolidPicture(2)).url == large)
    }

    @Test func withoutTheModeOrAnotherURLTheRequestsOwnIsLoaded() async throws {
        #expect(try await fixture.load(request, answeringWith: SolidPicture(1)).url == large)
        manager.isLowDataModeEnabled = true
        let other = WebImageRequest(try ManagerFixture.url("other"))
        #expect(try await fixture.load(other, answeringWith: SolidPicture(1)).url == other.url)
    }

    @Test func aFullImageThatIsCachedIsUsed() async throws {
        _ = try await fixture.load(request) { try $0.answer(SolidPicture(1), "Cache-Control: max-age=60") }
        manager.isLowDataModeEnabled = true
        for policy in [CachePolicy.cacheFirst, .http] {
            var request = request
            request.cachePolicy = policy
            #expect(try await manager.response(for: request).origin == .memoryCache)
            fixture.cache.memory.removeAll()
            let response = try await manager.response(for: request)
            #expect(response.origin == .diskCache && response.url == large)
        }
    }

    @Test func aStaleOneIsNotUnderHTTP() async throws {
        let request = request.with { $0.cachePolicy = .http }
        _ = try await fixture.load(request) {
            try $0.answer(SolidPicture(1), "Cache-Control: max-age=60, must-revalidate")
        }
        manager.isLowDataModeEnabled = true
        fixture.time.advance(seconds: 61)
        #expect(try await fixture.load(request, answeringWith: SolidPicture(2)).url == small)
    }

    @Test(arguments: [CachePolicy.refresh, .reload]) func policiesThatAskAServerAskForTheOther(policy: CachePolicy)
        async throws
    {
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        manager.isLowDataModeEnabled = true
        let request = request.with { $0.cachePolicy = policy }
        #expect(try await fixture.load(request, answeringWith: SolidPicture(2)).url == small)
    }

    @Test func aServerOfAnotherOriginReceivesNoCredential() async throws {
        manager.isLowDataModeEnabled = true
        let request = request.with {
            $0.lowDataURL = URL(string: "scripted://elsewhere/small")
            $0.headers = ["Authorization": "Bearer x", "Accept": "image/png"]
            $0.credential = Credential(username: "a", password: "b")
        }
        _ = try await fixture.load(request) { load in
            #expect(load.request.headers == ["Accept": "image/png"])
            #expect(load.request.credential == nil)
            try load.answer(SolidPicture(1).png())
        }
    }

    @Test func theLowResolutionImageIsNotLoadedToo() async throws {
        manager.isLowDataModeEnabled = true
        let request = request.with { $0.lowResolutionURL = URL(string: "scripted://host/preview") }
        #expect(try await fixture.load(request, answeringWith: SolidPicture(1)).url == small)
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func cancellingCancelsTheLoadOfTheOther() async throws {
        manager.isLowDataModeEnabled = true
        let results = Results()
        let operation = manager.load(request, completion: results.note)
        let load = try await fixture.nextLoad()
        operation.priority = .veryHigh
        #expect(try await load.priorityChanges.first() == .veryHigh)
        operation.cancel()
        try await load.cancellations.first()
        _ = await results.wait(for: 1)
        #expect(results.errors == [.cancelled])
    }

    @Test func itsFailureDoesNotBlockTheFullImage() async throws {
        manager.isLowDataModeEnabled = true
        let request = request.ignoringFailedURLs
        await #expect(throws: WebImageError.httpStatus(code: 404, url: small)) {
            _ = try await fixture.load(request) { $0.refuse(404) }
        }
        #expect(manager.blockedURLs == [small])
    }

    @Test func theModeFollowsTheNetworkUntilTheProgramDecides() {
        #expect(!manager.isLowDataModeEnabled)
        network.isMetered = true
        #expect(manager.isLowDataModeEnabled)
        network.isMetered = false
        #expect(!manager.isLowDataModeEnabled)
        manager.isLowDataModeEnabled = false
        network.isMetered = true
        #expect(!manager.isLowDataModeEnabled)
        manager.resetLowDataMode()
        #expect(manager.isLowDataModeEnabled)
        network.isMetered = false
        #expect(!manager.isLowDataModeEnabled)
    }

    @Test func prefetchingContinuesOnceTheModeFollowsAnUnmeteredNetwork() async throws {
        manager.isLowDataModeEnabled = true
        let ended = Countdown()
        let prefetcher = ImagePrefetcher(manager: manager)
        prefetcher.prefetch([WebImageRequest(large)]) { _ in ended.signal() }
        #expect(fixture.loader.loadCount == 0)
        manager.resetLowDataMode()
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        try await ended.wait()
    }

    // MARK: Prefetching

    @Test(arguments: [false, true]) func prefetchingPauses(becauseOfTheNetwork: Bool) async throws {
        func setEnabled(_ isEnabled: Bool) {
            if becauseOfTheNetwork { network.isMetered = isEnabled } else { manager.isLowDataModeEnabled = isEnabled }
        }
        let prefetcher = ImagePrefetcher(manager: manager, maximumConcurrentCount: 1)
        let (loaded, ended) = (Countdown(), Countdown(2))
        prefetcher.prefetch(
            [WebImageRequest(large), WebImageRequest(small)], progress: { _ in loaded.signal() },
            completion: { _ in ended.signal() })
        let first = try await fixture.nextLoad()
        setEnabled(true)
        // What is in progress continues.
        try first.answer(SolidPicture(1).png())
        try await loaded.wait()
        prefetcher.prefetch([WebImageRequest(try ManagerFixture.url("other"))]) { _ in ended.signal() }
        #expect(fixture.loader.loadCount == 1)
        for _ in 0..<2 {
            setEnabled(false)
            try await fixture.nextLoad().answer(SolidPicture(1).png())
            setEnabled(true)
        }
        try await ended.wait()
    }

    /// The network changes twice while it does not count.
    @Test func prefetchingContinuesAfterALaterChangeOfTheNetwork() async throws {
        manager.isLowDataModeEnabled = true
        let ended = Countdown()
        let prefetcher = ImagePrefetcher(manager: manager)
        prefetcher.prefetch([WebImageRequest(large)]) { _ in ended.signal() }
        network.isMetered = false
        network.isMetered = true
        manager.resetLowDataMode()
        #expect(fixture.loader.loadCount == 0)
        network.isMetered = false
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        try await ended.wait()
    }

    @Test func aPrefetcherThatIsReleasedMeanwhileCompletesItsBatches() async throws {
        manager.isLowDataModeEnabled = true
        let ended = Countdown()
        do {
            let prefetcher = ImagePrefetcher(manager: manager)
            prefetcher.prefetch([request]) { _ in ended.signal() }
        }
        try await ended.wait()
        #expect(fixture.loader.loadCount == 0)
    }
}
