import FoundationEssentials
import Testing
@testable import WebImage
import WebImageTestSupport

@Suite(.timeLimit(.minutes(1))) struct PrefetchTests {
    private let fixture: ManagerFixture

    init() throws { fixture = try ManagerFixture() }

    private func prefetcher(maximumConcurrentCount: Int = 3) -> ImagePrefetcher {
        ImagePrefetcher(manager: fixture.manager, maximumConcurrentCount: maximumConcurrentCount)
    }

    private func requests(_ names: String...) throws -> [WebImageRequest] {
        try names.map { WebImageRequest(try ManagerFixture.url($0)) }
    }

    @Test func usesTheSharedManagerByDefault() async throws {
        // An image that a closure returns is only in memory.
        let request = WebImageRequest(id: "PrefetchTests/shared", image: { try SolidPicture(1).image() })
        let progress = await ImagePrefetcher().prefetch([request])
        #expect(progress.loaded == 1)
        #expect(SolidPicture(1).matches(try #require(WebImageManager.shared.cachedImage(for: request))))
    }

    @Test func loadsImagesIntoMemoryAndReportsProgress() async throws {
        let prefetcher = prefetcher(maximumConcurrentCount: 1)
        let requests = try requests("a", "b")
        _ = try await fixture.load(requests[0], answeringWith: SolidPicture(1))
        let (told, ended) = (LockBox<[PrefetchProgress]>([]), Countdown())
        prefetcher.prefetch(
            requests + (try self.requests("c")), progress: { progress in told.withLock { $0.append(progress) } },
            completion: { _ in ended.signal() })
        let second = try await fixture.nextLoad()
        #expect(second.initialPriority == .low)
        try second.answer(SolidPicture(2).png())
        try await fixture.nextLoad().end(.failure(.cancelled))
        try await ended.wait()
        let last = try #require(told.withLock { $0.last })
        #expect((last.total, last.skipped, last.loaded, last.failed) == (3, 1, 1, 1))
        #expect(last.isFinished && !last.isCancelled)
        #expect(fixture.manager.cachedImage(for: requests[1]) != nil)
    }

    @Test func loadsURLs() async throws {
        let (prefetcher, url, ended) = (prefetcher(), try ManagerFixture.url("a"), LockBox<[PrefetchProgress]>([]))
        let isDone = Countdown()
        prefetcher.prefetch([url], progress: { progress in ended.withLock { $0.append(progress) } }) { _ in
            isDone.signal()
        }
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        try await isDone.wait()
        #expect(ended.withLock { $0.map(\.loaded) } == [1])
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) != nil)
        let again = await prefetcher.prefetch([url])
        #expect((again.total, again.skipped) == (1, 1))
    }

    /// A token that the program adds may have expired since the request was added.
    @Test func preparesARequestWhenItsLoadStarts() async throws {
        let token = LockBox("old")
        let fixture = try ManagerFixture { configuration in
            configuration.optionsProcessor = { request in
                request.headers["Authorization"] = token.withLock { $0 }
            }
        }
        let prefetcher = ImagePrefetcher(manager: fixture.manager)
        prefetcher.isPaused = true
        let url = try ManagerFixture.url("a")
        let ended = Countdown()
        prefetcher.prefetch([WebImageRequest(url)]) { _ in ended.signal() }
        token.withLock { $0 = "new" }
        prefetcher.isPaused = false
        let load = try await fixture.nextLoad()
        #expect(load.request.headers["Authorization"] == "new")
        prefetcher.cancel([url])
        try await ended.wait()
    }

    @Test func loadsFilesToDiskWithoutDecoding() async throws {
        let decoder = ProbeDecoder()
        let fixture = try ManagerFixture(decoder: decoder)
        let prefetcher = ImagePrefetcher(manager: fixture.manager, decodes: false)
        let url = try ManagerFixture.url("a")
        // Two sizes of one file are one.
        let wanted = [4, 8].map { WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: $0, height: $0))) }
        async let progress = prefetcher.prefetch(wanted)
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        #expect(await progress.total == 1)
        #expect(await progress.loaded == 1)
        #expect(decoder.decodeCount == 0)
        #expect(await fixture.cache.disk?.contains(WebImageRequest(url).cacheKey.description) == true)
        #expect(fixture.cache.memory.count == 0)
    }

    @Test func callsBackOnItsQueue() async throws {
        let queue = ManualCallbackQueue()
        let prefetcher = ImagePrefetcher(manager: fixture.manager, callbackQueue: queue)
        let calls = LockBox<[String]>([])
        prefetcher.prefetch(
            try requests("a"), progress: { _ in calls.withLock { $0.append("progress") } },
            completion: { _ in calls.withLock { $0.append("end") } })
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        try await queue.arrivals.first()
        #expect(calls.withLock { $0 } == [], "on no other queue")
        queue.runAll()
        while calls.withLock({ $0.last }) != "end" {
            try await queue.arrivals.first()
            queue.runAll()
        }
        #expect(calls.withLock { $0 } == ["progress", "end"])
    }

    @Test func loadsDuplicatesOnce() async throws {
        let requests = try requests("a", "a", "a")
        async let progress = prefetcher().prefetch(requests)
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        #expect(await progress.total == 1)
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func completesAnEmptyBatch() async throws {
        let progress = await prefetcher().prefetch([URL]())
        #expect(progress == PrefetchProgress(total: 0))
    }

    @Test func loadsAFewAtATime() async throws {
        let prefetcher = prefetcher(maximumConcurrentCount: 2)
        let ended = Countdown()
        prefetcher.prefetch(try requests("a", "b", "c", "d")) { _ in ended.signal() }
        let first = try await fixture.nextLoad()
        _ = try await fixture.nextLoad()
        #expect(fixture.loader.loadCount == 2)
        try first.answer(SolidPicture(1).png())
        _ = try await fixture.nextLoad()
        #expect(fixture.loader.loadCount == 3)
        prefetcher.cancelAll()
        try await ended.wait()
    }

    @Test func cancelsSingleRequestsThatWaitOrLoad() async throws {
        let prefetcher = prefetcher(maximumConcurrentCount: 1)
        let (last, ended) = (LockBox<PrefetchProgress?>(nil), Countdown())
        let requests = try requests("a", "b", "c")
        prefetcher.prefetch(requests) { progress in
            last.withLock { $0 = progress }
            ended.signal()
        }
        let first = try await fixture.nextLoad()
        prefetcher.cancel([requests[0], requests[1]])
        try await first.cancellations.first()
        let next = try await fixture.nextLoad()
        #expect(next.request.url == requests[2].url)
        try next.answer(SolidPicture(1).png())
        try await ended.wait()
        #expect(last.withLock { $0.map { [$0.total, $0.loaded, $0.failed] } } == [3, 1, 2])
        #expect(last.withLock { $0?.isCancelled } == false)
    }

    @Test func cancelsAllSizesOfAURLAndOnlyThoseOfARequest() async throws {
        let prefetcher = prefetcher(maximumConcurrentCount: 1)
        prefetcher.isPaused = true
        let (last, ended) = (LockBox<PrefetchProgress?>(nil), Countdown())
        let url = try ManagerFixture.url("a")
        let small = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 5)))
        let other = try requests("b")[0]
        let batch = prefetcher.prefetch([WebImageRequest(url), small, other]) { progress in
            last.withLock { $0 = progress }
            ended.signal()
        }
        prefetcher.cancel([small])
        #expect(batch.progress.failed == 1)
        prefetcher.cancel([url])
        #expect(batch.progress.failed == 2)
        prefetcher.isPaused = false
        let load = try await fixture.nextLoad()
        #expect(load.request.url == other.url)
        try load.answer(SolidPicture(1).png())
        try await ended.wait()
        #expect(last.withLock { $0?.loaded } == 1)
    }

    @Test func aThousandCachedURLsDoNotOverflowTheStack() async throws {
        let picture = try SolidPicture(1).image()
        var requests: [WebImageRequest] = []
        for number in 0..<5000 {
            let request = WebImageRequest(try ManagerFixture.url("\(number)"))
            fixture.cache.memory.set(picture, for: request.cacheKey, cost: 1)
            requests.append(request)
        }
        let progress = await prefetcher().prefetch(requests)
        #expect(progress.skipped == 5000)
    }

    @Test func cancellingABatchCompletesItAndLeavesOthers() async throws {
        let prefetcher = prefetcher(maximumConcurrentCount: 1)
        let (first, second) = (LockBox<PrefetchProgress?>(nil), LockBox<PrefetchProgress?>(nil))
        let ends = [Countdown(), Countdown()]
        let batch = prefetcher.prefetch(try requests("a", "b", "c")) { progress in
            first.withLock { $0 = progress }
            ends[0].signal()
        }
        prefetcher.prefetch(try requests("d")) { progress in
            second.withLock { $0 = progress }
            ends[1].signal()
        }
        let load = try await fixture.nextLoad()
        batch.cancel()
        try await load.cancellations.first()
        try await ends[0].wait()
        #expect(first.withLock { $0?.failed } == 3)
        #expect(first.withLock { $0?.isCancelled } == true)
        batch.cancel()
        try await fixture.nextLoad().answer(SolidPicture(4).png())
        try await ends[1].wait()
        #expect(second.withLock { $0?.loaded } == 1)
    }

    @Test func overlappingBatchesFromSeveralThreadsAllEnd() async throws {
        let prefetcher = prefetcher()
        let lists = [try requests("a", "b", "c"), try requests("b", "c", "d"), try requests("c", "d", "a")]
        let answering = Task { [fixture] in
            for await load in fixture.loader.loads { try load.answer(SolidPicture(1).png()) }
        }
        defer { answering.cancel() }
        let ends = await withTaskGroup(of: PrefetchProgress.self) { group in
            for list in lists { group.addTask { await prefetcher.prefetch(list) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(ends.allSatisfy { $0.total == 3 && $0.loaded + $0.skipped == 3 && $0.failed == 0 })
        #expect(fixture.loader.loadCount == 4)
    }

    @Test func cancellingEverythingInTheManagerEndsItsBatches() async throws {
        let prefetcher = prefetcher()
        let requests = try requests("a", "b", "c")
        async let progress = prefetcher.prefetch(requests)
        for _ in requests { _ = try await fixture.nextLoad() }
        fixture.manager.cancelAll()
        let end = await progress
        #expect((end.total, end.failed) == (3, 3))
        #expect(!end.isCancelled, "nobody has cancelled the batch")
    }

    @Test func aCancelledTaskCancelsItsBatch() async throws {
        let prefetcher = prefetcher()
        let requests = try requests("a")
        let task = Task { await prefetcher.prefetch(requests) }
        let load = try await fixture.nextLoad()
        task.cancel()
        try await load.cancellations.first()
        #expect(await task.value.isCancelled)
    }

    @Test func pausesAndResumes() async throws {
        let prefetcher = prefetcher()
        prefetcher.isPaused = true
        let ended = Countdown()
        prefetcher.prefetch(try requests("a")) { _ in ended.signal() }
        #expect(fixture.loader.loadCount == 0)
        prefetcher.isPaused = false
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        try await ended.wait()
    }

    @Test func releasingAPausedPrefetcherCompletesItsBatches() async throws {
        let ended = Countdown()
        do {
            let prefetcher = prefetcher()
            prefetcher.isPaused = true
            prefetcher.prefetch(try requests("a")) { _ in ended.signal() }
        }
        try await ended.wait()
    }

    @Test func loadsOneAtATimeWhileOtherLoadsWait() async throws {
        let results = Results()
        fixture.manager.load(WebImageRequest(try ManagerFixture.url("visible")), completion: results.note)
        let visible = try await fixture.nextLoad()
        let prefetcher = prefetcher()
        prefetcher.prefetch(try requests("a", "b", "c")) { _ in }
        _ = try await fixture.nextLoad()
        #expect(fixture.loader.loadCount == 2)
        try visible.answer(SolidPicture(1).png())
        _ = await results.wait(for: 1)
        _ = try await fixture.nextLoad()
        _ = try await fixture.nextLoad()
        #expect(fixture.loader.loadCount == 4)
        prefetcher.cancelAll()
    }

    @Test func aVisibleLoadJoinsAPrefetchAndRaisesItsPriority() async throws {
        let requests = try requests("a")
        async let progress = prefetcher().prefetch(requests)
        let load = try await fixture.nextLoad()
        let results = Results()
        var visible = requests[0]
        visible.priority = .high
        fixture.manager.load(visible, completion: results.note)
        #expect(try await load.priorityChanges.first() == .high)
        try load.answer(SolidPicture(1).png())
        #expect(await progress.loaded == 1)
        #expect(await results.wait(for: 1).count == 1)
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func cancelledBatchesDoNotAccumulateWhilePaused() async throws {
        let prefetcher = prefetcher()
        prefetcher.isPaused = true
        weak var first: PrefetchBatch?
        for name in ["a", "b"] {
            let ended = Countdown()
            let batch = prefetcher.prefetch(try requests(name)) { _ in ended.signal() }
            if name == "a" { first = batch }
            batch.cancel()
            try await ended.wait()
        }
        for _ in 0..<1000 where first != nil { await Task.yield() }
        #expect(first == nil)
    }
}
