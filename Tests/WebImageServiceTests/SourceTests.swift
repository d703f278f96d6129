import Foundation
import Testing
import WebImage
import WebImageShared
import WebImageTestSupport

@testable import WebImageService

/// Where sources come from, and how long they may be used.
@Suite(.timeLimit(.minutes(1)))
struct SourceTests {
    private static let origin = Result { try OriginServer() }

    private func fixture(_ change: (inout ImageService.Configuration) -> Void = { _ in }) throws -> ServiceFixture {
        try ServiceFixture(Self.origin.get(), change)
    }

    private static func png(width: Int = 8, height: Int = 8) throws -> Data {
        try CodecRegistry.shared.encode(ServiceFixture.picture(width: width, height: height), as: .png)
    }

    /// A cache of originals, in memory and in a folder.
    private static func cache(in directory: TemporaryDirectory) -> (ImageCache, DiskCache) {
        let disk = DiskCache(
            configuration: DiskCache.Configuration(directory: URL(filePath: directory.path("originals"))))
        return (ImageCache(disk: disk), disk)
    }

    // MARK: Redirects

    @Test func redirectsLeadOnlyToAllowedSources() async throws {
        let origin = try Self.origin.get()
        let address = try origin.url("/photos/").absoluteString
        let fixture = try fixture { $0.allowedSources = [address] }
        try await fixture.serve("/photos/redirected.png", width: 8, height: 8)
        try await fixture.serve("/secret.png", width: 8, height: 8)
        try await origin.answer("/photos/inside", status: 302, "Location: /photos/redirected.png")
        try await origin.answer("/photos/outside", status: 302, "Location: /secret.png")
        try await origin.answer("/photos/twice", status: 302, "Location: /photos/outside")
        #expect(try await fixture.get("/plain/{}/photos/inside").status == 200)
        for path in ["outside", "twice"] {
            #expect(try await fixture.get("/plain/{}/photos/\(path)").status == 403, "\(path)")
        }
        #expect(try await !origin.requests().contains { $0.path == "/secret.png" })
    }

    @Test func aCachedRedirectIsCheckedToo() async throws {
        let origin = try Self.origin.get()
        let address = try origin.url("/kept/").absoluteString
        let directory = try TemporaryDirectory()
        let (cache, disk) = Self.cache(in: directory)
        let open = try fixture { $0.images.cache = cache }
        try await open.serve("/elsewhere.png", width: 8, height: 8, "Cache-Control: max-age=600")
        try await origin.answer(
            "/kept/a", status: 301, "Location: /elsewhere.png\nCache-Control: max-age=600")
        #expect(try await open.get("/plain/{}/kept/a").status == 200)
        await disk.flush()
        #expect(await disk.entries().count == 1)
        let closed = try fixture {
            $0.images.cache = cache
            $0.allowedSources = [address]
        }
        #expect(try await closed.get("/plain/{}/kept/a").status == 403)
    }

    // MARK: Limits

    @Test func aTransferStopsAtTheLimitOfSources() async throws {
        let servers = try FaultServer()
        let fixture = try fixture {
            $0.limits.sourceByteCount = 1000
            $0.limits.transferTime = .seconds(20)
        }
        // It announces more, and would end only with the time for the transfer.
        let stalled = try servers.url("/stall-body/a").absoluteString + "%3Fsize=5000&sent=10"
        let answer = await fixture.service.answer(to: ServiceRequest(target: "/_/plain/\(stalled)"))
        #expect(answer.status == 413, "\(answer.text)")
    }

    /// A service with a higher limit may have stored it.
    @Test func aCachedSourceIsLimitedToo() async throws {
        let directory = try TemporaryDirectory()
        let (cache, disk) = Self.cache(in: directory)
        let open = try fixture { $0.images.cache = cache }
        try await open.serve("/limited.png", width: 80, height: 80, "Cache-Control: max-age=600")
        #expect(try await open.get("/plain/{}/limited.png").status == 200)
        await disk.flush()
        #expect(await disk.entries().count == 1)
        let strict = try fixture {
            $0.images.cache = cache
            $0.limits.sourceByteCount = 50
        }
        #expect(try await strict.get("/plain/{}/limited.png").status == 413)
    }

    // MARK: Lifetimes

