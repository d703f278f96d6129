import FoundationEssentials
import Testing
import WebImageCore

@testable import WebImageLoading

@Suite(.timeLimit(.minutes(3))) struct RetryPolicyTests {
    private static let url = URL(string: "https://h.test/a.png") ?? URL(filePath: "/")
    private static let reset = WebImageError.transport(code: 56, message: "reset", url: url)

    private var policy = RetryPolicy(maximumAttempts: 4)

    private func delay(
        afterAttempt number: Int = 1, _ error: WebImageError = reset, method: LoaderRequest.Method = .get,
        retryAfter: Duration? = nil, elapsed: Duration = .zero, random: Double = 1
    ) -> Duration? {
        policy.delay(
            after: RetryFailure(
                attemptCount: number, error: error, isIdempotent: method.isIdempotent, retryAfter: retryAfter,
                elapsed: elapsed,
                random: random))
    }

    @Test func theDefaultRetriesNothing() {
        #expect(RetryPolicy.none.maximumAttempts == 1)
        #expect(RetryPolicy.none.delay(after: RetryFailure(attemptCount: 1, error: Self.reset)) == nil)
    }

    @Test func theBackoffDoublesUpToItsLimit() {
        let seconds = (1...9).map { policy.backoff(afterAttempt: $0) }
        #expect(seconds.prefix(6) == [.seconds(0.5), .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16)])
        #expect(seconds.suffix(3) == [.seconds(30), .seconds(30), .seconds(30)])
        let short = RetryPolicy(maximumAttempts: 4, initialBackoff: .seconds(10), maximumBackoff: .seconds(2))
        #expect(short.backoff(afterAttempt: 1) == .seconds(2))
    }

    @Test(arguments: [(Double.infinity, 2), (.nan, 1), (0, 1), (-3, 1), (1, 1), (1e300, 2)])
    mutating func anyFactorGivesABoundedBackoff(factor: Double, growsAt: Int) {
        policy.backoffFactor = factor
        for number in [Int.min, -1, 0, 1] { #expect(policy.backoff(afterAttempt: number) == .milliseconds(500)) }
        let isGrowing = growsAt == 2
        for number in [2, 3, 1000, .max] {
            #expect(policy.backoff(afterAttempt: number) == (isGrowing ? .seconds(30) : .milliseconds(500)))
        }
    }

    @Test mutating func negativeTimesAreNone() {
        policy.initialBackoff = .seconds(-1)
        #expect(delay() == .zero)
        #expect(delay(retryAfter: .seconds(-5)) == .zero)
    }

    @Test(arguments: [(0, 0), (0.25, 500), (1, 2000), (7, 2000), (-1, 0)] as [(Double, Int)])
    func theWholeBackoffIsRandom(random: Double, milliseconds: Int) {
        #expect(delay(afterAttempt: 3, random: random) == .milliseconds(milliseconds))
    }

    @Test func endsWithItsLastAttempt() {
        #expect(delay(afterAttempt: 3) != nil)
        #expect(delay(afterAttempt: 4) == nil)
    }

    @Test mutating func startsNothingAfterTheTimeLimit() {
        policy.timeLimit = .seconds(10)
        #expect(delay(elapsed: .seconds(9)) == .milliseconds(500))
        #expect(delay(elapsed: .seconds(9.5)) == nil)
        #expect(delay(retryAfter: .seconds(9.5)) == nil)
    }

    @Test func waitsAtLeastAsLongAsTheServerRequests() {
        #expect(delay(retryAfter: .seconds(7), random: 0) == .seconds(7))
        #expect(delay(retryAfter: .seconds(7), random: 1) == .seconds(7.5))
        #expect(delay(retryAfter: .seconds(60)) == .seconds(60.5))
        #expect(delay(retryAfter: .seconds(61)) == nil, "it does not come sooner than told")
    }

    @Test(arguments: [.get, .head, .put, .delete, .options] as [LoaderRequest.Method])
    func retriesIdempotentRequests(method: LoaderRequest.Method) { #expect(delay(method: method) != nil) }

    @Test(arguments: [.post, .patch] as [LoaderRequest.Method])
    func doesNotRetryOtherRequests(method: LoaderRequest.Method) { #expect(delay(method: method) == nil) }

    @Test func retriesTemporaryErrors() {
        let statuses = (100..<600).filter { WebImageError.httpStatus(code: $0, url: Self.url).isTransient }
        #expect(statuses == [408, 429, 500, 502, 503, 504])
        let codes = (0..<200).filter { WebImageError.transport(code: $0, message: "", url: Self.url).isTransient }
        #expect(codes == [5, 6, 7, 16, 18, 28, 35, 52, 55, 56, 92, 95, 96])
        let others: [WebImageError] = [
            .timedOut(after: .seconds(1), url: Self.url),
            .timedOut(reason: .connecting, after: .seconds(1), url: Self.url),
            .timedOut(reason: .slow(bytesPerSecond: 1), after: .seconds(1), url: Self.url),
            .invalidResponse(reason: .truncated(expected: 2, received: 1), url: Self.url),
            .invalidResponse(reason: .truncated(expected: nil, received: 1), url: Self.url),
            .timedOut(reason: .offline, after: .seconds(1), url: Self.url),
        ]
        #expect(others.allSatisfy { $0.isTransient })
    }

    @Test(
        arguments: [
            .cancelled, .certificate(reason: .expired, url: url), .blocked(reason: .host("h"), url: url),
            .invalidResponse(reason: .bodyTooLong(byteCount: 2, limit: 1), url: url),
            .invalidResponse(reason: .tooManyRedirects(limit: 1), url: url),
            .blocked(reason: .insecureRedirect(to: url), url: url), .invalidResponse(reason: .emptyBody, url: url),
            .invalidURL(""),
            .invalidResponse(reason: .headersTooLong(limit: 1), url: url),
            .timedOut(reason: .total, after: .seconds(1), url: url),
            .invalidResponse(reason: .tooManyInformationalResponses(limit: 20), url: url),
            .outOfResources(reason: .thread, url: url), .file(path: "/", errno: 2),
            .unrecognizedFormat(contentType: nil, leadingBytes: []), .notInCache(key: ""),
        ] as [WebImageError])
    func doesNotRetryPermanentErrors(error: WebImageError) { #expect(delay(error) == nil) }
}

@Suite(.timeLimit(.minutes(3))) struct RetryAfterTests {
    private let now = Date(timeIntervalSince1970: 784_111_777)  // Sun, 06 Nov 1994 08:49:37 GMT

    private func delay(_ fields: (String, String)...) throws -> Duration? {
        let url = try #require(URL(string: "http://h/"))
        let headers = fields.map { HTTPHeader(name: $0.0, value: $0.1) }
        return RetryAfter.delay(of: LoaderResponse(url: url, statusCode: 503, headers: headers), now: now)
    }

    @Test(arguments: [("0", 0), ("1", 1), ("120", 120), ("0003", 3)])
    func readsSeconds(text: String, seconds: Int) throws {
        #expect(try delay(("retry-after", text)) == .seconds(seconds))
    }

    @Test func anOverflowingNumberOfSecondsIsALongDelay() throws {
        let delay = try #require(try delay(("Retry-After", String(repeating: "9", count: 40))))
        #expect(delay > .seconds(1_000_000_000))
    }

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:50:37 GMT", "Sunday, 06-Nov-94 08:50:37 GMT", "Sun Nov  6 08:50:37 1994",
    ])
    func readsDates(text: String) throws { #expect(try delay(("Retry-After", text)) == .seconds(60)) }

    @Test func countsFromTheServersDate() throws {
        let date = ("Date", "Sun, 06 Nov 1994 07:00:00 GMT")
        #expect(try delay(date, ("Retry-After", "Sun, 06 Nov 1994 07:00:09 GMT")) == .seconds(9))
    }

    @Test func aDateThatHasPassedMeansNow() throws {
        #expect(try delay(("Retry-After", "Sun, 06 Nov 1994 08:00:00 GMT")) == .zero)
    }

    @Test(arguments: ["", "soon", "-1", "1.5", "+1", "1 2", "Sun, 06 Nov 1994 08:49:37 CET"])
    func otherValuesAreIgnored(text: String) throws { #expect(try delay(("Retry-After", text)) == nil) }
}

@Suite(.timeLimit(.minutes(3))) struct AlternativeRequestTests {
    private func alternative(of headers: [String: String], at text: String) throws -> LoaderRequest {
        var request = LoaderRequest(
            url: try #require(URL(string: "https://h.test/a")), headers: headers,
            credential: Credential(username: "u", password: "p"))
        request.handlesCookies = true
        return request.alternative(try #require(URL(string: text)))
    }

    private static let headers = [
        "Accept": "a", "User-Agent": "b", "Authorization": "c", "X-Key": "d", "Range": "bytes=0-9",
        "If-None-Match": "e", "if-modified-since": "f", "Proxy-Authorization": "g",
    ]

    @Test func theSameOriginGetsAllHeadersExceptConditions() throws {
        let request = try alternative(of: Self.headers, at: "https://H.test:443/b")
        #expect(request.url.path() == "/b" && request.handlesCookies)
        #expect(
            Set(request.headers.keys)
                == ["Accept", "User-Agent", "Authorization", "X-Key", "Range", "Proxy-Authorization"])
        #expect(request.credential != nil)
    }

    @Test(arguments: ["http://h.test/a", "https://i.test/a", "https://h.test:444/a", "file:///a"])
    func anotherOriginGetsNoSecrets(url: String) throws {
        let request = try alternative(of: Self.headers, at: url)
        #expect(Set(request.headers.keys) == ["Accept", "User-Agent", "Range"])
        #expect(request.credential == nil)
    }

    @Test func rangesAreNotSentToTheAlternative() throws {
        let request = try alternative(of: ["Range": "bytes=5-", "If-Range": "e"], at: "https://h.test/b")
        #expect(request.headers.isEmpty)
    }
}
