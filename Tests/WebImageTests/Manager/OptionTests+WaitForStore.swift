import Dispatch
import FoundationEssentials
import Testing
@testable import WebImage
import WebImageTestSupport

extension OptionTests {
    @Test func waitForStoreCompletesWhenTheBytesAreOnDisk() async throws {
        let request = WebImageRequest(url, options: .waitForStore)
        _ = try await fixture.load(request, answeringWith: SolidPicture(1))
        // Another process sees them: what is only staged is not in the directory's index.
        let reader = DiskCache(configuration: try #require(fixture.cache.disk).configuration)
        #expect(await reader.data(for: request.cacheKey.source) == (try SolidPicture(1).png()))
    }

    @Test func waitForStoreWaitsForTheBytesOfAnImageInMemory() async throws {
        let disk = try #require(fixture.cache.disk)
        // The disk is open, and busy with something else when the bytes come.
        await disk.flush()
        let (isBusy, gate) = (Countdown(), DispatchSemaphore(value: 0))
        CacheAdapter.pipelineCache(fixture.cache).whenWritten {
            isBusy.signal()
            gate.wait()
        }
        defer { gate.signal() }
        try await isBusy.wait()
        let request = WebImageRequest(url, options: .waitForStore)
        let plain = request.with { $0.options = [] }
        _ = try await fixture.load(plain, answeringWith: SolidPicture(1))
        let (queue, results) = (ManualCallbackQueue(), Results())
        fixture.manager.load(request, callbackQueue: queue, completion: results.note)
        queue.runAll()
        #expect(results.all.isEmpty)
        gate.signal()
        try await queue.arrivals.first()
        queue.runAll()
        #expect(try results.all.first?.get().origin == .memoryCache)
        let reader = DiskCache(configuration: disk.configuration)
        #expect(await reader.data(for: plain.cacheKey.source) == (try SolidPicture(1).png()))
    }

    @Test func waitForStoreDoesNotCompleteBeforeTheBytesAreOnDisk() async throws {
        let (encoding, ended, gate) = (Countdown(), Countdown(), DispatchSemaphore(value: 0))
        let directory = try TemporaryDirectory()
        var configuration = ImageCache.Configuration()
        configuration.serializer = { _, _, _ in
            encoding.signal()
            // 10 s are a safety net.
            _ = gate.wait(timeout: .now() + 10)
            return Data("encoded".utf8)
        }
        let cache = ImageCache(
            memory: MemoryCache(costLimit: 1 << 20), disk: DiskCache(in: directory), configuration: configuration)
        let fixture = try ManagerFixture { $0.cache = cache }
        var request = WebImageRequest(url, options: .waitForStore, thumbnail: Thumbnail(.pixels(width: 2, height: 2)))
        request.cacheAccess = .all
        fixture.manager.load(request) { _ in ended.signal() }
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        try await encoding.wait()
        // Without the option it comes as soon as the image is decoded, which was before.
        await #expect(throws: TimeLimitReached.self) { try await ended.wait(atMost: .milliseconds(200)) }
        gate.signal()
        try await ended.wait()
        #expect(await cache.disk?.data(for: request.cacheKey.description) == Data("encoded".utf8))
    }
}
