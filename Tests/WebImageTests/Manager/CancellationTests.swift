import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport

@Suite(.timeLimit(.minutes(1))) struct CancellationTests {
    private let fixture: ManagerFixture
    private let url: URL

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("a")
    }

    @Test func stopsTheLoaderAndEndsOnce() async throws {
        let results = Results()
        let operation = fixture.manager.load(WebImageRequest(url), completion: results.note)
        let load = try await fixture.nextLoad()
        operation.cancel()
        operation.cancel()
        try await load.cancellations.first()
        #expect(await results.wait(for: 1).count == 1)
        #expect(results.errors == [.cancelled])
        #expect(operation.isCancelled && operation.isFinished)
        #expect(fixture.manager.runningOperations.isEmpty)
    }

    @Test func leavesAJoinedLoadAlone() async throws {
        let (staying, leaving) = (Results(), Results())
        fixture.manager.load(WebImageRequest(url), completion: staying.note)
        let operation = fixture.manager.load(WebImageRequest(url), completion: leaving.note)
        let load = try await fixture.nextLoad()
        operation.cancel()
        _ = await leaving.wait(for: 1)
        #expect(!load.isEnded)
        try load.answer(SolidPicture(1).png())
        #expect(try await staying.wait(for: 1)[0].get().origin == .remote)
        #expect(leaving.errors == [.cancelled])
    }

    @Test func suppressesAResultThatWaitsOnTheCallbackQueue() async throws {
        let queue = ManualCallbackQueue()
        let results = Results()
        let operation = fixture.manager.load(WebImageRequest(url), callbackQueue: queue, completion: results.note)
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        try await queue.arrivals.first()
        operation.cancel()
        queue.runAll()
        #expect(results.all.count == 1)
        #expect(results.errors == [.cancelled])
    }

    @Test func hasNoEffectAfterTheEnd() async throws {
        let results = Results()
        let operation = fixture.manager.load(WebImageRequest(url), completion: results.note)
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        _ = await results.wait(for: 1)
        operation.cancel()
        #expect(results.errors.isEmpty)
        #expect(!operation.isCancelled)
    }

    @Test func endsALookUpOnDiskAndNeverAsksTheLoader() async throws {
        let cache = HeldCache()
        let fixture = try ManagerFixture { $0.cache = cache }
        let results = Results()
        let operation = fixture.manager.load(
            WebImageRequest(url), progress: { _, _ in Issue.record("progress after the cancel") },
            completion: results.note)
        try await cache.lookUps.first()
        operation.cancel()
        #expect(await results.wait(for: 1).count == 1)
        cache.release()
        // By now the look-up above has ended.
        _ = try await fixture.load(WebImageRequest(try ManagerFixture.url("b")), answeringWith: SolidPicture(1))
        #expect(results.errors == [.cancelled] && results.all.count == 1)
        #expect(fixture.loader.loadCount == 1)
    }

    /// The loader's end and the caller's are both queued before either is delivered.
    @Test(arguments: [true, false])
    func endsOnceIfTheLoaderCancelsToo(isLoaderFirst: Bool) async throws {
        let finished = LockBox<[WebImageError?]>([])
        let fixture = try ManagerFixture { configuration in
            configuration.didFinish = { _, result in
                finished.withLock { $0.append(result.failure) }
            }
        }
        let (queue, results) = (ManualCallbackQueue(), Results())
        let operation = fixture.manager.load(WebImageRequest(url), callbackQueue: queue, completion: results.note)
        let load = try await fixture.nextLoad()
        if isLoaderFirst {
            load.end(.failure(.cancelled))
            try await queue.arrivals.first()
            operation.cancel()
        } else {
            operation.cancel()
            load.end(.failure(.cancelled))
        }
        queue.runAll()
        #expect(results.errors == [.cancelled] && results.all.count == 1)
        #expect(finished.withLock { $0 } == [.cancelled])
        let counters = fixture.manager.counters
        #expect([counters.requests, counters.cancellations, counters.failures, counters.running] == [1, 1, 0, 0])
    }

    @Test func silencesProgress() async throws {
        let queue = ManualCallbackQueue()
        let seen = LockBox(0)
        let operation = fixture.manager.load(
            WebImageRequest(url), callbackQueue: queue, progress: { _, _ in seen.withLock { $0 += 1 } },
            completion: { _ in })
        try await fixture.nextLoad().begin(expectedByteCount: 9)
        try await queue.arrivals.first()
        operation.cancel()
        queue.runAll()
        #expect(seen.withLock { $0 } == 0)
    }

    @Test func silencesProgressFromInsideItsHandler() async throws {
        let queue = ManualCallbackQueue()
        let seen = LockBox<[Int64]>([])
        let itself = LockBox<WebImageOperation?>(nil)
        let operation = fixture.manager.load(
            WebImageRequest(url), callbackQueue: queue,
            progress: { received, _ in
                seen.withLock { $0.append(received) }
                itself.withLock { $0 }?.cancel()
            },
            completion: { _ in })
        itself.withLock { $0 = operation }
        let load = try await fixture.nextLoad()
        load.begin(expectedByteCount: 9)
        load.send(Data([1, 2, 3]))
        queue.runAll()
        #expect(seen.withLock { $0 } == [0])
    }

    @Test func stopsADecodeAtItsNextCheckpoint() async throws {
        let decoder = ProbeDecoder(holdsFirst: true)
        let fixture = try ManagerFixture(decoder: decoder)
        let results = Results()
        let operation = fixture.manager.load(WebImageRequest(url), completion: results.note)
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        try await decoder.starts.first()
        operation.cancel()
        try await decoder.cancellations.first()
        _ = await results.wait(for: 1)
        #expect(results.errors == [.cancelled])
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) == nil)
    }

    @Test func cancelAllCancelsEverything() async throws {
        let results = Results()
        for name in ["a", "b", "c"] {
            fixture.manager.load(WebImageRequest(try ManagerFixture.url(name)), completion: results.note)
        }
        let loads = [try await fixture.nextLoad(), try await fixture.nextLoad(), try await fixture.nextLoad()]
        #expect(fixture.manager.runningOperations.count == 3)
        fixture.manager.cancelAll()
        _ = await results.wait(for: 3)
        #expect(results.errors == [.cancelled, .cancelled, .cancelled])
        for load in loads { try await load.cancellations.first() }
        #expect(fixture.manager.runningOperations.isEmpty)
    }

    @Test func endsAnAwaitingTask() async throws {
        let task = Task { [manager = fixture.manager, url] in try await manager.image(at: url) }
        let load = try await fixture.nextLoad()
        task.cancel()
        #expect(await task.result.error == .cancelled)
        try await load.cancellations.first()
    }

    @Test func endsATaskThatWasCancelledBeforeItStarted() async throws {
        let (gate, opener) = AsyncStream<Void>.makeStream()
        let task = Task { [manager = fixture.manager, url] in
            for await _ in gate { break }
            return try await manager.image(at: url)
        }
        task.cancel()
        opener.yield()
        #expect(await task.result.error == .cancelled)
    }

    @Test func canBeTriggeredByReleasingAHandler() async throws {
        final class Owner: Sendable {
            let operation = LockBox<WebImageOperation?>(nil)
            deinit { operation.withLock { $0 }?.cancel() }
        }
        let results = Results()
        do {
            let owner = Owner()
            let operation = fixture.manager.load(
                WebImageRequest(url), progress: { _, _ in _ = owner }, completion: results.note)
            owner.operation.withLock { $0 = operation }
        }
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        #expect(SolidPicture(1).matches(try await results.wait(for: 1)[0].get().image))
    }

    @Test func letsTheNextRequestStartAgain() async throws {
        let operation = fixture.manager.load(WebImageRequest(url)) { _ in }
        _ = try await fixture.nextLoad()
        operation.cancel()
        let response = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(4))
        #expect(response.origin == .remote)
        #expect(fixture.loader.loadCount == 2)
    }

    @Test func cancellingATaskThatWaitsForTheResponseCancelsTheLoad() async throws {
        let operation = fixture.manager.load(WebImageRequest(url))
        let load = try await fixture.nextLoad()
        let tasks = (0..<2).map { _ in Task { try await operation.response } }
        tasks[0].cancel()
        for task in tasks { await #expect(throws: WebImageError.cancelled) { try await task.value } }
        #expect(operation.state == .cancelled)
        try await load.cancellations.first()
    }

    @Test func everyWaitingTaskReceivesTheResponse() async throws {
        let operation = fixture.manager.load(WebImageRequest(url))
        async let early = operation.response
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        #expect(try await early.origin == .remote)
        #expect(SolidPicture(1).matches(try await operation.response.image))
    }
}

extension Result where Failure == any Error {
    fileprivate var error: WebImageError? {
        if case .failure(let error) = self { error as? WebImageError } else { nil }
    }
}

/// An empty cache whose first look-up on disk waits.
private final class HeldCache: ImageCaching {
    /// Yields when the look-up has begun.
    let lookUps: AsyncStream<Void>
    private let begun: AsyncStream<Void>.Continuation
    private let gate: AsyncStream<Void>
    private let opener: AsyncStream<Void>.Continuation

    init() {
        (lookUps, begun) = AsyncStream.makeStream()
        (gate, opener) = AsyncStream.makeStream()
    }

    /// Lets the look-up end, and all later ones.
    func release() { opener.finish() }

    func data(for key: ImageCacheKey, in tiers: ImageCache.Tiers) async -> ImageCacheResult? {
        begun.yield()
        for await _ in gate {}
        return nil
    }

    func store(
        _ image: Image?, data: Data?, for key: ImageCacheKey, in tiers: ImageCache.Tiers,
        attributes: DiskCache.Attributes
    ) async {}

    func remove(for key: ImageCacheKey, from tiers: ImageCache.Tiers) async {}

    func clear(_ tiers: ImageCache.Tiers) async {}
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
