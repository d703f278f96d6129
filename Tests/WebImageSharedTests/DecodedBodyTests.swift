import Foundation
import Testing
import WebImage
import WebImageTestSupport

@testable import WebImageShared

/// A real store has only images that were decoded.
@Suite(.enabled(if: S3Server.isInstalled, "needs radosgw, ceph-mon and ceph-osd"), .timeLimit(.minutes(2)))
struct DecodedBodyTests: FleetSuite {
    let fleet: Fleet

    init() async throws {
        fleet = try await Fleet(of: S3Server.ofFleet.get())
    }

    /// Bodies that HTTP allows to share.
    private static func body(_ name: String) throws -> Data {
        switch name {
        case "a login page": Data("<!doctype html><title>Log in</title>".utf8)
        case "half an image": try picture().prefix(try picture().count / 2)
        default: try picture()
        }
    }

    private static func limit(_ name: String, _ configuration: inout WebImageManager.Configuration) {
        if name == "a bomb" { configuration.decodingLimits.pixelCount = 9 }
    }

    @Test(arguments: ["a login page", "half an image", "a bomb"])
    func whatDoesNotDecodeIsNotStored(name: String) async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.body(name))
        for usesLeases in [false, true] {
            let cache = SharedImageCache(configuration())
            if usesLeases { await cache.store.learnAboutConditionalWrites() }
            let machine = machine(cache) { Self.limit(name, &$0) }
            await #expect(throws: WebImageError.self) {
                try await machine.response(for: WebImageRequest(try origin.url("/a"), cachePolicy: .http))
            }
            // What decoding has shown arrives after the error.
            while usesLeases, cache.counters.writes == 0, !Task.isCancelled { await Task.yield() }
            await cache.flush()
            #expect(try await storedBody("/a") == nil)
            guard usesLeases else { continue }
            // Others need not wait for it.
            guard case .found(let object, _) = await cache.store.read(try origin.url("/a").absoluteString) else {
                Issue.record("there is no mark")
                continue
            }
            #expect(object.kind == .refusal)
        }
    }

    /// An earlier version, or another program, may have stored it.
    @Test(arguments: ["a login page", "half an image"], [false, true])
    func aStoredObjectThatDoesNotDecodeIsAMissAndReplaced(name: String, allowsDamage: Bool) async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600\nETag: \"1\"", body: Self.picture())
        let first = SharedImageCache(configuration())
        _ = try await load("/a", on: first)
        await first.flush()
        try await replaceBody("/a", with: Self.body(name))
        let second = SharedImageCache(configuration())
        let response = try await load("/a", on: second) { $0.allowsDamage = allowsDamage }
        #expect(response.data == (try Self.picture()) && !response.image.isPartial)
        await second.flush()
        #expect(second.counters.hits == 0 && second.counters.misses == 1 && second.counters.invalidObjects == 1)
        #expect(try await storedBody("/a") == (try Self.picture()))
        #expect(try await requestCount("/a") == 2)
        let third = SharedImageCache(configuration())
        #expect(try await load("/a", on: third).data == (try Self.picture()))
        #expect(third.counters.hits == 1)
    }

    @Test func aStoredBombIsLoadedFromTheOrigin() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let first = SharedImageCache(configuration())
        _ = try await load("/a", on: first)
        await first.flush()
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture(width: 3, height: 3))
        let second = SharedImageCache(configuration())
        let machine = machine(second) { Self.limit("a bomb", &$0) }
        let response = try await machine.response(for: WebImageRequest(try origin.url("/a"), cachePolicy: .http))
        #expect(response.data == (try Self.picture(width: 3, height: 3)))
        #expect(second.counters.hits == 0)
    }

    /// The origin confirms what is damaged in the store only.
    @Test func aStaleObjectThatDoesNotDecodeIsReplacedDespiteAConfirmation() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=0\nETag: \"1\"", body: Self.picture())
        let first = SharedImageCache(configuration())
        _ = try await load("/a", on: first)
        await first.flush()
        try await replaceBody("/a", with: Self.body("half an image"))
        let second = SharedImageCache(configuration())
        #expect(try await load("/a", on: second).data == (try Self.picture()))
        await second.flush()
        #expect(try await storedBody("/a") == (try Self.picture()))
        #expect(try await origin.requests().map(\.status) == [200, 304, 200])
    }

    /// Only the header of such an image is read.
    @Test func anImageThatWasNotDecodedIsNotStored() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let cache = SharedImageCache(configuration())
        _ = try await load("/a", on: cache) { $0.options.insert(.ignoreDecoding) }
        await cache.flush()
        #expect(try await storedBody("/a") == nil)
        #expect(cache.counters.misses == 1)
    }

    /// Data of any type follows the rules of HTTP, which allow no decision about images. It passes by.
    @Test func dataPassesBy() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.body("a login page"))
        let cache = SharedImageCache(configuration())
        let request = WebImageRequest(try origin.url("/a"), cachePolicy: .http)
        #expect(try await machine(cache).data(for: request).data == (try Self.body("a login page")))
        await cache.flush()
        #expect(cache.counters == SharedImageCache.Counters())
        #expect(try await storedBody("/a") == nil)
    }

    /// Several sizes of one transfer: the first that decodes is enough.
    @Test func oneOfSeveralImagesIsEnough() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let cache = SharedImageCache(configuration())
        let machine = machine(cache)
        let url = try origin.url("/a")
        try await withThrowingTaskGroup { group in
            for side in 1...4 {
                group.addTask {
                    try await machine.response(
                        for: WebImageRequest(
                            url, cachePolicy: .http, thumbnail: Thumbnail(.pixels(width: side, height: side))))
                }
            }
            try await group.waitForAll()
        }
        await cache.flush()
        #expect(cache.counters.writes == 1)
        #expect(try await storedBody("/a") == (try Self.picture()))
    }
}
