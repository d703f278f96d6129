import Foundation
import Testing
import WebImage
import WebImageCaching
import WebImageCore
import WebImageTestSupport

@testable import WebImageService

/// Results are made once, cached, and given up when no client waits.
@Suite(.timeLimit(.minutes(1)))
struct CachingTests {
    private func count(_ origin: OriginServer, _ path: String) async throws -> Int {
        try await origin.requests().filter { $0.path == path }.count
    }

    @Test func equalRequestsAreOne() async throws {
        let fixture = try ServiceFixture()
        try await fixture.serve("/a.png", width: 400, height: 300)
        let bodies = try await withThrowingTaskGroup(of: Data.self) { group in
            for _ in 0..<20 { group.addTask { try await fixture.get("/w:100/plain/{}/a.png").bytes } }
            return try await group.reduce(into: Set<Data>()) { $0.insert($1) }
        }
        #expect(bodies.count == 1)
        #expect(fixture.service.counters.made == 1)
        #expect(fixture.service.counters.joined + fixture.service.counters.memoryHits == 19)
        #expect(try await count(fixture.origin, "/a.png") == 1)
    }

    @Test func resultsAreKeptInMemoryAndOnDisk() async throws {
        let directory = try TemporaryDirectory()
        let origin = try OriginServer()
        func fixture() throws -> ServiceFixture {
            try ServiceFixture(origin) { $0.disk = ServiceFixture.disk(in: directory) }
        }
        let first = try fixture()
        try await first.serve("/a.png", width: 40, height: 30)
        let made = try await first.get("/w:20/plain/{}/a.png")
        #expect(made.header("Cache-Status") == "webimage; fwd=uri-miss; stored")
        let hit = try await first.get("/w:20/plain/{}/a.png")
        #expect(hit.header("Cache-Status")?.hasSuffix("detail=memory") == true && hit.bytes == made.bytes)
        await first.service.stop()
        let second = try fixture()
        let stored = try await second.get("/w:20/plain/{}/a.png")
        #expect(stored.header("Cache-Status")?.hasSuffix("detail=disk") == true && stored.bytes == made.bytes)
        #expect(stored.header("ETag") == made.header("ETag"))
        #expect(try await count(origin, "/a.png") == 1)
        // Each part of an order makes another result.
        for path in [
            "/w:20/cb:1/plain/{}/a.png", "/w:21/plain/{}/a.png", "/w:20/plain/{}/a.png@jpg", "/w:20/plain/{}/a.png%3Fx",
        ] {
            #expect(try await second.get(path).header("Cache-Status")?.contains("hit") != true, "\(path)")
        }
    }

    /// A disk outlives the process, and the settings that results were made with.
    @Test func servicesWithOtherSettingsShareNoResults() async throws {
        let directory = try TemporaryDirectory()
        let origin = try OriginServer()
        func status(_ path: String, _ change: (inout ImageService.Configuration) -> Void) async throws -> String {
            let fixture = try ServiceFixture(origin) {
                $0.disk = ServiceFixture.disk(in: directory)
                $0.watermark = try? CodecRegistry.shared.encode(ServiceFixture.picture(width: 4, height: 4), as: .png)
                change(&$0)
            }
            try await fixture.serve("/a.png", width: 40, height: 30)
            let answer = try await fixture.get(path)
            #expect(answer.status == 200)
            await fixture.service.stop()
            return answer.header("Cache-Status") ?? ""
        }
        let changes: [(String, (inout ImageService.Configuration) -> Void)] = [
            ("quality", { $0.quality = 20 }), ("a format's quality", { $0.formatQualities = [.jpeg: 30] }),
            ("lifetime", { $0.lifetime = .seconds(60) }), ("the source's", { $0.usesSourceLifetime = true }),
            ("side", { $0.limits.resultSide = 10 }),
            (
                "watermark",
                {
                    $0.watermark = try? CodecRegistry.shared.encode(
                        ServiceFixture.picture(width: 6, height: 4), as: .png)
                }
            ), ("its opacity", { $0.watermarkOpacity = 0.5 }),
        ]
        let ofMarks = ["watermark", "its opacity"]
        let (plain, marked) = ("/w:20/plain/{}/a.png@jpg", "/w:20/wm:1/plain/{}/a.png@jpg")
        for path in [plain, marked] {
            #expect(try await status(path) { _ in }.contains("stored"))
            #expect(try await status(path) { _ in }.contains("detail=disk"))
            for (name, change) in changes {
                // A result without a watermark does not depend on it.
                let isOther = !ofMarks.contains(name) || path == marked
                #expect(try await status(path, change).contains("stored") == isOther, "\(name) \(path)")
            }
        }
    }

