import Foundation
import Testing
import WebImage
import WebImageService
import WebImageTestSupport

@testable import WebImageShared

/// Image services that share a real store.
@Suite(.enabled(if: S3Server.isInstalled, "needs radosgw, ceph-mon and ceph-osd"), .timeLimit(.minutes(2)))
struct ServiceFleetTests: FleetSuite {
    let fleet: Fleet

    init() async throws {
        fleet = try await Fleet(of: S3Server.ofFleet.get())
    }

    private func service(_ cache: SharedImageCache?, _ change: (inout ImageService.Configuration) -> Void = { _ in })
        throws -> ImageService
    {
        var downloads = ImageDownloader.Configuration.server
        downloads.addressPolicy.allowedNetworks = ["127.0.0.0/8"]
        var configuration = ImageService.Configuration()
        configuration.images.loaders = [ImageDownloader(configuration: downloads)]
        configuration.images.isolation = .libraryFormats
        configuration.images.cache = ImageCache(disk: nil)
        configuration.shared = cache
        change(&configuration)
        return try ImageService(configuration)
    }

    private func request(_ options: String) throws -> ServiceRequest {
        ServiceRequest(target: "/_/\(options)/plain/\(try origin.url("/a").absoluteString)@png")
    }

    private func originRequestCount() async throws -> Int { try await origin.requests().count { $0.path == "/a" } }

    @Test func oneMachineMakesAResultForAll() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let caches = (0..<3).map { _ in SharedImageCache(configuration()) }
        for cache in caches { await cache.store.learnAboutConditionalWrites() }
        let services = try caches.map { try service($0) }
        let request = try request("w:2")
        let answers = await withTaskGroup(of: ServiceAnswer.self) { group in
            for service in services { group.addTask { await service.answer(to: request) } }
            return await group.reduce(into: [ServiceAnswer]()) { $0.append($1) }
        }
        #expect(answers.allSatisfy { $0.status == 200 })
        #expect(Set(answers.map(\.body.data)).count == 1)
        #expect(services.reduce(0) { $0 + $1.counters.made } == 1)
        #expect(services.reduce(0) { $0 + $1.counters.sharedHits } == 2)
        #expect(try await originRequestCount() == 1)
        // A machine that comes later gets the result, and the original for another one.
        for cache in caches { await cache.flush() }
        #expect(try await storedBody("/a") == Self.picture())
        let late = try service(SharedImageCache(configuration()))
        #expect(await late.answer(to: request).body.data == answers[0].body.data)
        #expect(late.counters.sharedHits == 1)
        #expect(await late.answer(to: try self.request("w:1")).status == 200)
        #expect(try await originRequestCount() == 1)
    }

    @Test func aMachineWithoutAPlacePromisesNothing() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let servers = try FaultServer()
        let caches = (0..<2).map { _ in SharedImageCache(configuration()) }
        for cache in caches { await cache.store.learnAboutConditionalWrites() }
        let full = try service(caches[0]) { $0.limits.workCount = 1 }
        let stalled = ServiceRequest(target: "/_/w:1/plain/\(try servers.url("/stall-headers/a").absoluteString)")
        let running = Task { await full.answer(to: stalled) }
        while full.counters.running < 1, !Task.isCancelled { await Task.yield() }
        let request = try request("w:3")
        let waiting = Task { await full.answer(to: request) }
        while full.counters.waiting < 1, !Task.isCancelled { await Task.yield() }
        // The other machine need not wait for a queue.
        let free = try service(caches[1])
        #expect(await free.answer(to: request).status == 200)
        #expect(free.counters.made == 1 && caches[1].counters.abandonedWaits == 0)
        await caches[1].flush()
        running.cancel()
        #expect(await waiting.value.status == 200)
        #expect(full.counters.sharedHits == 1)
        _ = await running.value
    }

    @Test func aFullMachineHasWhatOthersHaveMade() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let servers = try FaultServer()
        let caches = (0..<2).map { _ in SharedImageCache(configuration()) }
        for cache in caches { await cache.store.learnAboutConditionalWrites() }
        let request = try request("w:3")
        let made = await (try service(caches[0])).answer(to: request)
        #expect(made.status == 200)
        await caches[0].flush()
        let full = try service(caches[1]) {
            $0.limits.workCount = 1
            $0.limits.queueLength = 0
        }
        let stalled = ServiceRequest(target: "/_/w:1/plain/\(try servers.url("/stall-headers/a").absoluteString)")
        let running = Task { await full.answer(to: stalled) }
        while full.counters.running < 1, !Task.isCancelled { await Task.yield() }
        #expect(await full.answer(to: request).body.data == made.body.data)
        #expect(full.counters.sharedHits == 1)
        #expect(await full.answer(to: try self.request("w:1")).status == 429)
        running.cancel()
        _ = await running.value
    }

    @Test func aResultThatCannotBeMadeLeavesNoMark() async throws {
        try await origin.answer("/a", status: 404)
        let cache = SharedImageCache(configuration())
        await cache.store.learnAboutConditionalWrites()
        #expect(await (try service(cache)).answer(to: try request("w:2")).status == 404)
        await cache.flush()
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let other = SharedImageCache(configuration())
        await other.store.learnAboutConditionalWrites()
        let service = try service(other)
        #expect(await service.answer(to: try request("w:2")).status == 200)
        #expect(other.counters.abandonedWaits == 0)
    }

    @Test func sourcesCanBeInAStore() async throws {
        var configuration = configuration()
        configuration.location.prefix = ""
        let stored = try await S3Client(configuration).send(.put, "photos/%C3%A4%20b.png", body: Self.picture())
        #expect(stored.statusCode == 200)
        let bucket = configuration.location.bucket
        let service = try service(nil) {
            $0.store = configuration.location
            $0.storeCredential = credential
            $0.allowedSources = ["s3://\(bucket)/photos/"]
        }
        func status(_ source: String) async -> Int {
            await service.answer(to: ServiceRequest(target: "/_/w:2/plain/s3://" + source)).status
        }
        #expect(await status("\(bucket)/photos/%25C3%25A4%2520b.png") == 200)
        #expect(await status("\(bucket)/photos/none.png") == 404)
        #expect(await status("\(bucket)/other/a.png") == 403)
        #expect(await status("\(bucket)/photos/../other/a.png") == 403)
        #expect(await status("another-bucket/photos/a.png") == 403)
    }
}
