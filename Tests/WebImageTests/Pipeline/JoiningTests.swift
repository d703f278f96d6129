import FoundationEssentials
import Glibc
import Testing
import WebImageTestSupport

@testable import WebImage
@testable import WebImageLoading

/// Work that requests share, requests that stay separate, and events for late subscribers.
@Suite(.timeLimit(.minutes(3))) struct JoiningTests {
    private static func key(_ change: (inout LoaderRequest) throws -> Void) throws -> LoaderRequest {
        var request = LoaderRequest(url: try ManagerFixture.url("a"), headers: ["X-A": "1"])
        try change(&request)
        return request.identity
    }

    @Test func propertiesThatAffectTheResponseSeparateRequests() throws {
        let plain = try Self.key { _ in }
        #expect(try Self.key { $0.headers["Authorization"] = "Bearer s" } != plain)
        #expect(try Self.key { $0.headers["X-A"] = "2" } != plain)
        #expect(try Self.key { $0.method = .head } != plain)
        #expect(try Self.key { $0.credential = Credential(username: "u", password: "p") } != plain)
        #expect(try Self.key { $0.handlesCookies = true } != plain)
        #expect(try Self.key { $0.allowsInvalidCertificates = true } != plain)
        #expect(try Self.key { $0.url = try ManagerFixture.url("b") } != plain)
    }

    @Test func otherPropertiesDoNotSeparateRequests() throws {
        let plain = try Self.key { _ in }
        #expect(try Self.key { $0.idleTimeout = .seconds(1) } == plain)
        #expect(try Self.key { $0.totalTimeout = .seconds(1) } == plain)
        #expect(try Self.key { $0.headers = ["x-a": "1"] } == plain)
    }

    @Test func differentCredentialsAreDifferentLoads() async throws {
        let fixture = try ManagerFixture()
        let url = try ManagerFixture.url("secret")
        let (first, second) = (Results(), Results())
        fixture.manager.load(WebImageRequest(url, headers: ["Authorization": "Bearer 1"]), completion: first.note)
        fixture.manager.load(WebImageRequest(url, headers: ["Authorization": "Bearer 2"]), completion: second.note)
        for _ in 1...2 {
            let load = try await fixture.nextLoad()
            let number = load.request.headers["Authorization"] == "Bearer 1" ? 1 : 2
            try load.answer(SolidPicture(number).png())
        }
        #expect(fixture.loader.loadCount == 2)
        #expect(try SolidPicture(1).matches(await first.wait(for: 1)[0].get().image))
        #expect(try SolidPicture(2).matches(await second.wait(for: 1)[0].get().image))
    }

    @Test func aFailureReachesEveryJoinerOnce() async throws {
        let fixture = try ManagerFixture()
        let url = try ManagerFixture.url("empty")
        let results = Results()
        for number in 0..<30 {
            let side = 2 + number % 3
            let request = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: side, height: side)))
            fixture.manager.load(request, completion: results.note)
        }
        // Answers every load: without joining there are 30, and none may hang.
        let answers = Task { [loader = fixture.loader] in
            for await load in loader.loads {
                if load.request.url == url {
                    load.end(.failure(.invalidResponse(reason: .emptyBody, url: url)))
                } else {
                    try load.answer(SolidPicture(1).png())
                }
            }
        }
        #expect(await results.wait(for: 30).count == 30)
        // Every callback is on its way by the time that another load, begun later, has ended on the same queue.
        fixture.manager.load(WebImageRequest(try ManagerFixture.url("other")), completion: results.note)
        #expect(await results.wait(for: 31).count == 31)
        answers.cancel()
        #expect(results.errors == Array(repeating: .invalidResponse(reason: .emptyBody, url: url), count: 30))
        #expect(fixture.loader.loadCount == 2)
    }

    @Test func eachJoinerHasItsOwnProgressQueueAndCancellation() async throws {
        let fixture = try ManagerFixture()
        let request = WebImageRequest(try ManagerFixture.url("joined"))
        let queues = (ManualCallbackQueue(), ManualCallbackQueue())
        let progress = (LockBox<[Int64]>([]), LockBox<[Int64]>([]))
        let results = (Results(), Results())
        let leaving = fixture.manager.load(
            request, callbackQueue: queues.0, progress: { count, _ in progress.0.withLock { $0.append(count) } },
            completion: results.0.note)
        let load = try await fixture.nextLoad()
        let data = try SolidPicture(5).png()
        load.begin(expectedByteCount: Int64(data.count))
        load.send(data.prefix(10))
        fixture.manager.load(
            request, callbackQueue: queues.1, progress: { count, _ in progress.1.withLock { $0.append(count) } },
            completion: results.1.note)
        queues.1.runAll()
        #expect(progress.1.withLock { $0 } == [0, 10], "the late one is told at once")
        #expect(progress.0.withLock { $0 } == [], "its own queue has not run yet")
        queues.0.runAll()
        #expect(progress.0.withLock { $0 } == [0, 10])

        leaving.cancel()
        load.send(data.dropFirst(10))
        load.end(.success(()))
        queues.0.runAll()
        #expect(results.0.errors == [.cancelled])
        while results.1.all.isEmpty {
            for await _ in queues.1.arrivals { break }
            queues.1.runAll()
        }
        #expect(try SolidPicture(5).matches(results.1.all[0].get().image))
        #expect(progress.1.withLock { $0.last } == Int64(data.count))
        #expect(progress.0.withLock { $0 } == [0, 10], "nothing after the cancel")
        #expect(fixture.loader.loadCount == 1)
    }

    /// The bytes for a progressive decoder.
    @Test(arguments: [8 << 20, 100]) func aLateJoinerReceivesTheBytesSoFar(memoryByteLimit: Int) async throws {
        let loader = ScriptedLoader()
        var configuration = WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil), loaders: [loader])
        configuration.bodyStorage.memoryByteLimit = memoryByteLimit
        let pipeline = Pipeline(configuration)
        let context = LoadContext(request: WebImageRequest(try ManagerFixture.url("late")), loader: loader)
        let (early, late) = (PartialBodies(), PartialBodies())
        let key = context.bytesKey(sources: .loader)
        let first = pipeline.joinBytes(key, for: context, priority: .normal, handler: early.note)
        let load = try await loader.loads.first()
        let body = FaultServer.pattern(3000)
        load.begin(expectedByteCount: nil)
        load.send(body[..<1000])
        load.send(body[1000..<2000])
        let second = pipeline.joinBytes(key, for: context, priority: .normal, handler: late.note)
        #expect(late.byteCounts == [2000])
        #expect(late.progress == [LoadProgress(received: 2000, expected: nil)])
        if memoryByteLimit > 3000 { #expect(late.newest == body[..<2000]) }
        load.send(body[2000...])
        #expect(early.byteCounts == [1000, 2000, 3000])
        #expect(late.byteCounts == [2000, 3000])
        load.end(.success(()))
        #expect(try await early.wait() == body)
        #expect(try await late.wait() == body)
        #expect(late.newest == body)
        _ = (first, second)
    }

    @Test func aLongBodyGoesThroughAFileAndDecodesUnchanged() async throws {
        let loader = ScriptedLoader()
        let directory = try TemporaryDirectory()
        var configuration = WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(costLimit: 64 << 20), disk: nil), loaders: [loader])
        configuration.bodyStorage = BodyStorage(memoryByteLimit: 50, temporaryDirectory: directory.url("."))
        let manager = WebImageManager(configuration: configuration)
        let data = try SolidPicture(7).png()
        async let response = manager.response(for: WebImageRequest(ManagerFixture.url("long")))
        try await loader.loads.first().answer(data, pieceCount: 3)
        #expect(SolidPicture(7).matches(try await response.image))
        #expect(try await response.data == data)

        configuration.bodyStorage.temporaryDirectory = directory.url("missing")
        let failing = WebImageManager(configuration: configuration)
        let url = try ManagerFixture.url("unkept")
        let result = Task { try await failing.image(at: url) }
        let load = try await loader.loads.first()
        load.begin(expectedByteCount: 1000)
        load.send(data)
        for await _ in load.cancellations { break }
        let error = await #expect(throws: WebImageError.self) { try await result.value }
        #expect(
            error
                == .outOfResources(
                    reason: .temporaryFile(directory: directory.path("missing"), errno: ENOENT), url: url))
    }

    @Test func aLongLocalFileTakesNoMemory() async throws {
        let directory = try TemporaryDirectory()
        let data = try SolidPicture(7).png()
        let request = WebImageRequest(try directory.write(data, to: "long.png"))
        var configuration = WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(costLimit: 64 << 20), disk: nil), loaders: [FileLoader()])
        configuration.bodyStorage = BodyStorage(memoryByteLimit: 50, temporaryDirectory: directory.url("."))
        let response = try await WebImageManager(configuration: configuration).response(for: request)
        #expect(SolidPicture(7).matches(response.image))
        #expect(response.data == data)

        configuration.bodyStorage.temporaryDirectory = directory.url("missing")
        configuration.cache = ImageCache(memory: MemoryCache(costLimit: 64 << 20), disk: nil)
        let failing = WebImageManager(configuration: configuration)
        await #expect(
            throws: WebImageError.outOfResources(
                reason: .temporaryFile(directory: directory.path("missing"), errno: ENOENT), url: request.url)
        ) { try await failing.response(for: request) }
    }
}

/// The events of the bytes stage for one subscriber.
private final class PartialBodies: Sendable {
    private let events = LockBox<[Job<LoadedBytes, LoadNews>.Event]>([])
    private let ended = Countdown()

    var note: Job<LoadedBytes, LoadNews>.Handler {
        { event in
            self.events.withLock { $0.append(event) }
            if case .finished = event { self.ended.signal() }
        }
    }

    private var bodies: [PartialBody] {
        events.withLock { $0 }.compactMap { if case .news(.body(let body)) = $0 { body } else { nil } }
    }

    var byteCounts: [Int] { bodies.map(\.byteCount) }
    var newest: Data? { bodies.last?.data }
    var progress: [LoadProgress] {
        events.withLock { $0 }.compactMap { if case .news(.progress(let progress)) = $0 { progress } else { nil } }
    }

    func wait() async throws -> Data? {
        try await ended.wait()
        guard case .finished(let result) = events.withLock({ $0.last }) else { return nil }
        return try result.get().data
    }
}