    /// Fewer encodes find another quality, or another shortest format.
    @Test func theNumberOfEncodesIsPartOfTheResultsThatItChanges() throws {
        func settings(_ path: String, _ encodingCount: Int) throws -> String {
            let service = try ServiceFixture { $0.limits.encodingCount = encodingCount }.service
            var reader = OptionReader(presets: Presets([:], isOnlySource: false))
            _ = try reader.readOptions(path.split(separator: "/") + ["plain"])
            return service.maker.settings(
                of: Order.Key(source: KeyText("http://a/b"), recipe: reader.recipe, formats: [], info: nil))
        }
        for path in ["aq:dssim:0.02", "f:best", "f:best/aq:dssim"] {
            #expect(try settings(path, 3) != settings(path, 24), "\(path)")
        }
        #expect(try settings("w:20", 3) == settings("w:20", 24))
    }

    /// Requests for sources that do not exist do not each decode the fallback.
    @Test func aFallbackIsMadeOnce() async throws {
        let fixture = try ServiceFixture {
            $0.fallback = try? CodecRegistry.shared.encode(ServiceFixture.picture(width: 60, height: 60), as: .png)
            $0.limits.workCount = 1
            $0.limits.queueLength = 0
        }
        var bodies: Set<Data> = []
        for number in 0..<3 {
            let answer = try await fixture.get("/w:10/plain/{}/none\(number)")
            #expect(answer.status == 200)
            bodies.insert(answer.bytes)
        }
        #expect(bodies.count == 1)
        #expect(fixture.service.fallbackCount == 1)
        #expect(fixture.service.counters.refusals == 3)
    }

    @Test func aFallbackTakesAPlaceAndTime() async throws {
        let servers = try FaultServer()
        let fixture = try ServiceFixture {
            $0.fallback = try? CodecRegistry.shared.encode(ServiceFixture.picture(width: 60, height: 60), as: .png)
            $0.limits.time = .milliseconds(300)
        }
        // The time of the request is over, which says nothing about its source.
        let stalled = try servers.url("/stall-headers/a").absoluteString
        let answer = await fixture.service.answer(to: ServiceRequest(target: "/_/w:10/plain/\(stalled)"))
        #expect(answer.status == 504)
        #expect(fixture.service.fallbackCount == 0)
    }

    @Test func resultsEndWithTheirLifetime() async throws {
        let clock = LockBox(Date())
        let fixture = try ServiceFixture {
            $0.now = { clock.withLock { $0 } }
            $0.lifetime = .seconds(100)
        }
        try await fixture.serve("/a.png", width: 40, height: 30, "Cache-Control: no-cache")
        _ = try await fixture.get("/w:20/plain/{}/a.png")
        clock.withLock { $0 += 99 }
        #expect(try await fixture.get("/w:20/plain/{}/a.png").header("Cache-Status")?.contains("ttl=1;") == true)
        clock.withLock { $0 += 1 }
        try await fixture.serve("/a.png", width: 80, height: 30)
        let renewed = try await fixture.get("/w:20/h:0/plain/{}/a.png")
        #expect(try renewed.size == [20, 8])
        #expect(renewed.header("Cache-Status") == "webimage; fwd=stale; stored")
        #expect(fixture.service.counters.made == 2)
    }

    @Test func resultsOnDiskEndWithTheirLifetime() async throws {
        let directory = try TemporaryDirectory()
        let clock = LockBox(Date())
        let source = try ServiceFixture()
        func get() async throws -> ServiceAnswer {
            // With nothing in memory.
            let fixture = try ServiceFixture(source.origin) {
                $0.disk = ServiceFixture.disk(in: directory)
                $0.now = { clock.withLock { $0 } }
                $0.lifetime = .seconds(100)
            }
            let answer = try await fixture.get("/w:20/plain/{}/a.png")
            await fixture.service.stop()
            return answer
        }
        try await source.serve("/a.png", width: 40, height: 30, "Cache-Control: no-cache")
        _ = try await get()
        try await source.serve("/a.png", width: 80, height: 30)
        clock.withLock { $0 += 99 }
        #expect(try await get().header("Cache-Status")?.hasSuffix("ttl=1; detail=disk") == true)
        clock.withLock { $0 += 1 }
        let renewed = try await get()
        #expect(try renewed.size == [20, 8] && renewed.header("Cache-Status") == "webimage; fwd=stale; stored")
    }

