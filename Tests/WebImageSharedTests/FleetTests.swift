import Foundation
import Testing
import WebImage
import WebImageTestSupport

@testable import WebImageShared

/// Machines with a real store between them and the origin.
@Suite(.timeLimit(.minutes(10)), .enabled(if: S3Server.isInstalled, "needs radosgw, ceph-mon and ceph-osd"))
struct FleetTests: FleetSuite {
    private let server: S3Server
    let fleet: Fleet

    init() async throws {
        server = try S3Server.ofFleet.get()
        fleet = try await Fleet(of: server)
    }

    @Test func whatOneMachineLoadedTheOthersNeedNot() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let (first, second) = (SharedImageCache(configuration()), SharedImageCache(configuration()))
        _ = try await load("/a", on: first)
        await first.flush()
        #expect(first.counters.misses == 1 && first.counters.writes == 1)
        let response = try await load("/a", on: second)
        #expect(response.image.pixels.size == PixelSize(width: 9, height: 7))
        #expect(response.data == (try Self.picture()))
        #expect(second.counters.hits == 1)
        #expect(try await requestCount("/a") == 1)
    }

    @Test func aStaleResponseIsRevalidatedForAll() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=0\nETag: \"1\"", body: Self.picture())
        let cache = SharedImageCache(configuration())
        _ = try await load("/a", on: cache)
        await cache.flush()
        try await origin.answer("/a", status: 304, "Cache-Control: max-age=600\nETag: \"1\"")
        let second = try await load("/a", on: SharedImageCache(configuration()))
        #expect(second.data == (try Self.picture()))
        #expect(try await origin.requests().last?.headers["if-none-match"] == "\"1\"")
    }

    @Test func aConfirmationOfOneMachineFreshensAll() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=0\nETag: \"1\"", body: Self.picture())
        let (first, second) = (SharedImageCache(configuration()), SharedImageCache(configuration()))
        _ = try await load("/a", on: first)
        await first.flush()
        try await origin.answer("/a", status: 304, "Cache-Control: max-age=600\nETag: \"1\"")
        _ = try await load("/a", on: first)
        await first.flush()
        let count = try await requestCount("/a")
        _ = try await load("/a", on: second)
        #expect(second.counters.hits == 1)
        #expect(try await requestCount("/a") == count)
    }

    /// RFC 5861: a stale response may stand in for an error of the server, and for no other answer.
    @Test(arguments: [(503, true), (404, false)])
    func aStaleResponseStandsInForAnError(status: Int, isServed: Bool) async throws {
        try await origin.answer(
            "/a", "Cache-Control: max-age=0, stale-if-error=600\nETag: \"1\"", body: Self.picture())
        let cache = SharedImageCache(configuration())
        _ = try await load("/a", on: cache)
        await cache.flush()
        try await origin.answer("/a", status: status)
        let other = SharedImageCache(configuration())
        if isServed {
            #expect(try await load("/a", on: other).data == (try Self.picture()))
        } else {
            await #expect(throws: WebImageError.httpStatus(code: status, url: try origin.url("/a"))) {
                try await load("/a", on: other)
            }
        }
    }

    @Test func variantsAreToldApart() async throws {
        try await origin.answer(
            "/a", "Cache-Control: max-age=600\nVary: Accept-Language", body: Self.picture(10))
        let cache = SharedImageCache(configuration())
        _ = try await load("/a", on: cache) { $0.headers["Accept-Language"] = "de" }
        await cache.flush()
        try await origin.answer("/a", "Cache-Control: max-age=600\nVary: Accept-Language", body: Self.picture(200))
        let other = try await load("/a", on: cache) { $0.headers["Accept-Language"] = "fr" }
        await cache.flush()
        #expect(other.data == (try Self.picture(200)))
        let first = try await load("/a", on: cache) { $0.headers["Accept-Language"] = "de" }
        #expect(first.data == (try Self.picture(10)))
        #expect(try await requestCount("/a") == 2)
    }

    @Test func aDamagedObjectIsAMissAndReplaced() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let cache = SharedImageCache(configuration())
        _ = try await load("/a", on: cache)
        await cache.flush()
        let key = SharedObject.key(of: try origin.url("/a").absoluteString)
        let whole = try await client().send(.get, key).body
        var forged = whole
        forged[forged.count / 2] ^= 0xFF
        for damaged in [whole.prefix(whole.count / 2), forged, Data("foreign".utf8), Data()] {
            #expect(try await client().send(.put, key, body: Data(damaged)).statusCode == 200)
            let other = SharedImageCache(configuration())
            #expect(try await load("/a", on: other).data == (try Self.picture()))
            await other.flush()
            #expect(other.counters.hits == 0 && other.counters.invalidObjects >= 1)
            #expect(SharedObject(try await client().send(.get, key).body, name: nil, secret: nil)?.kind == .response)
        }
    }

    @Test func oneMachineLoadsWhatManyWant() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let caches = (0..<8).map { _ in SharedImageCache(configuration()) }
        // They have found out what the store can.
        for cache in caches { await cache.store.learnAboutConditionalWrites() }
        try await withThrowingTaskGroup { group in
            for cache in caches {
                group.addTask { try await load("/a", on: cache).data }
            }
            for try await data in group { #expect(data == (try Self.picture())) }
        }
        // Each that ran out of patience loads it too.
        let hits = caches.reduce(0) { $0 + $1.counters.hits }
        #expect(try await requestCount("/a") == caches.count - hits)
        #expect(hits >= caches.count / 2)
    }

    @Test func aLeaseWithoutAnOwnerIsNotWaitedForLong() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let name = try origin.url("/a").absoluteString
        let lease = SharedObject(.lease, name: name, content: Data("1".utf8))
        #expect(
            try await client().send(.put, SharedObject.key(of: name), body: lease.encoded(secret: nil)).statusCode
                == 200)
        let cache = SharedImageCache(configuration())
        // Its owner does not come back. Whether it is still valid after the half second depends on the machine's load.
        #expect(try await load("/a", on: cache).data == (try Self.picture()))
        await cache.flush()
        let second = SharedImageCache(configuration())
        _ = try await load("/a", on: second)
        #expect(second.counters.hits == 1)
    }

    @Test func wrongKeysAndAMissingBucketCostNoLoad() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let other = try S3Location("s3://no-such-bucket?endpoint=http://127.0.0.1:\(server.port)")
        for configuration in [
            configuration(nil, S3Credential(keyID: "testkey", secret: "wrong")), configuration(other),
        ] {
            let cache = SharedImageCache(configuration)
            for _ in 0..<4 {
                #expect(try await load("/a", on: cache).data == (try Self.picture()))
                await cache.flush()
            }
            #expect(cache.counters.hits == 0 && cache.counters.failures >= CircuitBreaker.failureLimit)
            #expect(cache.counters.isInterrupted)
        }
    }

    @Test func aDeadStoreCostsNoLoad() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let port = try LoopbackRequest.unusedPort()
        let cache = SharedImageCache(
            configuration(try S3Location("s3://bucket?endpoint=http://127.0.0.1:\(port)")))
        for _ in 0..<6 { #expect(try await load("/a", on: cache).data == (try Self.picture())) }
        #expect(cache.counters.isInterrupted && cache.counters.interruptions == 1)
    }

    @Test func listsWhatIsStored() async throws {
        let cache = SharedImageCache(configuration())
        for path in ["/a", "/b"] {
            try await origin.answer(path, "Cache-Control: max-age=600", body: Self.picture())
            _ = try await load(path, on: cache)
        }
        await cache.flush()
        for foreign in ["v1/empty", "v1/foreign"] {
            let body = foreign == "v1/empty" ? Data() : Data("foreign".utf8)
            #expect(try await client().send(.put, foreign, body: body).statusCode == 200)
        }
        let names = LockBox<[String: String?]>([:])
        try await cache.forEachEntry { entry in names.withLock { $0[entry.key] = .some(entry.name) } }
        let urls = try ["/a", "/b"].map { try origin.url($0).absoluteString }
        for url in urls { #expect(names.withLock { $0[SharedObject.key(of: url)] } == url) }
        #expect(names.withLock { $0["v1/empty"] } == .some(nil) && names.withLock { $0["v1/foreign"] } == .some(nil))
        #expect(try await cache.storedBytes(forKey: urls[0]) == (try Self.picture()))
        try await cache.removeStored(forKey: urls[0])
        #expect(try await cache.storedBytes(forKey: urls[0]) == nil)
    }

    @Test func aSlowStoreIsLeftAlone() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let proxy = try SlowProxy(to: server.port, milliseconds: 1000)
        let slow = try S3Location("s3://\(location.bucket)?endpoint=http://127.0.0.1:\(proxy.port)")
        let cache = SharedImageCache(SharedImageCache.Configuration(location: slow, credential: credential))
        for _ in 0..<6 {
            #expect(try await load("/a", on: cache).data == (try Self.picture()))
            await cache.flush()
        }
        #expect(cache.counters.hits == 0 && cache.counters.isInterrupted)
    }

    @Test func worksOverTLS() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let locations = """
            location ~ ^/fleet- { proxy_pass http://127.0.0.1:\(server.port); proxy_set_header Host $http_host; }
            """
        let nginx = try NGINXServer(certificates: [.valid], locations: locations)
        let port = try #require(try nginx.secureURL("/").port)
        let secure = try S3Location("s3://\(location.bucket)?endpoint=https://127.0.0.1:\(port)")
        var trusting = configuration(secure)
        trusting.authoritiesPath = try TestCertificates.shared.get().authority
        for (configuration, hits) in [(trusting, 1), (configuration(secure), 0)] {
            let (first, second) = (SharedImageCache(configuration), SharedImageCache(configuration))
            _ = try await load("/a", on: first)
            await first.flush()
            _ = try await load("/a", on: second)
            #expect(second.counters.hits == hits)
            await second.flush()
        }
    }

    @Test func programsStoreValues() async throws {
        let (first, second) = (SharedImageCache(configuration()), SharedImageCache(configuration()))
        let key = ImageCacheKey(source: "https://a/b", variant: "thumbnail")
        let attributes = DiskCache.Attributes(expiration: .after(.seconds(600)), extendedData: Data([1]))
        await first.store(nil, data: try Self.picture(), for: key, in: .all, attributes: attributes)
        await first.flush()
        let result = await second.data(for: key, in: .disk)
        #expect(result?.data == (try Self.picture()) && result?.attributes.extendedData == Data([1]))
        #expect(await second.image(for: key, in: .disk)?.image?.pixels.size == PixelSize(width: 9, height: 7))
        await second.remove(for: key, from: .all)
        #expect(await first.data(for: key, in: .disk) == nil)
        await first.store(
            nil, data: try Self.picture(), for: key, in: .all,
            attributes: DiskCache.Attributes(expiration: .after(.seconds(-1))))
        await first.flush()
        #expect(await second.data(for: key, in: .disk) == nil)
    }

    /// A body of exactly the limit is stored, one byte more is not.
    @Test(arguments: [0, 1]) func bodiesUpToTheLimitAreStored(excess: Int) async throws {
        let body = try Self.picture()
        var configuration = configuration()
        configuration.objectByteLimit = body.count - excess
        let cache = SharedImageCache(configuration)
        try await origin.answer("/a", "Cache-Control: max-age=600", body: body)
        #expect(try await load("/a", on: cache).data == body)
        await cache.flush()
        #expect(try await storedBody("/a") == (excess == 0 ? body : nil))
        let key = ImageCacheKey(source: "https://a/b")
        await cache.store(nil, data: body, for: key, in: .all, attributes: DiskCache.Attributes())
        await cache.flush()
        #expect(
            await SharedImageCache(self.configuration()).data(for: key, in: .disk)?.data == (excess == 0 ? body : nil))
    }

    /// An object has up to 1 MiB besides its body.
    @Test(arguments: [(2 << 20, true), (1 << 20, false)])
    func longerObjectsAreNotRead(limit: Int, isFound: Bool) async throws {
        let (key, data) = (ImageCacheKey(source: "https://a/b"), Data(count: 2 << 20))
        let first = SharedImageCache(configuration())
        await first.store(nil, data: data, for: key, in: .all, attributes: DiskCache.Attributes())
        await first.flush()
        var configuration = configuration()
        configuration.objectByteLimit = limit
        #expect(await SharedImageCache(configuration).data(for: key, in: .disk)?.data == (isFound ? data : nil))
    }

    @Test(arguments: [(100, 1, 0), (99, 0, 1)])
    func writesBeyondTheLimitAreDropped(limit: Int, writes: Int, droppedWrites: Int) async throws {
        var configuration = configuration()
        configuration.pendingByteLimit = limit
        let cache = SharedImageCache(configuration)
        cache.store.write(SharedObject(.value, name: "a", content: Data(count: 100)))
        await cache.flush()
        #expect((cache.counters.writes, cache.counters.droppedWrites) == (writes, droppedWrites))
    }

    @Test func cancellingEndsTheLoad() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let cache = SharedImageCache(configuration())
        let task = Task { try await load("/a", on: cache) }
        task.cancel()
        let result = await task.result
        #expect(throws: WebImageError.cancelled) { try result.get() }
    }

    @Test func aCancelledClaimLeavesNoLease() async throws {
        let cache = SharedImageCache(configuration())
        await cache.store.learnAboutConditionalWrites()
        for round in 0..<20 {
            let name = "https://a/\(round)"
            let task = Task { await cache.store.find(name) }
            // At any moment of the request.
            try await Task.sleep(for: .microseconds(round * 150))
            task.cancel()
            switch await task.value {
            case .claimed: break
            case .absent, .unavailable:
                let response = try await client().send(.get, SharedObject.key(of: name))
                #expect(response.statusCode == 404, "round \(round): the lease remains")
            case .found: Issue.record("round \(round): nothing was stored")
            }
        }
    }
}
