import Foundation
import Testing
import WebImage
import WebImageTestSupport
import WebImageTesting

@testable import WebImageShared

/// What happens to a real store and its accounts; none of it may cost a load.
@Suite(
    .timeLimit(.minutes(10)), .enabled(if: S3Server.isInstalled, "needs radosgw, ceph-mon, ceph-osd and faketime"),
    .serialized)
struct StoreFaultTests: FleetSuite {
    private static let server = Result { try S3Server() }
    private let server: S3Server
    let fleet: Fleet

    init() async throws {
        server = try Self.server.get()
        fleet = try await Fleet(of: server)
    }

    /// Loads `path` on a machine with its own caches, and waits for its writes.
    private func store(_ path: String) async throws {
        let cache = SharedImageCache(configuration())
        try await origin.answer(path, "Cache-Control: max-age=600", body: Self.picture())
        _ = try await load(path, on: cache)
        await cache.flush()
        #expect(cache.counters.writes == 1)
    }

    private func wait(
        for condition: @Sendable () -> Bool, describing description: () -> Any
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !condition() {
            try #require(ContinuousClock.now < deadline, "\(description())")
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    @Test func aStoreThatRestartsIsUsedAgain() async throws {
        try await store("/a")
        let cache = SharedImageCache(configuration())
        try server.stopGateway()
        let paths = (0...CircuitBreaker.failureLimit).map { "/\($0)" }
        for path in paths {
            try await origin.answer(path, "Cache-Control: max-age=600", body: Self.picture())
            #expect(try await load(path, on: cache).data == (try Self.picture()))
        }
        try await wait {
            cache.counters.isInterrupted
        } describing: {
            cache.counters
        }
        #expect(try await trace(of: paths[0], on: cache).contains("not used, because it failed"))
        try server.startGateway()
        // Writes that waited are sent without another load.
        try await wait {
            cache.counters.writes > 0
        } describing: {
            cache.counters
        }
        #expect(!cache.counters.isInterrupted)
        await cache.flush()
        #expect(try await load("/a", on: cache).data == (try Self.picture()))
        #expect(cache.counters.hits == 1)
        let other = SharedImageCache(configuration())
        _ = try await load(try #require(paths.last), on: other)
        #expect(other.counters.hits == 1)
    }

    @Test func aFullStoreIsStillRead() async throws {
        try await store("/a")
        try server.administer(
            "quota", "set", "--quota-scope=bucket", "--bucket=\(location.bucket)", "--max-objects=1")
        try server.administer("quota", "enable", "--quota-scope=bucket", "--bucket=\(location.bucket)")
        let cache = SharedImageCache(configuration())
        for number in 0..<2 * CircuitBreaker.failureLimit {
            try await origin.answer("/\(number)", "Cache-Control: max-age=600", body: Self.picture())
            #expect(try await load("/\(number)", on: cache).data == (try Self.picture()))
            await cache.flush()
        }
        #expect(cache.counters.droppedWrites >= CircuitBreaker.failureLimit && !cache.counters.isInterrupted)
        _ = try await load("/a", on: cache)
        #expect(cache.counters.hits == 1)
    }

    @Test func aWrongClockIsReported() async throws {
        try await store("/a")
        try server.stopGateway()
        try server.startGateway(clockOffset: "+20m")
        let cache = SharedImageCache(configuration())
        #expect(try await trace(of: "/a", on: cache).contains("RequestTimeTooSkewed (403)"))
        for _ in 0..<CircuitBreaker.failureLimit { _ = try await load("/a", on: cache) }
        #expect(cache.counters.isInterrupted && cache.counters.hits == 0)
        try server.stopGateway()
        try server.startGateway()
        let other = SharedImageCache(configuration())
        _ = try await load("/a", on: other)
        #expect(other.counters.hits == 1)
    }

    @Test func anAccountWithoutRightsIsReported() async throws {
        try await store("/a")
        try server.administer(
            "user", "create", "--uid=\(location.bucket)", "--display-name=other", "--access-key=\(location.bucket)",
            "--secret-key=othersecret")
        let other = S3Credential(keyID: location.bucket, secret: "othersecret")
        let cache = SharedImageCache(configuration(nil, other))
        #expect(try await trace(of: "/a", on: cache).contains("AccessDenied (403)"))
        for _ in 0..<CircuitBreaker.failureLimit { _ = try await load("/a", on: cache) }
        #expect(cache.counters.isInterrupted && cache.counters.hits == 0)
    }

    @Test func aMissingBucketIsReported() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let other = try S3Location("s3://no-such-bucket?endpoint=http://127.0.0.1:\(server.port)", environment: [:])
        #expect(try await trace(of: "/a", on: SharedImageCache(configuration(other))).contains("NoSuchBucket (404)"))
    }

    @Test func worksWithTheBucketInTheHost() async throws {
        let host = try S3Location(
            "s3://\(location.bucket)/p?style=host&endpoint=http://localhost:\(server.port)", environment: [:])
        try await store("/a")
        let cache = SharedImageCache(configuration(host))
        _ = try await load("/a", on: cache)
        #expect(cache.counters.hits == 1)
        let keys = LockBox<[String]>([])
        try await cache.forEachEntry { entry in keys.withLock { $0.append(entry.key) } }
        let key = SharedObject.key(of: try origin.url("/a").absoluteString)
        #expect(keys.withLock { $0 }.contains(key))
    }

    @Test func worksWithTemporaryKeys() async throws {
        let user = #"{"AWS":["arn:aws:iam:::user/test"]}"#
        let trust = #"{"Effect":"Allow","Principal":\#(user),"Action":["sts:AssumeRole"]}"#
        let rights = #"{"Effect":"Allow","Action":["s3:*"],"Resource":"arn:aws:s3:::*"}"#
        let role = "--role-name=\(location.bucket)"
        func policy(_ statement: String) -> String { #"{"Version":"2012-10-17","Statement":[\#(statement)]}"# }
        try server.administer("role", "create", role, "--assume-role-policy-doc=\(policy(trust))")
        try server.administer("role", "policy", "put", role, "--policy-name=all", "--policy-doc=\(policy(rights))")
        let form =
            "Action=AssumeRole&RoleArn=arn:aws:iam:::role/\(location.bucket)&RoleSessionName=cache&Version=2011-06-15"
        let answer = try Curl.run(
            "--aws-sigv4", "aws:amz:us-east-1:sts", "--user", "\(server.keyID):\(server.secret)", "--data", form,
            "--header", "x-amz-content-sha256: \(SHA256.hexDigest(of: [UInt8](form.utf8)))",
            "http://127.0.0.1:\(server.port)/")
        func part(_ name: String) throws -> String {
            let text = Substring(decoding: answer.output, as: UTF8.self)
            return String(try #require(text.components(between: "<\(name)>", and: "</\(name)>").first, "\(text)"))
        }
        let temporary = S3Credential(
            keyID: try part("AccessKeyId"), secret: try part("SecretAccessKey"),
            sessionToken: try part("SessionToken"))
        try await store("/a")
        let cache = SharedImageCache(configuration(nil, temporary))
        _ = try await load("/a", on: cache)
        #expect(cache.counters.hits == 1)
        try await origin.answer("/b", "Cache-Control: max-age=600", body: Self.picture())
        _ = try await load("/b", on: cache)
        await cache.flush()
        #expect(cache.counters.writes == 1)
    }

    @Test func anExpiredResponseIsLoadedAgain() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600\nAge: 700", body: Self.picture(10))
        let cache = SharedImageCache(configuration())
        _ = try await load("/a", on: cache)
        await cache.flush()
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture(200))
        let other = SharedImageCache(configuration())
        #expect(try await load("/a", on: other).data == (try Self.picture(200)))
        await other.flush()
        // The new one replaces the expired one for all.
        let third = SharedImageCache(configuration())
        #expect(try await load("/a", on: third).data == (try Self.picture(200)))
        #expect(other.counters.hits == 0 && third.counters.hits == 1)
    }

    /// The store's clock decides, so a minute passes for it while its gateway restarts.
    @Test func aVoidLeaseIsTakenOverAtOnce() async throws {
        let cache = SharedImageCache(configuration())
        await cache.store.learnAboutConditionalWrites()
        let name = try origin.url("/a").absoluteString
        let lease = SharedObject(.lease, name: name, content: Data("1".utf8)).encoded(secret: nil)
        #expect(try await client().send(.put, SharedObject.key(of: name), body: lease).statusCode == 200)
        try server.stopGateway()
        try server.startGateway(clockOffset: "+1m")
        let loader = TestImageLoader()
        loader.answer(
            try origin.url("/a"),
            with: .response(200, headers: ["Cache-Control": "max-age=600"], body: try Self.picture()),
            after: .seconds(1))
        var configuration = WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(configuration: .images), disk: nil), loaders: [loader])
        configuration.share(cache)
        let operation = WebImageManager(configuration: configuration).load(WebImageRequest(try origin.url("/a")))
        try await wait {
            !loader.requests.isEmpty
        } describing: {
            operation.traceDescription
        }
        // Others see a lease of this machine while the origin is asked.
        guard case .found(let object, let age) = await cache.store.read(name), object.kind == .lease else {
            Issue.record("the lease was not taken over: \(operation.traceDescription)")
            return
        }
        #expect(object.content != Data("1".utf8))
        #expect(try #require(age) <= SharedStore.leaseDuration)
        loader.clock.advance(by: .seconds(1))
        _ = try await operation.response
        await cache.flush()
        #expect(!operation.traceDescription.contains("waiting"), "\(operation.traceDescription)")
        #expect(cache.counters.abandonedWaits == 0 && cache.counters.sharedLoads == 0)
        #expect(cache.counters.misses == 1 && cache.counters.writes == 1)
        try server.stopGateway()
        try server.startGateway()
    }