    /// A client with the bytes needs no others, also after they were made again.
    @Test func aResultThatIsMadeAgainIsAsOldAsItsBytes() async throws {
        let clock = LockBox(Date(timeIntervalSince1970: 1_695_000_000))
        let fixture = try ServiceFixture {
            $0.now = { clock.withLock { $0 } }
            $0.lifetime = .seconds(100)
        }
        try await fixture.serve("/a.png", width: 40, height: 30, "Cache-Control: no-cache")
        let modified = try #require(try await fixture.get("/w:20/plain/{}/a.png").header("Last-Modified"))
        clock.withLock { $0 += 100 }
        let again = try await fixture.get("/w:20/plain/{}/a.png", ["If-Modified-Since": modified])
        #expect(again.status == 304 && again.header("Last-Modified") == modified)
        #expect(fixture.service.counters.made == 2)
        clock.withLock { $0 += 100 }
        try await fixture.serve("/a.png", width: 80, height: 30)
        let other = try await fixture.get("/w:20/plain/{}/a.png", ["If-Modified-Since": modified])
        #expect(other.status == 200 && other.header("Last-Modified") == "Mon, 18 Sep 2023 01:23:20 GMT")
    }

    /// The next one is made at another time, also of the same bytes.
    @Test func aResultThatIsNotStoredHasNoTime() async throws {
        let fixture = try ServiceFixture()
        try await fixture.serve("/a.png", width: 40, height: 30, "Cache-Control: no-store")
        let answer = try await fixture.get("/w:20/plain/{}/a.png")
        #expect(answer.header("Last-Modified") == nil && answer.header("Cache-Control") == "no-store")
        let date = "Fri, 31 Dec 2100 00:00:00 GMT"
        #expect(try await fixture.get("/w:20/plain/{}/a.png", ["If-Modified-Since": date]).status == 200)
        let early = "Tue, 15 Nov 1994 12:45:26 GMT"
        #expect(try await fixture.get("/w:20/plain/{}/a.png", ["If-Unmodified-Since": early]).status == 200)
        let tag = try #require(answer.header("ETag"))
        #expect(try await fixture.get("/w:20/plain/{}/a.png", ["If-None-Match": tag]).status == 304)
    }