    @Test(arguments: [
        ("Cache-Control: max-age=600", 600), ("Cache-Control: max-age=600\nAge: 500", 100),
        ("Cache-Control: max-age=600\nAge: 700", 0), ("Cache-Control: max-age=600, s-maxage=50\nAge: 10", 40),
        ("Cache-Control: no-cache, max-age=600", 0), ("Cache-Control: no-cache=\"X-A\", max-age=600", 600),
        ("Date: Tue, 15 Nov 1994 12:45:26 GMT\nExpires: Tue, 15 Nov 1994 12:45:26 GMT", 0), ("Expires: 0", 0),
        ("Last-Modified: Tue, 15 Nov 1994 12:45:26 GMT", 1000), ("X-Nothing: 1", 1000),
    ])
    func resultsAreFreshNoLongerThanTheirSources(headers: String, seconds: Int) async throws {
        let fixture = try fixture {
            $0.usesSourceLifetime = true
            $0.lifetime = .seconds(1000)
        }
        let path = "/life/\(headers.utf8.reduce(into: UInt64(7)) { $0 = $0 &* 31 &+ UInt64($1) }).png"
        try await fixture.serve(path, width: 8, height: 8, headers)
        let answer = try await fixture.get("/plain/{}\(path)")
        #expect(answer.header("Cache-Status")?.hasSuffix("; stored") == (seconds > 0))
        let control = try #require(answer.header("Cache-Control"))
        let found = try #require(Int(control.split(separator: "=").last ?? ""))
        // Loading takes a part of a second.
        #expect((max(0, seconds - 2)...seconds).contains(found), "\(control)")
        let again = try await fixture.get("/plain/{}\(path)").header("Cache-Status")
        #expect(again?.contains("hit") == (seconds > 0), "\(again ?? "")")
    }

    // MARK: Sources for one user

    /// What a server has made for one client is neither stored nor given to another one.
    @Test(arguments: ["private", "private, max-age=600", "max-age=600, PRIVATE", "no-store"])
    func privateSourcesAreLoadedForEachRequest(control: String) async throws {
        let directory = try TemporaryDirectory()
        let disk = DiskCache(
            configuration: DiskCache.Configuration(directory: URL(filePath: directory.path("originals"))))
        let fixture = try ServiceFixture {
            $0.images.cache = ImageCache(disk: disk)
            $0.disk = ServiceFixture.disk(in: directory)
        }
        for width in [8, 16] {
            try await fixture.serve("/own.png", width: width, height: 8, "Cache-Control: \(control)")
            let answer = try await fixture.get("/plain/{}/own.png@png")
            #expect(try answer.size == [width, 8] && answer.header("Cache-Control") == "no-store")
            await disk.flush()
        }
        #expect(await disk.entries().isEmpty)
        // Other options are another result of the same original.
        #expect(try await fixture.get("/w:4/plain/{}/own.png@png").status == 200)
        #expect(try await fixture.origin.requests().count { $0.path == "/own.png" } == 3)
    }

    /// A manager of one user may have stored it in the same cache.
    @Test(arguments: ["private, max-age=600", "max-age=600, s-maxage=0"])
    func whatIsFreshForOneUserOnlyIsNotUsed(control: String) async throws {
        let directory = try TemporaryDirectory()
        let cache = ImageCache(
            disk: DiskCache(
                configuration: DiskCache.Configuration(directory: URL(filePath: directory.path("originals")))))
        let fixture = try ServiceFixture { $0.images.cache = cache }
        try await fixture.serve("/own.png", width: 8, height: 8, "Cache-Control: \(control)")
        var configuration = ServiceFixture.configuration.images
        configuration.cache = cache
        let url = try fixture.origin.url("/own.png")
        _ = try await WebImageManager(configuration: configuration).data(for: WebImageRequest(url, cachePolicy: .http))
        #expect(try await fixture.get("/plain/{}/own.png").status == 200)
        #expect(try await fixture.origin.requests().count { $0.path == "/own.png" } == 2)
    }

    // MARK: Folders

    @Test func theRootIsAFolder() async throws {
        let directory = try TemporaryDirectory()
        try directory.write(try Self.png(), to: "a.png")
        let fixture = try fixture { $0.folder = URL(filePath: "/", directoryHint: .isDirectory) }
        #expect(try await fixture.get("/plain/local://\(directory.path("a.png"))").status == 200)
    }

    /// A folder whose name begins with that of the service's is another one.
    @Test func linksDoNotLeaveTheFolder() async throws {
        let directory = try TemporaryDirectory()
        try directory.write(try Self.png(), to: "photos/a.png")
        try directory.write(try Self.png(), to: "photos-private/b.png")
        for (link, target) in [
            ("inside", "a.png"), ("out", "../photos-private/b.png"), ("above", ".."), ("beside", "../photos-private"),
        ] {
            try FileManager.default.createSymbolicLink(
                atPath: directory.path("photos/\(link)"), withDestinationPath: target)
        }
        for name in ["photos", "photos/"] {
            let fixture = try fixture { $0.folder = URL(filePath: directory.path(name)) }
            #expect(try await fixture.get("/plain/local:///inside").status == 200)
            for path in ["out", "above/photos-private/b.png", "beside/b.png"] {
                #expect(try await fixture.get("/plain/local:///\(path)").status == 404, "\(path)")
            }
        }
    }

