import Dispatch
import FoundationEssentials
import Testing
@testable import WebImage
import WebImageTestSupport
@testable import WebImageProcessing

/// The state of a manager and its operations.
@Suite(.timeLimit(.minutes(1))) struct ManagerStateTests {
    private let fixture: ManagerFixture
    private let url: URL

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("a")
    }

    @Test func anOperationReportsItsState() async throws {
        let results = Results()
        let request = WebImageRequest(url, options: .waitForStore)
        let operation = fixture.manager.load(request, completion: results.note)
        #expect(operation.state == .loading(received: 0, expected: nil))
        #expect(fixture.manager.isRunning)
        #expect(operation.cacheKey == request.cacheKey)
        #expect(operation.cache === fixture.cache)
        #expect(operation.result == nil)
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        _ = await results.wait(for: 1)
        #expect(operation.state == .finished)
        #expect(SolidPicture(1).matches(try await operation.response.image))
        #expect(!fixture.manager.isRunning)

        let other = fixture.manager.load(WebImageRequest(try ManagerFixture.url("b"))) { _ in }
        other.cancel()
        #expect(other.state == .cancelled)
    }

    @Test func theSharedManagerCanBeReplaced() async throws {
        let original = WebImageManager.shared
        defer { WebImageManager.shared = original }
        #expect(WebImageManager.shared === original)
        WebImageManager.shared = fixture.manager
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        let progress = await ImagePrefetcher().prefetch([WebImageRequest(url)])
        #expect(progress.skipped == 1)
        #expect(WebImageManager.shared.cachedImage(for: WebImageRequest(url)) != nil)
        #expect(original.cachedImage(for: WebImageRequest(url)) == nil)
    }

    @Test func aCacheRemovesTheImageOfARequest() async throws {
        let small = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 1)))
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        _ = try await fixture.manager.image(for: small)
        await fixture.cache.remove(for: small, from: .memory)
        #expect(fixture.manager.cachedImage(for: small) == nil)
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) != nil)
        await fixture.cache.remove(for: WebImageRequest(url))
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) == nil)
    }

    @Test func theOriginalOfARemovedVariantIsNotOnDisk() async throws {
        let small = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 1)))
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        _ = try await fixture.manager.image(for: small)
        // It would be scaled down.
        fixture.cache.memory.remove(for: WebImageRequest(url).cacheKey)
        await fixture.cache.remove(for: small)
        #expect(try await fixture.load(small, answeringWith: SolidPicture(2)).origin == .remote)
        await fixture.cache.remove(for: small, from: .memory)
        #expect(try await fixture.manager.response(for: small).origin == .diskCache)
    }

    @Test func aSuspendedManagerStartsNothingAndResumesWithTheHighestPriority() async throws {
        _ = try await fixture.load(WebImageRequest(try ManagerFixture.url("known")), answeringWith: SolidPicture(1))
        fixture.manager.isSuspended = true
        let names = ["low", "high", "normal", "gone"]
        let priorities: [LoadPriority] = [.low, .high, .normal, .veryHigh]
        var operations: [WebImageOperation] = []
        for (name, priority) in zip(names, priorities) {
            let request = WebImageRequest(try ManagerFixture.url(name), priority: priority)
            operations.append(fixture.manager.load(request) { _ in })
        }
        #expect(operations.allSatisfy { $0.state == .waiting })
        #expect(fixture.manager.counters.suspended == 4)
        let known = try await fixture.manager.response(for: WebImageRequest(ManagerFixture.url("known")))
        #expect(known.origin == .memoryCache)
        #expect(fixture.loader.loadCount == 1)
        operations[3].cancel()
        fixture.manager.isSuspended = false
        var started: [String] = []
        for _ in 0..<3 { started.append(try await fixture.nextLoad().request.url.lastPathComponent) }
        #expect(Set(started) == ["high", "normal", "low"])
        #expect(operations[0].state == .loading(received: 0, expected: nil))
        #expect(fixture.loader.loadCount == 4)
        fixture.manager.cancelAll()
    }

    @Test func waitingLoadsStartInTheOrderOfTheirPriorities() async throws {
        // Without a disk to look at first, each starts its transfer within the call.
        let fixture = try ManagerFixture(isCacheable: false)
        fixture.manager.isSuspended = true
        for (name, priority) in [("a", LoadPriority.low), ("b", .normal), ("c", .high), ("d", .normal)] {
            fixture.manager.load(WebImageRequest(try ManagerFixture.url(name), priority: priority)) { _ in }
        }
        fixture.manager.isSuspended = false
        var started: [String] = []
        for _ in 0..<4 { started.append(try await fixture.nextLoad().request.url.lastPathComponent) }
        #expect(started == ["c", "b", "d", "a"])
        fixture.manager.cancelAll()
    }

    @Test func aWaitingLoadCancelledByTheStartOfAnotherDoesNotStart() async throws {
        let second = LockBox<WebImageOperation?>(nil)
        let fixture = try ManagerFixture(isCacheable: false) {
            $0.shouldLoad = { _ in
                second.withLock { $0 }?.cancel()
                return true
            }
        }
        fixture.manager.isSuspended = true
        fixture.manager.load(WebImageRequest(url, priority: .high)) { _ in }
        let operation = fixture.manager.load(WebImageRequest(try ManagerFixture.url("b"))) { _ in }
        second.withLock { $0 = operation }
        fixture.manager.isSuspended = false
        #expect(operation.state == .cancelled)
        #expect(fixture.loader.loadCount == 1)
        fixture.manager.cancelAll()
    }

    @Test func countsTheDecodesThatWait() async throws {
        let (end, started) = (DispatchSemaphore(value: 0), Countdown(DecodingQueue.shared.threadCount))
        for _ in 0..<DecodingQueue.shared.threadCount {
            DecodingQueue.shared.submit(priority: .veryHigh) {
                started.signal()
                end.wait()
            }
        }
        try await started.wait()
        let before = fixture.manager.counters.decodingQueueDepth
        let ended = Countdown(3)
        for _ in 0..<3 { DecodingQueue.shared.submit { ended.signal() } }
        #expect(fixture.manager.counters.decodingQueueDepth == before + 3)
        for _ in 0..<DecodingQueue.shared.threadCount { end.signal() }
        try await ended.wait()
        #expect(fixture.manager.counters.decodingQueueDepth <= before)
    }

    @Test func managersDoNotDisturbEachOther() async throws {
        let other = try ManagerFixture()
        let results = Results()
        fixture.manager.load(WebImageRequest(url), completion: results.note)
        let load = try await fixture.nextLoad()
        other.manager.isSuspended = true
        other.manager.cancelAll()
        #expect(!other.manager.isRunning && fixture.manager.isRunning)
        try load.answer(SolidPicture(1).png())
        #expect(try await results.wait(for: 1)[0].get().origin == .remote)
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) != nil)
        #expect(other.manager.cachedImage(for: WebImageRequest(url)) == nil)
        #expect(other.manager.counters.requests == 0)
    }

    @Test func reportsTheCachesThatHaveAnImage() async throws {
        let request = WebImageRequest(url)
        #expect(await fixture.manager.tier(holding: request) == nil)
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        #expect(await fixture.manager.tier(holding: request) == .memory)
        #expect(fixture.manager.isInMemory(request))
        fixture.cache.memory.removeAll()
        #expect(await fixture.manager.tier(holding: request) == .disk)
        #expect(!fixture.manager.isInMemory(request))
        let thumbnail = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 2, height: 2)))
        #expect(await fixture.manager.tier(holding: thumbnail) == .disk, "it can be made of the original")
        func blocking() -> CacheTier? { fixture.manager.blockingTier(holding: request) }
        #expect(blocking() == .disk)
    }

    @Test func anImageOfChangedBytesIsNoLongerInMemory() async throws {
        let thumbnail = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 2, height: 2)))
        _ = try await fixture.load(thumbnail, answeringWith: SolidPicture(1))
        #expect(fixture.manager.isInMemory(thumbnail))
        _ = try await fixture.load(WebImageRequest(url, cachePolicy: .reload), answeringWith: SolidPicture(2))
        // Asked before anything has looked it up, and so taken it away.
        #expect(!fixture.manager.isInMemory(thumbnail))
        #expect(await fixture.manager.tier(holding: thumbnail) == .disk)
        #expect(fixture.manager.cachedImage(for: thumbnail) == nil)
    }

    @Test func lookingUpTheLocationOfAnImageDoesNotCountAsAUse() async throws {
        let cache = ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil)
        cache.memory.countLimit = 2
        let fixture = try ManagerFixture { $0.cache = cache }
        let requests = try ["a", "b", "c"].map { WebImageRequest(try ManagerFixture.url($0)) }
        _ = try await fixture.load(requests[0], answeringWith: SolidPicture(1))
        _ = try await fixture.load(requests[1], answeringWith: SolidPicture(1))
        #expect(fixture.manager.isInMemory(requests[0]))
        _ = try await fixture.load(requests[2], answeringWith: SolidPicture(1))
        #expect(requests.map(fixture.manager.isInMemory) == [false, true, true])
    }

    @Test func anAnimationInMemoryProvidesItsFirstFrame() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: TestAnimation.gif([1, 2]))
        let still = WebImageRequest(url, options: .firstFrameOnly)
        #expect(fixture.manager.isInMemory(still))
        #expect(await fixture.manager.tier(holding: still) == .memory)
    }

    @Test func storesForAURL() async throws {
        let picture = SolidPicture(9)
        fixture.manager.store(try picture.image(), data: try picture.png(), for: WebImageRequest(url))
        #expect(picture.matches(try #require(fixture.manager.cachedImage(for: WebImageRequest(url)))))
        fixture.cache.memory.removeAll()
        let response = try await fixture.manager.response(for: WebImageRequest(url))
        #expect(response.origin == .diskCache)
        #expect(response.data == (try picture.png()))
        #expect(fixture.loader.loadCount == 0)
    }

    @Test func storesForAURLThatNamesAScale() async throws {
        let url = try ManagerFixture.url("a@2x.png")
        let picture = SolidPicture(9)
        fixture.manager.store(try picture.image(), data: try picture.png(), for: WebImageRequest(url))
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url))?.scale == 2)
        fixture.cache.memory.removeAll()
        let response = try await fixture.manager.response(for: WebImageRequest(url, cachePolicy: .cacheOnly))
        #expect(response.origin == .diskCache)
        #expect(response.image.scale == 2)
        #expect(response.data == (try picture.png()))
    }

    @Test func storesAVariantInTheRequestedCache() async throws {
        let request = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 2, height: 2)))
        fixture.manager.store(try SolidPicture(9).image(), for: request)
        #expect(fixture.manager.cachedImage(for: request) != nil)
        await fixture.cache.disk?.flush()
        #expect(await fixture.cache.disk?.count == 0)
    }

    @Test func countsItsWork() async throws {
        let request = WebImageRequest(url)
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        _ = try await fixture.manager.response(for: request)
        fixture.cache.memory.removeAll()
        _ = try await fixture.manager.response(for: request)
        let missing = WebImageRequest(try ManagerFixture.url("b"), cachePolicy: .cacheOnly)
        _ = try? await fixture.manager.image(for: missing)
        let counters = fixture.manager.counters
        #expect((counters.requests, counters.loads) == (4, 1))
        #expect((counters.memoryHits, counters.diskHits, counters.failures) == (1, 1, 1))
        #expect(counters.hitRate == 2.0 / 3)
        #expect((counters.running, counters.imagesInProgress, counters.filesInProgress) == (0, 0, 0))
    }

    @Test func logsTheStartAndTheEndOfEachLoadAtItsLevel() async throws {
        let lines = LockBox<[(level: WebImageLogLevel, text: String)]>([])
        let fixture = try ManagerFixture {
            $0.log = { level, text in
                let text = text()
                lines.withLock { $0.append((level, text)) }
            }
        }
        let request = WebImageRequest(try #require(URL(string: "scripted://me:secret@host/a")))
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        _ = try? await fixture.manager.image(for: WebImageRequest(url, cachePolicy: .cacheOnly))
        let messages = lines.withLock { $0 }
        #expect(messages.filter { $0.level >= .info }.map(\.level) == [.info, .warning])
        #expect(messages.allSatisfy { !$0.text.contains("secret") })
        #expect(messages.first { $0.level == .debug }?.text == "Started scripted://host/a")
        #expect(messages.first { $0.level == .info }?.text == "Loaded scripted://host/a (remote)")
        #expect(messages.last?.text.hasPrefix("Failed: ") == true)
    }

    @Test func countsEachLoadOnceWithEveryAPI() async throws {
        let request = WebImageRequest(url)
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        _ = try await fixture.manager.image(for: request)
        var counters = fixture.manager.counters
        #expect((counters.requests, counters.memoryHits) == (2, 1))
        _ = try await fixture.manager.image(
            for: WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 4, height: 4))))
        counters = fixture.manager.counters
        #expect((counters.requests, counters.memoryHits, counters.reusedVariants) == (3, 1, 1))
        #expect(counters.hitRate == 2.0 / 3)
    }

    /// One request looks into memory several times, and counts once there too.
    @Test func countsEachRequestOnceInMemory() async throws {
        func counts() -> [Int] {
            let (memory, counters) = (fixture.cache.memory.statistics, fixture.manager.counters)
            return [memory.hitCount, memory.missCount, counters.requests, counters.memoryHits]
        }
        let request = WebImageRequest(url)
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        #expect(counts() == [0, 1, 1, 0])
        _ = try await fixture.manager.image(for: request)
        #expect(counts() == [1, 1, 2, 1])
        // As a view does, which is told at once or loads.
        #expect(try await fixture.show(request, nil) == nil)
        #expect(counts() == [2, 1, 3, 2])
        let other = WebImageRequest(try ManagerFixture.url("b"), options: .firstFrameOnly)
        _ = try #require(try await fixture.show(other, SolidPicture(1)))
        #expect(counts() == [2, 2, 4, 2])
        // Of a larger one in memory.
        let small = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 4, height: 4)))
        _ = try #require(try await fixture.show(small, nil))
        #expect(counts() == [2, 3, 5, 2])
        // With processors, whose steps are looked for too.
        let processed = WebImageRequest(url, processors: [ProbeProcessor(name: "p").erased])
        _ = try await fixture.manager.image(for: processed)
        // Made of what memory had, without a file.
        #expect(counts() == [2, 4, 6, 3])
        // Asked by the program, for its own sake.
        #expect(fixture.manager.cachedImage(for: WebImageRequest(try ManagerFixture.url("c"))) == nil)
        #expect(counts() == [2, 5, 6, 3])
        #expect(fixture.manager.counters.reusedVariants >= 1)
    }

    @Test func countsCancelledLoads() async throws {
        let results = Results()
        let operation = fixture.manager.load(WebImageRequest(url), completion: results.note)
        _ = try await fixture.nextLoad()
        operation.cancel()
        _ = await results.wait(for: 1)
        #expect(fixture.manager.counters.cancellations == 1)
        #expect(fixture.manager.counters.failures == 0)
    }

    @Test func countsALoadCancelledBeforeItsCallbackAsCancelledOnly() async throws {
        let queue = ManualCallbackQueue()
        let operation = fixture.manager.load(WebImageRequest(url), callbackQueue: queue) { _ in }
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        try await queue.arrivals.first()
        operation.cancel()
        queue.runAll()
        let counters = fixture.manager.counters
        #expect((counters.requests, counters.cancellations, counters.loads) == (1, 1, 0))
    }

    @Test func countsTheWorkOfRequestsWithCustomComponents() async throws {
        var request = WebImageRequest(url)
        request.cache = ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil)
        let results = Results()
        fixture.manager.load(request, completion: results.note)
        let load = try await fixture.nextLoad()
        #expect((fixture.manager.counters.imagesInProgress, fixture.manager.counters.filesInProgress) == (1, 1))
        try load.answer(SolidPicture(1).png())
        _ = await results.wait(for: 1)
    }

    @Test func operationsWaitOnlyWhileSuspended() async throws {
        let queue = ManualCallbackQueue()
        // Without a disk to ask first, a refusal comes at once.
        let fixture = try ManagerFixture(callbackQueue: queue, hasDisk: false) {
            $0.shouldLoad = { _ in false }
        }
        fixture.manager.store(try SolidPicture(1).image(), for: WebImageRequest(url))
        #expect(fixture.manager.load(WebImageRequest(url)) { _ in }.state == .loading(received: 0, expected: nil))
        let refused = fixture.manager.load(WebImageRequest(try ManagerFixture.url("b"))) { _ in }
        #expect(refused.state == .loading(received: 0, expected: nil))
        queue.runAll()
        #expect(refused.state == .finished)
    }
}