    /// A request that waits for another one's result has it from where that one has it.
    @Test func aCollapsedRequestSaysWhereItsResultIsFrom() async throws {
        for (origin, status) in [
            (.disk, "webimage; hit; ttl=100; detail=disk"), (.shared, "webimage; hit; ttl=100; detail=shared"),
            (.made, "webimage; fwd=uri-miss; collapsed"), (.renewed, "webimage; fwd=stale; collapsed"),
        ] as [(ResultStore.Origin, String)] {
            let now = Date(timeIntervalSince1970: 1_700_000_000)
            let result = StoredResult(
                Data([1]), contentType: "image/png", fileExtension: "png", now: now, lifetime: 100, isStorable: true)
            let order = Order(
                key: Order.Key(source: KeyText("http://a/b"), recipe: Recipe(), formats: [], info: nil),
                url: try #require(URL(string: "http://a/b")), delivery: Delivery(), formats: [], varyingFields: [])
            let answer = ResultAnswer(
                request: ServiceRequest(target: "/"), order: order, result: result, origin: origin.ofOthers, now: now
            ).answer
            #expect(answer.header("Cache-Status") == status)
        }
    }

    @Test func requestsThatWaitForTheDiskAreHits() async throws {
        let directory = try TemporaryDirectory()
        let origin = try OriginServer()
        func fixture() throws -> ServiceFixture {
            try ServiceFixture(origin) { $0.disk = ServiceFixture.disk(in: directory) }
        }
        let first = try fixture()
        try await first.serve("/a.png", width: 40, height: 30)
        _ = try await first.get("/w:20/plain/{}/a.png")
        await first.service.stop()
        let second = try fixture()
        let statuses = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<20 { group.addTask { try await second.get("/w:20/plain/{}/a.png").header("Cache-Status") } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.allSatisfy { $0?.hasPrefix("webimage; hit; ") == true }, "\(statuses)")
        #expect(second.service.counters.made == 0 && second.service.counters.joined == 0)
    }

    @Test func errorsAreNotKept() async throws {
        let fixture = try ServiceFixture()
        try await fixture.origin.answer("/a.png", status: 503)
        #expect(try await fixture.get("/w:20/plain/{}/a.png").status == 502)
        try await fixture.serve("/a.png", width: 40, height: 30)
        #expect(try await fixture.get("/w:20/plain/{}/a.png").status == 200)
    }

    /// A server that never answers holds the places.
    @Test func whatIsBeyondTheQueueIsRefusedAtOnce() async throws {
        let servers = try FaultServer()
        let fixture = try ServiceFixture {
            $0.limits.workCount = 1
            $0.limits.queueLength = 1
        }
        let stalled = try servers.url("/stall-headers/a").absoluteString
        let service = fixture.service
        func start(_ number: Int) -> Task<ServiceAnswer, Never> {
            Task { await service.answer(to: ServiceRequest(target: "/_/w:\(number)/plain/\(stalled)")) }
        }
        let running = start(1)
        while service.counters.running < 1, !Task.isCancelled { await Task.yield() }
        let waiting = start(2)
        while service.counters.waiting < 1, !Task.isCancelled { await Task.yield() }
        #expect(!service.isReady)
        let refused = await start(3).value
        #expect(refused.status == 429 && refused.header("Retry-After") == "1")
        // Clients that leave free their places.
        waiting.cancel()
        #expect(await waiting.value.status == 499)
        while service.counters.waiting > 0, !Task.isCancelled { await Task.yield() }
        running.cancel()
        #expect(await running.value.status == 499)
        while service.counters.running > 0, !Task.isCancelled { await Task.yield() }
        #expect(service.isReady && service.counters.overloads == 1)
    }

    @Test func aLeavingClientDoesNotTakeTheResultFromOthers() async throws {
        let servers = try FaultServer()
        let fixture = try ServiceFixture()
        let stalled = try servers.url("/stall-headers/a").absoluteString
        let target = "/_/w:1/plain/\(stalled)"
        let service = fixture.service
        let first = Task { await service.answer(to: ServiceRequest(target: target)) }
        while service.counters.running < 1, !Task.isCancelled { await Task.yield() }
        let second = Task {
            await service.answer(to: ServiceRequest(target: target, deadline: .now + .milliseconds(300)))
        }
        first.cancel()
        #expect(await first.value.status == 499)
        // It still waits, until its own time is over.
        #expect(await second.value.status == 504)
        while service.counters.running > 0, !Task.isCancelled { await Task.yield() }
    }

    @Test func encodingStopsWhenNoClientWaits() async throws {
        let encoder = WaitingEncoder()
        let fixture = try ServiceFixture { configuration in
            let codecs = CodecRegistry()
            codecs.register(encoder)
            configuration.images.codecs = codecs
        }
        try await fixture.serve("/a.png", width: 40, height: 30)
        let task = Task { try await fixture.get("/w:20/plain/{}/a.png@bmp") }
        while !encoder.hasBegun, !Task.isCancelled { await Task.yield() }
        task.cancel()
        #expect(try await task.value.status == 499)
        while !encoder.wasCancelled, !Task.isCancelled { await Task.yield() }
    }

    /// AVIF is encoded in another process, which has to end, too.
    @Test(.enabled(if: CodecRegistry.shared.canEncode(.avif), "needs libavif"))
    func anEncodeInAnotherProcessStopsWhenNoClientWaits() async throws {
        let (encoder, directory) = (ObservedEncoder(.shared), try TemporaryDirectory())
        // It takes seconds.
        try directory.write(PhotographNoise.jpeg(side: 2000), to: "noise.jpg")
        let fixture = try ServiceFixture { configuration in
            configuration.folder = URL(filePath: directory.path, directoryHint: .isDirectory)
            let codecs = CodecRegistry()
            codecs.register(encoder)
            configuration.images.codecs = codecs
        }
        let task = Task { try await fixture.get("/q:95/plain/local:///noise.jpg@avif") }
        while !encoder.hasBegun, !Task.isCancelled { await Task.yield() }
        task.cancel()
        #expect(try await task.value.status == 499)
        while !encoder.hasEnded, !Task.isCancelled { await Task.yield() }
        #expect(encoder.error == .cancelled)
        while fixture.service.counters.running > 0, !Task.isCancelled { await Task.yield() }
    }
}

/// An encoder that ends only when it is cancelled.
private final class WaitingEncoder: ImageEncoder {
    private let begun = LockBox(false), cancelled = LockBox(false)

    var format: ImageFormat { .bmp }
    var hasBegun: Bool { begun.withLock { $0 } }
    var wasCancelled: Bool { cancelled.withLock { $0 } }

    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        begun.withLock { $0 = true }
        while true {
            do throws(WebImageError) {
                try options.cancellation?.check()
            } catch {
                cancelled.withLock { $0 = true }
                throw error
            }
        }
    }
}

/// Another encoder for AVIF, which tells when it begins and how it ends.
private final class ObservedEncoder: ImageEncoder {
    private let codecs: CodecRegistry
    private let begun = LockBox(false), ended = LockBox(false), failure = LockBox<WebImageError?>(nil)

    init(_ codecs: CodecRegistry) { self.codecs = codecs }

    var format: ImageFormat { .avif }
    var hasBegun: Bool { begun.withLock { $0 } }
    var hasEnded: Bool { ended.withLock { $0 } }
    var error: WebImageError? { failure.withLock { $0 } }

    func encode(_ image: Image, options: EncodingOptions) throws(WebImageError) -> Data {
        begun.withLock { $0 = true }
        defer { ended.withLock { $0 = true } }
        do throws(WebImageError) {
            return try codecs.encode(image, as: .avif, options: options)
        } catch {
            failure.withLock { $0 = error }
            throw error
        }
    }
}