    @Test func namesHaveSpaces() async throws {
        let directory = try TemporaryDirectory()
        try directory.write(try Self.png(), to: "photos/a b.png")
        let origin = try Self.origin.get()
        let location = try S3Location("s3://any?endpoint=http://127.0.0.1:\(origin.port)&region=r&style=path")
        let fixture = try fixture {
            $0.folder = URL(filePath: directory.path("photos"))
            $0.store = location
            $0.storeCredential = nil
        }
        try await origin.answer("/bucket/a%20b.png", body: try Self.png())
        try await origin.answer("/http/a%20b.png", body: try Self.png())
        for source in ["local:///a%20b.png", "s3://bucket/a%20b.png", "{}/http/a%20b.png", "local:///a%2520b.png"] {
            #expect(try await fixture.get("/plain/\(source)@png").status == 200, "\(source)")
        }
    }

    @Test func pathsMayLowerLimits() async throws {
        let fixture = try fixture { $0.allowsLimitOptions = true }
        try await fixture.serve("/limits.png", width: 100, height: 50)
        for (options, status) in [
            ("msr:0.005", 200), ("msr:0.004", 413), ("msfs:10", 413), ("msfs:100000", 200), ("maf:1", 200),
            ("mafr:0.001", 200),
        ] { #expect(try await fixture.get("/\(options)/plain/{}/limits.png@png").status == status, "\(options)") }
        #expect(try await fixture.get("/mrd:20/plain/{}/limits.png@png").size == [20, 10])
        #expect(try await self.fixture().get("/mrd:20/plain/{}/limits.png@png").status == 403)
    }

    @Test func aFolderMayAppearLater() async throws {
        let directory = try TemporaryDirectory()
        let fixture = try fixture { $0.folder = URL(filePath: directory.path("photos"), directoryHint: .isDirectory) }
        #expect(try await fixture.get("/plain/local:///a.png").status == 404)
        try directory.write(try Self.png(), to: "photos/a.png")
        #expect(try await fixture.get("/plain/local:///a.png").status == 200)
    }

    /// The same path in another folder is another source, also in a cache of both.
    @Test func resultsAreKeptByTheirFolder() async throws {
        let directory = try TemporaryDirectory()
        let disk = ServiceFixture.disk(in: directory)
        for (name, width) in [("one", 8), ("two", 16), ("one", 8)] {
            try directory.write(try Self.png(width: width), to: "\(name)/a.png")
            let fixture = try fixture {
                $0.disk = disk
                $0.folder = URL(filePath: directory.path(name), directoryHint: .isDirectory)
            }
            #expect(try await fixture.get("/plain/local:///a.png@png").size == [width, 8])
            await disk.flush()
        }
        #expect(await disk.entries().count == 2)
    }

    @Test func aCancelledFileIsNotReadToItsEnd() async throws {
        let directory = try TemporaryDirectory()
        try directory.write(Data(repeating: 1, count: 4 << 20), to: "photos/a.png")
        let loader = FolderLoader(
            URL(filePath: directory.path("photos"), directoryHint: .isDirectory), maximumByteCount: 8 << 20)
        let url = try #require(URL(string: "local:///a.png"))
        let (started, go) = (AsyncStream<Void>.makeStream(), DispatchSemaphore(value: 0))
        let ended = AsyncStream<Result<Void, WebImageError>>.makeStream()
        let task = loader.load(LoaderRequest(url: url), priority: .normal) { event in
            switch event {
            case .response:
                started.continuation.yield()
                go.wait()
            case .finished(let result): ended.continuation.yield(result)
            default: break
            }
        }
        for await _ in started.stream.prefix(1) {
            // One thread looks files up, so the load that it has begun can be cancelled when it has found the next.
            let missing = try #require(URL(string: "local:///b.png"))
            let looked = AsyncStream<Void>.makeStream()
            _ = loader.load(LoaderRequest(url: missing), priority: .normal) { _ in looked.continuation.yield() }
            for await _ in looked.stream.prefix(1) {}
            task.cancel()
            go.signal()
        }
        for await result in ended.stream.prefix(1) {
            #expect(throws: WebImageError.cancelled) { try result.get() }
        }
    }

    // MARK: Stores

    /// The same bucket and key of another store is another original, also in a cache of both.
    @Test func originalsAreKeptByTheirStore() async throws {
        let directory = try TemporaryDirectory()
        let disk = DiskCache(
            configuration: DiskCache.Configuration(directory: URL(filePath: directory.path("originals"))))
        let cache = ImageCache(disk: disk)
        func fixture(_ origin: OriginServer, user: String? = nil) throws -> ServiceFixture {
            let location = try S3Location("s3://any?endpoint=http://127.0.0.1:\(origin.port)&region=r&style=path")
            return try ServiceFixture(origin) {
                $0.images.cache = cache
                $0.store = location
                $0.storeCredential = user.map { S3Credential(keyID: $0, secret: "secret") }
            }
        }
        func count(_ origin: OriginServer) async throws -> Int {
            try await origin.requests().filter { $0.path == "/bucket/a.png" }.count
        }
        let (first, second) = (try OriginServer(), try OriginServer())
        for (origin, width) in [(first, 8), (second, 16)] {
            try await origin.answer(
                "/bucket/a.png", "Cache-Control: max-age=600", body: Self.png(width: width))
        }
        #expect(try await fixture(first).get("/plain/s3://bucket/a.png@png").size == [8, 8])
        await disk.flush()
        #expect(try await fixture(second).get("/plain/s3://bucket/a.png@png").size == [16, 8])
        // The same store needs no other load, unless other keys may not read it.
        #expect(try await fixture(first).get("/plain/s3://bucket/a.png@png").size == [8, 8])
        #expect(try await count(first) == 1)
        #expect(try await fixture(first, user: "other").get("/plain/s3://bucket/a.png@png").size == [8, 8])
        #expect(try await count(first) == 2)
    }

    /// A key that may not read an object must not get what was made of it. Temporary keys change too often to be told apart.
    @Test func resultsAreKeptByTheUserOfTheStore() async throws {
        let directory = try TemporaryDirectory()
        let disk = ServiceFixture.disk(in: directory)
        let origin = try OriginServer()
        try await origin.answer("/bucket/a.png", "Cache-Control: max-age=600", body: try Self.png(width: 8))
        func made(_ user: String, token: String? = nil) async throws -> Int {
            let location = try S3Location("s3://any?endpoint=http://127.0.0.1:\(origin.port)&region=r&style=path")
            let fixture = try ServiceFixture(origin) {
                $0.disk = disk
                $0.store = location
                $0.storeCredential = S3Credential(keyID: user, secret: "secret", sessionToken: token)
            }
            #expect(try await fixture.get("/w:4/plain/s3://bucket/a.png@png").status == 200)
            await disk.flush()
            return fixture.service.counters.made
        }
        #expect(try await made("KEY1") == 1)
        #expect(try await made("KEY2") == 1)
        #expect(try await made("KEY1") == 0)
        #expect(try await made("KEY3", token: "1") == 1)
        #expect(try await made("KEY4", token: "2") == 0)
        // Keys of caches are stored as they are.
        let entries = await disk.entries()
        #expect(entries.count == 3 && entries.allSatisfy { !$0.key.contains("KEY") })
    }

    /// The same bucket and key of another store has other results, also in a cache of both.
    @Test func resultsAreKeptByTheirStore() async throws {
        let directory = try TemporaryDirectory()
        let disk = ServiceFixture.disk(in: directory)
        func size(_ origin: OriginServer) async throws -> [Int] {
            let location = try S3Location("s3://any?endpoint=http://127.0.0.1:\(origin.port)&region=r&style=path")
            let fixture = try ServiceFixture(origin) {
                $0.disk = disk
                $0.store = location
                $0.storeCredential = nil
            }
            let size = try await fixture.get("/plain/s3://bucket/a.png@png").size
            await disk.flush()
            return size
        }
        let (first, second) = (try OriginServer(), try OriginServer())
        for (origin, width) in [(first, 8), (second, 16)] {
            try await origin.answer("/bucket/a.png", "Cache-Control: max-age=600", body: Self.png(width: width))
        }
        #expect(try await size(first) == [8, 8])
        #expect(try await size(second) == [16, 8])
        #expect(try await size(first) == [8, 8])
        #expect(await disk.entries().count == 2)
    }

    @Test func aQueryNamesAVersionOfAnObject() async throws {
        let origin = try Self.origin.get()
        let location = try S3Location("s3://any?endpoint=http://127.0.0.1:\(origin.port)&region=r&style=path")
        let fixture = try fixture {
            $0.store = location
            $0.storeCredential = nil
        }
        try await origin.answer("/bucket/a.png", body: try Self.png(width: 8))
        try await origin.answer("/bucket/a.png?versionId=old", body: try Self.png(width: 16))
        #expect(try await fixture.get("/plain/s3://bucket/a.png@png").size == [8, 8])
        #expect(try await fixture.get("/plain/s3://bucket/a.png%3Fold@png").size == [16, 8])
        #expect(try await fixture.get("/plain/s3://bucket/a.png%3Fnone@png").status == 404)
    }
}