    @Test func theLatestObjectOfANameIsWrittenLast() async throws {
        let store = SharedImageCache(configuration()).store
        for round in 0..<10 {
            for number in 0..<20 {
                store.write(SharedObject(.value, name: "a\(round)", content: Data("\(number)".utf8)))
                await Task.yield()
            }
            await store.flush()
            guard case .found(let object, _) = await store.read("a\(round)") else {
                Issue.record("nothing is stored")
                return
            }
            #expect(String(decoding: object.content, as: UTF8.self) == "19")
        }
    }
}

/// A real store that refuses conditional writes.
@Suite(
    .timeLimit(.minutes(10)),
    .enabled(if: OpenStackServer.isInstalled, "needs Debian's swift-proxy, -account, -container and -object"))
struct OpenStackTests: FleetSuite {
    private static let server = Result { try OpenStackServer() }
    let fleet: Fleet

    init() async throws {
        fleet = try await Fleet(of: Self.server.get())
    }

    @Test func withoutConditionalWritesEachMachineLoadsOnceAtMost() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let caches = (0..<4).map { _ in SharedImageCache(configuration()) }
        for cache in caches { await cache.store.learnAboutConditionalWrites() }
        let machines = caches.map { machine($0) }
        var request = WebImageRequest(try origin.url("/a"))
        request.cachePolicy = .http
        try await withThrowingTaskGroup { [request] group in
            for index in 0..<4 * machines.count {
                group.addTask { try await machines[index % machines.count].response(for: request).image }
            }
            for try await image in group { #expect(image.pixels.size == PixelSize(width: 9, height: 7)) }
        }
        for cache in caches { await cache.flush() }
        #expect(try await requestCount("/a") <= machines.count)
        // What the store lacks is no failure.
        #expect(caches.allSatisfy { $0.counters.failures == 0 && !$0.counters.isInterrupted })
        let late = SharedImageCache(configuration())
        let count = try await requestCount("/a")
        #expect(try await load("/a", on: late).data == (try Self.picture()))
        #expect(late.counters.hits == 1)
        #expect(try await requestCount("/a") == count)
    }

