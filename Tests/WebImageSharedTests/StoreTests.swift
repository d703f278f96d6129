import Foundation
import Testing
@testable import WebImageCore
@testable import WebImageLoading
import WebImageTestSupport

@testable import WebImageShared

@Suite(.timeLimit(.minutes(3))) struct S3LocationTests {
    @Test func readsAllParts() throws {
        let location = try S3Location(
            "s3://images/fleet/a?endpoint=http://127.0.0.1:9000&region=eu-1", environment: [:])
        #expect(location.bucket == "images" && location.prefix == "fleet/a" && location.region == "eu-1")
        #expect(location.url("v1/ab")?.absoluteString == "http://127.0.0.1:9000/images/fleet/a/v1/ab")
        let query = [("prefix", "fleet/a/"), ("list-type", "2")]
        #expect(
            location.url(nil, query: query)?.absoluteString
                == "http://127.0.0.1:9000/images?list-type=2&prefix=fleet%2Fa%2F")
    }

    @Test func withoutAnEndpointItIsAmazons() throws {
        let location = try S3Location("s3://images", environment: ["AWS_REGION": "eu-west-3"])
        #expect(location.url("k")?.absoluteString == "https://images.s3.eu-west-3.amazonaws.com/k")
        #expect(location.url(nil)?.absoluteString == "https://images.s3.eu-west-3.amazonaws.com/")
    }

    @Test func theEnvironmentTellsTheEndpoint() throws {
        let location = try S3Location(
            "s3://images?style=host", environment: ["AWS_ENDPOINT_URL": "https://store.example:8443"])
        #expect(location.url("k")?.absoluteString == "https://images.store.example:8443/k")
    }

    @Test(arguments: [
        "http://images/x", "s3://", "s3://a", "s3://id:secret@images/x", "s3://images/x?key=secret",
        "s3://images?endpoint=ftp://x", "s3://images?endpoint=http://u:p@x", "s3://images?style=odd",
        "s3://images/a%20b", "s3://images?region=a/b",
    ])
    func refusesOthersWithoutShowingSecrets(text: String) {
        do {
            _ = try S3Location(text, environment: [:])
            Issue.record("accepted")
        } catch {
            #expect(!error.description.contains("secret"))
            // Programs may show the text alone.
            guard case .invalidURL(let shown, _) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(!shown.contains("secret"))
        }
    }

    @Test func keysAreInNoDescription() {
        let credential = S3Credential(keyID: "id123", secret: "secret123", sessionToken: "token123")
        var text = "\(credential) \(String(reflecting: credential))"
        dump(credential, to: &text)
        #expect(!text.contains("123"))
    }
}

