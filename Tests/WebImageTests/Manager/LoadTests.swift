import Dispatch
import FoundationEssentials
import Testing
@testable import WebImage
import WebImageTestSupport

@Suite(.timeLimit(.minutes(1))) struct LoadTests {
    private let fixture: ManagerFixture
    private let url: URL

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("a")
    }

    @Test func loadsTheURLInAText() async throws {
        async let image = fixture.manager.image(at: url.absoluteString)
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        #expect(try await SolidPicture(1).matches(image))
    }

    @Test func comesFromTheLoaderThenFromMemoryThenFromDisk() async throws {
        let request = WebImageRequest(url)
        let first = try await fixture.load(request, answeringWith: SolidPicture(1))
        let second = try await fixture.manager.response(for: request)
        fixture.cache.memory.removeAll()
        let third = try await fixture.manager.response(for: request)

        #expect([first.origin, second.origin, third.origin] == [.remote, .memoryCache, .diskCache])
        #expect([first, second, third].allSatisfy { SolidPicture(1).matches($0.image) })
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func returnsTheOriginalBytes() async throws {
        let png = try SolidPicture(1).png()
        let request = WebImageRequest(url)
        let first = try await fixture.load(request, answeringWith: SolidPicture(1))
        #expect(first.data == png)
        fixture.cache.memory.removeAll()
        #expect(try await fixture.manager.response(for: request).data == png)
        #expect(try await fixture.manager.response(for: request).data == nil, "memory keeps pixels only")
    }

    @Test func storesTheOriginalOnDiskAndTheVariantInMemory() async throws {
        let request = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 4, height: 4)))
        let response = try await fixture.load(request, answeringWith: SolidPicture(2))
        #expect(response.image.pixels.size == PixelSize(width: 4, height: 3))
        #expect(response.image.isThumbnail)

        #expect(fixture.manager.cachedImage(for: request) != nil)
        #expect(
            fixture.manager.cachedImage(for: WebImageRequest(url)) == nil, "a thumbnail never stands for the original")
        #expect(await fixture.cache.disk?.data(for: request.cacheKey.source) == (try SolidPicture(2).png()))
        #expect(await fixture.cache.disk?.data(for: request.cacheKey.description) == nil)

        let original = try await fixture.manager.response(for: WebImageRequest(url))
        #expect(original.origin == .diskCache)
        #expect(original.image.pixels.size == PixelSize(width: 8, height: 6))
    }

    @Test func callsBackAsynchronouslyAlsoForMemoryHits() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        let queue = ManualCallbackQueue()
        let results = Results()
        fixture.manager.load(WebImageRequest(url), callbackQueue: queue, completion: results.note)
        #expect(results.all.isEmpty)
        queue.runAll()
        #expect(results.all.count == 1)
    }

    @Test func callsBackOnTheGivenQueue() async throws {
        let queue = DispatchQueue(label: "test")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        async let isOnQueue = withCheckedContinuation { continuation in
            fixture.manager.load(WebImageRequest(url), callbackQueue: queue) { _ in
                continuation.resume(returning: DispatchQueue.getSpecific(key: key) == true)
            }
        }
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        #expect(await isOnQueue)
    }

    @Test func sharesOneLoadAndOneDecodeAmongEqualRequests() async throws {
        let decoder = ProbeDecoder()
        let fixture = try ManagerFixture(decoder: decoder)
        let results = Results()
        for _ in 0..<20 { fixture.manager.load(WebImageRequest(url), completion: results.note) }
        try await fixture.nextLoad().answer(SolidPicture(5).png())
        let all = await results.wait(for: 20)

        #expect(all.allSatisfy { (try? SolidPicture(5).matches($0.get().image)) == true })
        #expect(fixture.loader.loadCount == 1)
        #expect(decoder.decodeCount == 1)
    }

    @Test func sharesTheBytesAmongDifferentSizes() async throws {
        let decoder = ProbeDecoder()
        let fixture = try ManagerFixture(decoder: decoder)
        let results = Results()
        for side in [2, 4, 8] {
            let request = WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: side, height: side)))
            fixture.manager.load(request, completion: results.note)
        }
        try await fixture.nextLoad().answer(SolidPicture(5).png())
        let widths = try await results.wait(for: 3).map { try $0.get().image.width }

        #expect(Set(widths) == [2, 4, 8])
        #expect(fixture.loader.loadCount == 1)
        #expect(decoder.decodeCount == 3)
    }

    @Test func separatesLoadsWithDifferentCredentials() async throws {
        let results = Results()
        for user in ["1", "2"] {
            let request = WebImageRequest(url, headers: ["Authorization": user])
            fixture.manager.load(request, completion: results.note)
        }
        for _ in 0..<2 {
            let load = try await fixture.nextLoad()
            let number = try #require(load.request.headers["Authorization"].flatMap { Int($0) })
            try load.answer(SolidPicture(number).png())
        }
        _ = await results.wait(for: 2)
        for number in [1, 2] {
            let request = WebImageRequest(url, headers: ["Authorization": "\(number)"])
            let image = try #require(fixture.manager.cachedImage(for: request))
            #expect(SolidPicture(number).matches(image))
        }
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) == nil)
    }

    @Test func continuesWhenTheOperationIsReleased() async throws {
        let results = Results()
        fixture.manager.load(WebImageRequest(url), completion: results.note)
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        #expect(await results.wait(for: 1).count == 1)
        #expect(fixture.manager.runningOperations.isEmpty)
    }

    @Test func startsProgressAtZero() async throws {
        let progress = LockBox<[Int64]>([])
        let results = Results()
        fixture.manager.load(
            WebImageRequest(url), progress: { received, _ in progress.withLock { $0.append(received) } },
            completion: results.note)
        let png = try SolidPicture(1).png()
        try await fixture.nextLoad().answer(png, pieceCount: 4)
        _ = await results.wait(for: 1)
        let seen = progress.withLock { $0 }
        #expect(seen.first == 0)
        #expect(seen == seen.sorted())
        #expect(seen.last ?? 0 <= Int64(png.count))
    }

    @Test func passesALaterPriorityOnToTheLoader() async throws {
        let operation = fixture.manager.load(WebImageRequest(url, priority: .low)) { _ in }
        let load = try await fixture.nextLoad()
        #expect(load.initialPriority == .low)
        operation.priority = .high
        #expect(try await load.priorityChanges.first() == .high)
        let joined = fixture.manager.load(WebImageRequest(url, priority: .veryHigh)) { _ in }
        #expect(try await load.priorityChanges.first() == .veryHigh)
        joined.cancel()
        #expect(try await load.priorityChanges.first() == .high)
        operation.cancel()
    }

    @Test func sendsTheAcceptedImageFormats() async throws {
        fixture.manager.load(WebImageRequest(url)) { _ in }
        let accept = try #require(try await fixture.nextLoad().request.headers["Accept"])
        for format in CodecRegistry.builtIn.readableFormats { #expect(accept.contains(format.mimeType)) }

        let own = try ManagerFixture.url("own")
        fixture.manager.load(WebImageRequest(own, headers: ["accept": "image/png"])) { _ in }
        #expect(try await fixture.nextLoad().request.headers == ["accept": "image/png"])
        fixture.manager.cancelAll()
    }

    @Test func asksTheLastLoaderFirst() async throws {
        let (first, last) = (ScriptedLoader(), ScriptedLoader())
        let manager = WebImageManager(
            configuration: WebImageManager.Configuration(
                cache: ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil), loaders: [first, last]))
        manager.load(WebImageRequest(url)) { _ in }
        #expect(try await last.loads.first().request.url == url)
        #expect(first.loadCount == 0)
        manager.cancelAll()
    }
}

/// Results in the order they came.
final class Results: Sendable {
    private let results = LockBox<[Result<WebImageResponse, WebImageError>]>([])
    private let arrivals: AsyncStream<Void>
    private let arrived: AsyncStream<Void>.Continuation

    init() {
        (arrivals, arrived) = AsyncStream.makeStream()
    }

    var all: [Result<WebImageResponse, WebImageError>] { results.withLock { $0 } }

    var errors: [WebImageError] {
        all.compactMap { if case .failure(let error) = $0 { error } else { nil } }
    }

    var note: @Sendable (Result<WebImageResponse, WebImageError>) -> Void {
        { result in
            self.results.withLock { $0.append(result) }
            self.arrived.yield()
        }
    }

    /// Waits until there are `count`; the suite's time limit is the safety net.
    func wait(for count: Int) async -> [Result<WebImageResponse, WebImageError>] {
        if all.count < count {
            for await _ in arrivals where all.count >= count { break }
        }
        return all
    }
}
