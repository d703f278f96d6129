import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport

/// The whole path over a real server: nginx, real files, both caches.
@Suite(.timeLimit(.minutes(2))) struct ServerTests {
    private let files: TemporaryDirectory
    private let cacheDirectory: TemporaryDirectory
    private let server: NGINXServer

    init() throws {
        files = try TemporaryDirectory()
        cacheDirectory = try TemporaryDirectory()
        server = try NGINXServer(root: files.path)
    }

    private func makeManager() -> WebImageManager {
        WebImageManager(
            configuration: WebImageManager.Configuration(
                cache: ImageCache(memory: MemoryCache(costLimit: 64 << 20), disk: DiskCache(in: cacheDirectory)),
                loaders: [FileLoader(), ImageDownloader(configuration: ImageDownloader.Configuration())]))
    }

    @Test func anImageComesFromTheServerThenFromMemoryThenFromDisk() async throws {
        try files.write(SolidPicture(1).png(), to: "a.png")
        let url = try server.url("/a.png")
        let manager = makeManager()
        #expect(try await manager.response(for: WebImageRequest(url)).origin == .remote)
        #expect(try await manager.response(for: WebImageRequest(url)).origin == .memoryCache)
        await manager.imageCache.disk?.flush()

        let nextStart = makeManager()
        let response = try await nextStart.response(for: WebImageRequest(url))
        #expect(response.origin == .diskCache)
        #expect(SolidPicture(1).matches(response.image))
        #expect(try await server.accessLog().count == 1)
    }

    @Test func aResponseFromTheServerHasTransferMetrics() async throws {
        let data = try SolidPicture(4).png()
        try files.write(data, to: "a.png")
        let url = try server.url("/a.png")
        let manager = makeManager()
        let metrics = try #require(try await manager.response(for: WebImageRequest(url)).metrics)
        #expect(metrics.decodedByteCount == Int64(data.count))
        #expect(metrics.exchanges.map(\.url) == [url])
        #expect(try await manager.response(for: WebImageRequest(url)).metrics == nil, "memory needs no transfer")
    }

    @Test func didFinishReceivesTransferMetrics() async throws {
        try files.write(SolidPicture(4).png(), to: "a.png")
        let url = try server.url("/a.png")
        let ends = LockBox<[LoaderMetrics?]>([])
        var configuration = makeManager().configuration
        configuration.didFinish = { _, result in ends.withLock { $0.append(try? result.get().metrics) } }
        let manager = WebImageManager(configuration: configuration)
        for _ in 0..<2 { _ = try await manager.response(for: WebImageRequest(url)) }
        #expect(ends.withLock { $0 }.map { $0?.exchanges.map(\.url) } == [[url], nil])
    }

    @Test func progressIsReportedInTheRequestedSteps() async throws {
        try files.write(Noise.png(byteCountAtLeast: 4_000_000), to: "a.png")
        let url = try server.url("/a.png")
        var configuration = makeManager().configuration
        configuration.minimumProgressInterval = 0.5
        let counts = LockBox<[(received: Int64, expected: Int64?)]>([])
        let queue = ManualCallbackQueue()
        let results = Results()
        WebImageManager(configuration: configuration).load(
            WebImageRequest(url), callbackQueue: queue,
            progress: { received, expected in counts.withLock { $0.append((received, expected)) } },
            completion: results.note)
        while results.all.isEmpty {
            for await _ in queue.arrivals { break }
            queue.runAll()
        }
        let seen = counts.withLock { $0 }
        #expect(seen.first?.received == 0)
        #expect(seen.last?.received == seen.last?.expected)
        #expect(seen.count >= 2 && seen.count <= 4)
    }

    @Test func twoHundredJoinedRequestsAreOneTransfer() async throws {
        try files.write(SolidPicture(9).png(), to: "a.png")
        let url = try server.url("/slow/a.png")
        let manager = makeManager()
        let images = try await withThrowingTaskGroup(of: Image.self) { group in
            for _ in 0..<200 { group.addTask { try await manager.image(at: url) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(images.count == 200)
        #expect(images.allSatisfy { SolidPicture(9).matches($0) })
        #expect(try await server.accessLog().map(\.path) == ["/slow/a.png"])
    }

    @Test func cancellingOneOfTwoLeavesTheOther() async throws {
        try files.write(Noise.png(byteCountAtLeast: 40_000), to: "a.png")
        let url = try server.url("/slow/a.png")
        let manager = makeManager()
        let (staying, leaving) = (Results(), Results())
        let operation = manager.load(WebImageRequest(url), completion: leaving.note)
        // Cancelled while the transfer runs, on the callback queue: no result can overtake it there.
        manager.load(WebImageRequest(url), progress: { _, _ in operation.cancel() }, completion: staying.note)
        #expect(await leaving.wait(for: 1).count == 1)
        #expect(leaving.errors == [.cancelled])
        #expect(try await staying.wait(for: 1)[0].get().origin == .remote)
        #expect(try await server.accessLog().count == 1)
    }

    @Test func cancellingAllDropsTheConnection() async throws {
        let png = try Noise.png(byteCountAtLeast: 400_000)
        try files.write(png, to: "a.png")
        let url = try server.url("/slow/a.png")
        let manager = makeManager()
        let results = Results()
        for _ in 0..<3 {
            manager.load(WebImageRequest(url), progress: { _, _ in manager.cancelAll() }, completion: results.note)
        }
        _ = await results.wait(for: 3)
        #expect(results.errors == [.cancelled, .cancelled, .cancelled])
        let entry = try await server.waitForEntry(path: "/slow/a.png")
        #expect(entry.byteCount < png.count, "the server was still sending when the connection went")
        #expect(manager.cachedImage(for: WebImageRequest(url)) == nil)
    }

    @Test func aThousandLoadsWithRandomCancelsEachEndOnceWithTheirOwnPixels() async throws {
        let fileCount = 300
        for number in 0..<fileCount { try files.write(SolidPicture(number * 7919).png(), to: "\(number).png") }
        let manager = makeManager()
        var random = SplitMix64(seed: 20_261_120)
        let ends = Countdown(1000)
        let tally = LockBox(Tally())
        var operations: [WebImageOperation] = []
        for index in 0..<1000 {
            let number = Int.random(in: 0..<fileCount, using: &random)
            var request = WebImageRequest(try server.url("/\(number).png"))
            request.priority = LoadPriority.allCases.randomElement(using: &random) ?? .normal
            if Bool.random(using: &random) { request.thumbnail = Thumbnail(.pixels(width: 4, height: 4)) }
            let width = request.thumbnail == nil ? 8 : 4
            let operation = manager.load(request) { result in
                tally.withLock { $0.note(result, of: index, width: width, picture: SolidPicture(number * 7919)) }
                ends.signal()
            }
            operations.append(operation)
            // One of the last: others may have ended, on a machine that has other things to do.
            if Int.random(in: 0..<3, using: &random) == 0 {
                operations.suffix(8).randomElement(using: &random)?.cancel()
            }
        }
        try await ends.wait()

        let result = tally.withLock { $0 }
        #expect(result.endCounts.count == 1000)
        #expect(result.endCounts.values.allSatisfy { $0 == 1 })
        #expect(result.wrong == 0)
        #expect(result.failures.isEmpty)
        #expect(result.delivered + result.cancelled == 1000)
        #expect(
            result.delivered > 500 && result.cancelled > 50, "both happened: \(result.delivered), \(result.cancelled)")
        #expect(ends.remaining == 0)
        #expect(manager.runningOperations.isEmpty)
    }

    private struct Tally {
        var endCounts: [Int: Int] = [:]
        var delivered = 0
        var cancelled = 0
        var wrong = 0
        var failures: [WebImageError] = []

        mutating func note(
            _ result: Result<WebImageResponse, WebImageError>, of index: Int, width: Int, picture: SolidPicture
        ) {
            endCounts[index, default: 0] += 1
            switch result {
            case .success(let response):
                delivered += 1
                if response.image.width != width || !picture.matches(response.image) { wrong += 1 }
            case .failure(.cancelled): cancelled += 1
            case .failure(let error): failures.append(error)
            }
        }
    }

    @Test func allKindsOfRequestsForOneFileShareItsTransfer() async throws {
        let url = try files.write(SolidPicture(3).png(), to: "a.png")
        let manager = makeManager()
        let results = Results()
        // Some join, some find it in memory, some come when it has just gone from there.
        for number in 0..<200 {
            manager.load(WebImageRequest(url), completion: results.note)
            if number % 20 == 0 { manager.imageCache.memory.removeAll() }
            if number % 7 == 0 { _ = await results.wait(for: number / 2) }
        }
        let all = await results.wait(for: 200)
        #expect(all.count == 200)
        #expect(try all.allSatisfy { SolidPicture(3).matches(try $0.get().image) })
    }

    @Test func aLocalFileNeedsNoServerAndNoCopy() async throws {
        let url = try files.write(SolidPicture(3).png(), to: "with space.png")
        let manager = makeManager()
        #expect(SolidPicture(3).matches(try await manager.image(at: url)))
        #expect(await manager.imageCache.disk?.contains(url.absoluteString) == false)
    }
}

/// Images that do not compress, for bodies of a wanted length.
enum Noise {
    static func png(byteCountAtLeast byteCount: Int) throws -> Data {
        var random = SplitMix64(seed: UInt64(byteCount))
        var pixels = try MutablePixelBuffer(width: 256, height: byteCount / 768 + 1)
        pixels.withUnsafeMutableBytes { bytes in bytes.copyBytes(from: random.opaquePixels(count: bytes.count / 4)) }
        return try CodecRegistry.shared.encode(Image(pixels: pixels.freeze(isOpaque: true)), as: .png)
    }
}
