import Foundation
import Testing
import WebImage
import WebImageTestSupport

@testable import WebImageShared

/// What one user or machine may get of another's, with a real store.
@Suite(.timeLimit(.minutes(10)), .enabled(if: S3Server.isInstalled, "needs radosgw, ceph-mon and ceph-osd"))
struct SeparationTests: FleetSuite {
    let fleet: Fleet

    init() async throws {
        fleet = try await Fleet(of: S3Server.ofFleet.get())
    }

    // MARK: Requests

    /// Neither `Vary` nor `private` protects the image.
    @Test(arguments: ["X-Api-Key", "X-Tenant", "Authorization", "Cookie"])
    func noRequestGetsAnImageOfAnotherKey(name: String) async throws {
        let cache = SharedImageCache(configuration())
        for (level, value) in [(UInt8(10), "A"), (100, "B"), (200, nil)] {
            try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture(level))
            let response = try await load("/a", on: cache) { $0.headers[name] = value }
            #expect(response.data == (try Self.picture(level)))
            await cache.flush()
            #expect(try await storedBody("/a") == (value == nil ? Self.picture(level) : nil))
        }
        // Nor the other way round.
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture(50))
        let response = try await load("/a", on: cache) { $0.headers[name] = "A" }
        #expect(response.data == (try Self.picture(50)))
        #expect(cache.counters.hits == 0 && cache.counters.misses == 1)
    }

    private static let downloaders: [(String, @Sendable (inout ImageDownloader.Configuration) -> Void)] = [
        ("a header", { $0.headers["X-Api-Key"] = "A" }),
        ("a header of a hook", { $0.requestModifier = { $0.adding("X-Api-Key", "A") } }),
        ("a credential", { $0.credential = Credential(username: "a", password: "b") }),
        ("an authentication handler", { $0.authenticationHandler = { _ in nil } }),
        ("a decryptor", { $0.decryptor = { body, _ in body } }),
    ]

    @Test(arguments: Self.downloaders.indices)
    func aDownloaderWithItsOwnAccessIsNotShared(index: Int) async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let cache = SharedImageCache(configuration())
        var downloads = ImageDownloader.Configuration()
        Self.downloaders[index].1(&downloads)
        let machine = machine(cache) { $0.loaders = [ImageDownloader(configuration: downloads)] }
        _ = try await machine.response(for: WebImageRequest(try origin.url("/a")))
        await cache.flush()
        #expect(cache.counters == SharedImageCache.Counters(), "\(Self.downloaders[index].0)")
        #expect(try await storedBody("/a") == nil)
    }

    @Test func requestNumbersDoNotEndSharing() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let cache = SharedImageCache(configuration())
        for number in 0..<3 {
            _ = try await load("/a", on: cache) {
                $0.headers = ["X-Request-ID": "\(number)", "traceparent": "00-\(number)", "X-Client": "\(number)"]
                $0.harmlessHeaders = .standard
                $0.harmlessHeaders?.insert("x-client")
            }
            await cache.flush()
        }
        #expect(cache.counters.hits == 2)
        #expect(try await requestCount("/a") == 1)
    }

    @Test func theTraceNamesTheHeaderThatBypassesTheCache() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let request = WebImageRequest(try origin.url("/a"), headers: ["X-Tenant": "secret7"])
        let operation = machine(SharedImageCache(configuration())).load(request)
        _ = try await operation.response
        #expect(operation.traceDescription.contains("X-Tenant") && !operation.traceDescription.contains("secret7"))
    }

    // MARK: Responses

    @Test(arguments: [
        "Cache-Control: private, max-age=600", "Cache-Control: private=\"set-cookie\", s-maxage=600",
        "Cache-Control: no-store", "Cache-Control: no-store, max-age=600", "Set-Cookie: a=b",
        "Set-Cookie: a=b\nCache-Control: max-age=600", "Set-Cookie: a=b\nCache-Control: public, s-maxage=600",
        "Cache-Control: max-age=600\nVary: *", "Cache-Control: public, max-age=600",
    ])
    func whatIsForOneUserIsNotShared(fields: String) async throws {
        let isShared = fields.contains("public, max-age")
        try await origin.answer("/a", fields, body: Self.picture(10))
        let cache = SharedImageCache(configuration())
        _ = try await load("/a", on: cache)
        await cache.flush()
        #expect(try await storedBody("/a") == (isShared ? Self.picture(10) : nil))
        #expect(cache.counters.writes == (isShared ? 1 : 0))
        try await origin.answer("/a", fields, body: Self.picture(200))
        let other = SharedImageCache(configuration())
        #expect(try await load("/a", on: other).data == (try Self.picture(isShared ? 10 : 200)))
    }

    /// The mark that ends a lease has no content.
    @Test func theEndOfALeaseHasNothingOfThePrivateResponse() async throws {
        try await origin.answer("/a", "Cache-Control: private, max-age=600", body: Self.picture(10))
        let cache = SharedImageCache(configuration())
        await cache.store.learnAboutConditionalWrites()
        _ = try await load("/a", on: cache)
        await cache.flush()
        let name = try origin.url("/a").absoluteString
        guard case .found(let object, _) = await cache.store.read(name) else {
            Issue.record("nothing is stored")
            return
        }
        #expect(object.kind == .refusal && object.content.isEmpty && object.texts.record == nil)
    }

    // MARK: Addresses

    @Test(arguments: ["127.0.0.1", "localhost", "127.1"])
    func theAddressPolicyHoldsForStoredImages(host: String) async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let url = try #require(URL(string: "http://\(host):\(origin.port)/a"))
        let (first, second) = (SharedImageCache(configuration()), SharedImageCache(configuration()))
        let request = WebImageRequest(url, cachePolicy: .http)
        _ = try await machine(first).response(for: request)
        await first.flush()
        #expect(first.counters.writes == 1)
        let restricted = machine(second) { $0.loaders = [ImageDownloader(configuration: .server)] }
        await #expect(throws: WebImageError.self) { try await restricted.response(for: request) }
        #expect(second.counters.hits == 0)
        // It is stored for those that may connect there.
        _ = try await machine(second).response(for: request)
        #expect(second.counters.hits == 1)
    }

    @Test(arguments: [("127.0.0.1", 1), ("10.0.0.1", 0), (nil, 0)])
    func thePolicyIsAskedAboutTheAddressThatSentTheImage(address: String?, hits: Int) async throws {
        let path = "/a"
        try await origin.answer(path, "Cache-Control: max-age=600", body: Self.picture())
        let name = "http://localhost:\(origin.port)/a"
        let request = WebImageRequest(try #require(URL(string: name)), cachePolicy: .http)
        let first = SharedImageCache(configuration())
        _ = try await machine(first).response(for: request)
        await first.flush()
        let key = SharedObject.key(of: name)
        var object = try #require(SharedObject(try await client().send(.get, key).body, name: name, secret: nil))
        #expect(object.texts.address == "127.0.0.1" || object.texts.address == "::1")
        object.texts.address = address
        #expect(try await client().send(.put, key, body: object.encoded(secret: nil)).statusCode == 200)
        var downloads = ImageDownloader.Configuration.server
        downloads.addressPolicy.allowedNetworks = ["127.0.0.0/8", "::1"]
        let second = SharedImageCache(configuration())
        let machine = machine(second) { $0.loaders = [ImageDownloader(configuration: downloads)] }
        // The loader finds an allowed address.
        _ = try await machine.response(for: request)
        #expect(second.counters.hits == hits)
    }

    @Test func aLoaderGetsNoStoredResponseThatItWouldRefuse() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600\nContent-Type: image/png", body: Self.picture())
        let cache = SharedImageCache(configuration())
        _ = try await load("/a", on: cache)
        await cache.flush()
        let changes: [(Bool, @Sendable (inout ImageDownloader.Configuration) -> Void)] = [
            (true, { $0.acceptableContentTypes = ["image/png"] }), (false, { $0.maximumResponseByteCount = 10 }),
            (false, { $0.acceptableContentTypes = ["image/jpeg"] }), (false, { $0.acceptableStatusCodes = [201] }),
        ]
        let request = WebImageRequest(try origin.url("/a"), cachePolicy: .http)
        for (isAccepted, change) in changes {
            var downloads = ImageDownloader.Configuration()
            change(&downloads)
            let other = SharedImageCache(configuration())
            let machine = machine(other) { $0.loaders = [ImageDownloader(configuration: downloads)] }
            let response = try? await machine.response(for: request)
            #expect((response != nil) == isAccepted && other.counters.hits == (isAccepted ? 1 : 0))
        }
    }

    /// Two caches, one in front of the other.
    @Test func cachesOfSeveralLevelsStoreWhatDecodes() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let far = SharedImageCache(configuration())
        let near = SharedImageCache(configuration(try S3Location("s3://\(location.bucket)/near?\(location.query)")))
        let manager = machine(near) { $0.share(far) }
        _ = try await manager.response(for: WebImageRequest(try origin.url("/a"), cachePolicy: .http))
        await near.flush()
        await far.flush()
        #expect(near.counters.writes == 1 && far.counters.writes == 1)
        let other = SharedImageCache(near.configuration)
        _ = try await load("/a", on: other)
        #expect(other.counters.hits == 1)
    }

    /// Each machine would have to check the address of each redirect.
    @Test func aRedirectedResponseIsNotShared() async throws {
        try await origin.answer("/a", status: 302, "Location: /b\nCache-Control: max-age=600")
        try await origin.answer("/b", "Cache-Control: max-age=600", body: Self.picture())
        let cache = SharedImageCache(configuration())
        #expect(try await load("/a", on: cache).data == (try Self.picture()))
        await cache.flush()
        #expect(cache.counters.writes == 0)
        #expect(try await storedBody("/a") == nil)
    }

    @Test func anObjectWithRedirectsIsInvalid() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture())
        let cache = SharedImageCache(configuration())
        _ = try await load("/a", on: cache)
        await cache.flush()
        try await replaceBody("/a", with: Self.picture(200)) { object in
            var response = CachedResponse(encoded: object.texts.record)
            response?.finalURL = "http://10.0.0.1/"
            object.texts.record = response?.encoded
        }
        let other = SharedImageCache(configuration())
        #expect(try await load("/a", on: other).data == (try Self.picture()))
        #expect(other.counters.invalidObjects == 1 && other.counters.hits == 0)
    }

    // MARK: Secrets

    @Test func aForgedObjectIsAMissAndReplaced() async throws {
        try await origin.answer("/a", "Cache-Control: max-age=600", body: Self.picture(10))
        let plain = SharedImageCache(configuration())
        _ = try await load("/a", on: plain)
        await plain.flush()
        // With the right checksum.
        try await replaceBody("/a", with: Self.picture(200))
        #expect(try await load("/a", on: SharedImageCache(configuration())).data == (try Self.picture(200)))

        let secret = SharedSecret("a secret of the fleet")
        func secured(_ secret: SharedSecret?) -> SharedImageCache {
            var configuration = configuration()
            configuration.secret = secret
            return SharedImageCache(configuration)
        }
        let first = secured(secret)
        #expect(try await load("/a", on: first).data == (try Self.picture(10)))
        await first.flush()
        #expect(first.counters.hits == 0 && first.counters.invalidObjects >= 1)
        #expect(try await storedBody("/a", secret: secret) == (try Self.picture(10)))
        let second = secured(secret)
        _ = try await load("/a", on: second)
        #expect(second.counters.hits == 1)
        for other in [secured(SharedSecret("another")), secured(nil)] {
            _ = try await load("/a", on: other)
            #expect(other.counters.hits == 0 && other.counters.invalidObjects >= 1)
            await other.flush()
        }
    }
}

extension S3Location {
    fileprivate var query: String { "endpoint=\(endpoint.absoluteString)" }
}

extension LoaderRequest {
    fileprivate func adding(_ name: String, _ value: String) -> LoaderRequest {
        var request = self
        request.headers[name] = value
        return request
    }
}