    @Test func listsAndRemovesWhatIsStored() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let cache = SharedImageCache(configuration())
        _ = try await load("/a", on: cache)
        await cache.flush()
        let url = try origin.url("/a").absoluteString
        let names = LockBox<[String?]>([])
        try await cache.forEachEntry { entry in names.withLock { $0.append(entry.name) } }
        #expect(names.withLock { $0 }.contains(url))
        try await cache.removeStored(forKey: url)
        #expect(try await cache.storedBytes(forKey: url) == nil)
    }
}

@Suite(.timeLimit(.minutes(3))) struct StoreListingTests {
    /// The memory of the process, in bytes.
    private static func residentByteCount() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        return try #require(text.split(separator: " ").dropFirst().first.flatMap { Int($0) }) * Int(getpagesize())
    }

    private func expectList(_ location: S3Location, _ credential: S3Credential?, count: Int) async throws {
        var configuration = SharedImageCache.Configuration(location: location, credential: credential)
        configuration.budget.firstByte = .seconds(20)
        let cache = SharedImageCache(configuration)
        let before = try Self.residentByteCount()
        let totals = LockBox((count: 0, peak: 0))
        let start = ContinuousClock.now
        try await cache.forEachEntry(withNames: false) { entry in
            totals.withLock { totals in
                totals.count += 1
                if totals.count % 5000 == 0 {
                    totals.peak = max(totals.peak, (try? Self.residentByteCount()) ?? .max)
                }
            }
        }
        let totalsAtEnd = totals.withLock { $0 }
        print("listed \(totalsAtEnd.count) in \(start.duration(to: .now)), \((totalsAtEnd.peak - before) >> 20) MiB")
        #expect(totalsAtEnd.count == count)
        // A page is 0.3 MB; all pages are 300 bytes for each object. Other threads and the allocator take some.
        #expect(totalsAtEnd.peak - before < count * 180)
    }

    @Test(.timeLimit(.minutes(2))) func listsManyObjectsInLittleMemory() async throws {
        let count = ReleaseChecks.areRequested ? 100_000 : 50_000
        let server = try ListingServer(count: count)
        try await expectList(
            S3Location("s3://bucket/p?endpoint=http://127.0.0.1:\(server.port)", environment: [:]), nil, count: count)
    }

    /// `WEBIMAGE_STORE_OBJECTS=100000` writes that many first, which takes minutes.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["WEBIMAGE_STORE_OBJECTS"] != nil))
    func listsARealStore() async throws {
        let count = try #require(ProcessInfo.processInfo.environment["WEBIMAGE_STORE_OBJECTS"].flatMap { Int($0) })
        let server = try S3Server()
        let credential = S3Credential(keyID: server.keyID, secret: server.secret)
        let location = try S3Location("s3://many?endpoint=http://127.0.0.1:\(server.port)", environment: [:])
        var configuration = SharedImageCache.Configuration(location: location, credential: credential)
        configuration.budget.firstByte = .seconds(20)
        let client = S3Client(configuration)
        #expect(try await client.send(.put, nil).statusCode == 200)
        try await withThrowingTaskGroup { group in
            for writer in 0..<32 {
                group.addTask {
                    for number in stride(from: writer, to: count, by: 32) {
                        let object = SharedObject(.value, name: "\(number)")
                        let key = SharedObject.key(of: object.texts.name)
                        let response = try await client.send(.put, key, body: object.encoded(secret: nil))
                        #expect(response.statusCode == 200)
                    }
                }
            }
            try await group.waitForAll()
        }
        try await expectList(location, credential, count: count)
    }
}