@Suite(.timeLimit(.minutes(3))) struct SharedObjectTests {
    private let object: SharedObject = {
        var object = SharedObject(.response, name: "https://a/b", record: Data([1, 2]), content: Data("image".utf8))
        object.texts.expires = 12
        return object
    }()

    @Test func isReadAsItWasWritten() {
        #expect(SharedObject(object.encoded(secret: nil), name: "https://a/b", secret: nil) == object)
        #expect(SharedObject(object.encoded(secret: nil), name: nil, secret: nil) == object)
        #expect(object.isExpired(at: Date()) && !object.isExpired(at: Date(timeIntervalSince1970: 11)))
    }

    @Test func anyChangeMakesItNone() {
        let data = object.encoded(secret: nil)
        for count in 0..<data.count { #expect(SharedObject(data.prefix(count), name: nil, secret: nil) == nil) }
        for index in data.indices {
            var changed = data
            changed[index] ^= 1
            #expect(SharedObject(changed, name: nil, secret: nil) == nil, "byte \(index)")
        }
        #expect(SharedObject(data + [0], name: nil, secret: nil) == nil)
        #expect(SharedObject(data, name: "https://a/c", secret: nil) == nil)
    }

    /// As a machine sees what one with a later version of the library has stored.
    @Test(arguments: [(0, true), (1, false)] as [(UInt8, Bool)])
    func anObjectOfAnotherVersionIsNone(difference: UInt8, isRead: Bool) {
        var data = object.encoded(secret: nil).dropLast(64)
        data[4] += difference
        data += SHA256.hexDigest(of: [UInt8](data)).utf8
        #expect((SharedObject(data, name: nil, secret: nil) == object) == isRead)
        #expect((SharedObject.name(inBeginning: data) == object.texts.name) == isRead)
    }

    @Test func theBeginningOfAnObjectHasItsName() {
        let withoutContent = object.encoded(secret: nil).dropLast(64 + object.content.count)
        #expect(SharedObject.name(inBeginning: withoutContent) == object.texts.name)
        for count in 0..<withoutContent.count {
            #expect(SharedObject.name(inBeginning: withoutContent.prefix(count)) == nil)
        }
    }

    @Test func withASecretOnlyItsHoldersWriteObjects() throws {
        let (secret, other) = (try #require(SharedSecret("one")), try #require(SharedSecret("two")))
        let (signed, plain) = (object.encoded(secret: secret), object.encoded(secret: nil))
        #expect(SharedObject(signed, name: "https://a/b", secret: secret) == object)
        #expect(SharedObject(signed, name: nil, secret: other) == nil)
        // Before and after an upgrade.
        #expect(SharedObject(signed, name: nil, secret: nil) == nil)
        #expect(SharedObject(plain, name: nil, secret: secret) == nil)
        // What a forger can do: the right checksum, and the mark of a code.
        var forged = plain.dropLast(64)
        forged[6] = 1
        forged += SHA256.hexDigest(of: [UInt8](forged)).utf8
        #expect(SharedObject(forged, name: nil, secret: secret) == nil)
        for index in signed.indices {
            var changed = signed
            changed[index] ^= 1
            #expect(SharedObject(changed, name: nil, secret: secret) == nil, "byte \(index)")
        }
    }

    @Test func aSecretIsInNoDescription() throws {
        let secret = try #require(SharedSecret("secret123"))
        var text = "\(secret) \(String(reflecting: secret))"
        dump(secret, to: &text)
        #expect(!text.contains("123") && SharedSecret("") == nil)
    }

    @Test func theEnvironmentHasTheSecret() {
        #expect(SharedSecret.from(["WEBIMAGE_SHARED_SECRET": "abc"])?.bytes == Array("abc".utf8))
        #expect(SharedSecret.from(["WEBIMAGE_SHARED_SECRET": ""]) == nil && SharedSecret.from([:]) == nil)
    }

    @Test func keysHaveOnlyLettersThatNoEncodingChanges() {
        let key = SharedObject.key(of: "https://a/ü?x=1")
        #expect(key.hasPrefix("v1/") && key.utf8.count == 3 + 2 + 1 + 62)
        #expect(
            key.utf8.allSatisfy { ("0"..."9").contains(Character(UnicodeScalar($0))) || "abcdefv/".utf8.contains($0) })
    }
}

@Suite(.timeLimit(.minutes(3))) struct CircuitBreakerTests {
    @Test func opensAfterFailuresInARow() {
        var breaker = CircuitBreaker()
        for _ in 1..<CircuitBreaker.failureLimit { breaker.fail(at: .zero) }
        #expect(!breaker.isOpen)
        breaker.succeed()
        for _ in 1..<CircuitBreaker.failureLimit { breaker.fail(at: .zero) }
        let isAdmitted = breaker.admits(at: .zero)
        breaker.fail(at: .zero)
        let isAdmittedEarly = breaker.admits(at: .milliseconds(999))
        #expect(isAdmitted && breaker.isOpen && !isAdmittedEarly)
    }

    @Test func probesAloneAndWaitsLongerEachTime() {
        var breaker = CircuitBreaker()
        for _ in 0..<CircuitBreaker.failureLimit { breaker.fail(at: .zero) }
        var (now, pause) = (Duration.seconds(1), Duration.seconds(1))
        for _ in 0..<10 {
            let admissions = [breaker.admits(at: now), breaker.admits(at: now)]
            #expect(admissions == [true, false])
            breaker.fail(at: now)
            pause = min(pause * 2, CircuitBreaker.longestPause)
            let isAdmittedEarly = breaker.admits(at: now + pause - .milliseconds(1))
            #expect(!isAdmittedEarly)
            now += pause
        }
        let isAdmitted = breaker.admits(at: now)
        #expect(isAdmitted)
        breaker.succeed()
        let admissions = [breaker.admits(at: now), breaker.admits(at: now)]
        #expect(!breaker.isOpen && admissions == [true, true])
        #expect(breaker.openingCount == 1)
    }

    @Test func aCancelledProbeLeavesRoomForAnother() {
        var breaker = CircuitBreaker()
        for _ in 0..<CircuitBreaker.failureLimit { breaker.fail(at: .zero) }
        let first = breaker.admits(at: .seconds(1))
        breaker.forget()
        let second = breaker.admits(at: .seconds(1))
        #expect(first && second)
    }
}

@Suite(.timeLimit(.minutes(3))) struct SharedStoreTests {
    /// Five attempts open the circuit breaker. Each further one is its probe.
    @Test func aWriteIsNotSentForever() async throws {
        let port = try LoopbackRequest.unusedPort()
        let location = try S3Location("s3://bucket?endpoint=http://127.0.0.1:\(port)", environment: [:])
        let clock = ManualTimerClock()
        let store = SharedStore(SharedImageCache.Configuration(location: location), clock: clock)
        store.write(SharedObject(.value, name: "a"))
        let limit = 2 * CircuitBreaker.failureLimit
        while store.counters.droppedWrites == 0, store.counters.failures <= limit, !Task.isCancelled {
            clock.advance(by: CircuitBreaker.longestPause)
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(store.counters.droppedWrites == 1 && store.counters.failures == limit)
    }
}

@Suite(.timeLimit(.minutes(3))) struct SharedPolicyTests {
    private func obstacle(_ headers: [String: String], status: Int = 200) -> HTTPCachePolicy.SharedObstacle? {
        HTTPCachePolicy.sharedObstacle(
            toStoring: status, headers: headers.map { HTTPHeader(name: $0.key, value: $0.value) }, requestHeaders: [])
    }

    private static let personal: [(String, @Sendable (inout LoaderRequest) -> Void)] = [
        ("a user in the URL", { $0.url = URL(string: "https://u:p@a.example/b") ?? $0.url }),
        ("a credential", { $0.credential = Credential(username: "a", password: "b") }),
        ("cookies", { $0.handlesCookies = true }),
        ("stored credentials", { $0.usesCredentialStorage = true }),
        ("any certificate", { $0.allowsInvalidCertificates = true }),
    ]

    @Test(arguments: Self.personal.indices)
    func noRequestOfOneUserIsShared(index: Int) throws {
        var request = LoaderRequest(url: try #require(URL(string: "https://a.example/b")))
        #expect(HTTPCachePolicy.sharedObstacle(to: request, headersSent: []) == nil)
        Self.personal[index].1(&request)
        #expect(
            HTTPCachePolicy.sharedObstacle(to: request, headersSent: []) == .personalRequest,
            "\(Self.personal[index].0)")
    }

    @Test(arguments: ["Authorization", "cookie", "Proxy-Authorization"])
    func noCredentialIsSharedEvenIfItIsCalledHarmless(name: String) throws {
        var request = LoaderRequest(url: try #require(URL(string: "https://a.example/b")))
        request.harmlessHeaders.insert(name)
        let fields = [HTTPHeader(name: name, value: "x")]
        #expect(HTTPCachePolicy.sharedObstacle(to: request, headersSent: fields) == .personalRequest)
    }

    @Test(arguments: ["X-Api-Key", "X-Tenant", "Origin", "Host"])
    func noRequestWithAnUnknownHeaderIsShared(name: String) throws {
        var request = LoaderRequest(url: try #require(URL(string: "https://a.example/b")))
        let fields = [HTTPHeader(name: "Accept", value: "*/*"), HTTPHeader(name: name, value: "x")]
        #expect(HTTPCachePolicy.sharedObstacle(to: request, headersSent: fields) == .headerField(name: name))
        request.harmlessHeaders.insert(name)
        #expect(HTTPCachePolicy.sharedObstacle(to: request, headersSent: fields) == nil)
    }

    @Test func onlyAPlainGETIsShared() throws {
        let plain = LoaderRequest(url: try #require(URL(string: "https://a.example/b")))
        var post = plain
        post.method = .post
        #expect(HTTPCachePolicy.sharedObstacle(to: post, headersSent: []) == .request)
        var data = plain
        data.acceptsAnyAnswer = true
        #expect(HTTPCachePolicy.sharedObstacle(to: data, headersSent: []) == .request)
        let range = [HTTPHeader(name: "Range", value: "bytes=1-")]
        #expect(HTTPCachePolicy.sharedObstacle(to: plain, headersSent: range) == .request)
        let conditions = ["If-None-Match", "User-Agent", "Accept-Language", "X-Request-ID"].map {
            HTTPHeader(name: $0, value: "1")
        }
        #expect(HTTPCachePolicy.sharedObstacle(to: plain, headersSent: conditions) == nil)
    }

    @Test func storesWhatASharedCacheMay() {
        #expect(obstacle(["Cache-Control": "max-age=60"]) == nil)
        #expect(obstacle([:]) == nil)
        for life in ["", ", max-age=60", ", public, s-maxage=60"] {
            #expect(obstacle(["Cache-Control": "private" + life]) == .isPrivate)
            #expect(obstacle(["Cache-Control": "no-store" + life]) == .notStorable(.responseNoStore))
            #expect(obstacle(["Cache-Control": "max-age=1" + life, "set-cookie": "a=b"]) == .setsCookie)
        }
        #expect(obstacle(["Vary": "*"]) == .notStorable(.variesByAnything))
        #expect(obstacle(["Cache-Control": "max-age=60"], status: 206) == .status(206))
        #expect(obstacle(["Cache-Control": "max-age=60"], status: 404) == .status(404))
    }

    @Test func theSharedLifetimeCounts() {
        func freshness(_ control: String) -> (isFresh: Bool, mustRevalidate: Bool) {
            let response = CachedResponse(
                statusCode: 200, headers: [HTTPHeader(name: "Cache-Control", value: control)], requestHeaders: [],
                requestTime: Date().addingTimeInterval(-100), responseTime: Date().addingTimeInterval(-100)
            ).forSharedCache
            return (Freshness(of: response, now: Date()).isFresh, CacheControl(response.headers).has(.mustRevalidate))
        }
        #expect(freshness("max-age=60, s-maxage=600") == (true, true))
        #expect(freshness("max-age=600, s-maxage=60") == (false, true))
        #expect(freshness("max-age=600, proxy-revalidate") == (true, true))
        #expect(freshness("max-age=600") == (true, false))
    }
}
