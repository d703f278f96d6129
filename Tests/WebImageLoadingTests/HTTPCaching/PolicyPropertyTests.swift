import FoundationEssentials
import Testing
@testable import WebImageLoading
import WebImageTestSupport

/// Invariants for random requests and responses.
@Suite(.timeLimit(.minutes(3))) struct PolicyPropertyTests {
    private var random = SplitMix64(seed: 9111)
    private static let roundCount = ReleaseChecks.choose(2_000, forRelease: 10_000)

    private static let responseDirectives = [
        "max-age=0", "max-age=10", "max-age=1000", "max-age=x", "no-cache", "no-cache=\"X-A\"", "no-store", "private",
        "public",
        "must-revalidate", "immutable", "stale-while-revalidate=20", "stale-if-error=20", "s-maxage=5",
        "must-understand",
    ]
    private static let requestDirectives = [
        "max-age=0", "max-age=5", "min-fresh=5", "max-stale", "max-stale=30", "no-cache", "no-store", "only-if-cached",
        "stale-if-error=40",
    ]

    private mutating func some(_ items: [String]) -> [String] {
        items.filter { _ in Int.random(in: 0..<5, using: &random) == 0 }
    }

    private mutating func randomResponse() -> (CachedResponse, [HTTPHeader]) {
        var headers = ["Cache-Control: " + some(Self.responseDirectives).joined(separator: ", ")]
        headers += some([
            "Expires: \(date(40))", "Expires: 0", "Age: 7", "Last-Modified: \(date(-500))", "ETag: \"a\"",
            "Vary: Accept",
            "Vary: Accept-Language, X-B", "Vary: *", "Date: \(date(-3))", "Date: \(date(60))",
        ])
        let requestHeaders = randomRequestHeaders()
        let response = CachedResponse(
            statusCode: [200, 200, 200, 404, 302, 500].randomElement(using: &random) ?? 200,
            headers: fields(headers.joined(separator: "\n")), requestHeaders: requestHeaders, requestTime: epoch,
            responseTime: epoch)
        return (response, requestHeaders)
    }

    private mutating func randomRequestHeaders() -> [HTTPHeader] {
        fields(some(["Accept: a", "Accept: b", "Accept-Language: de", "X-B: 1", "X-B: 2"]).joined(separator: "\n"))
    }

    private mutating func randomRequest() -> HTTPCachePolicy.Request {
        let control = some(Self.requestDirectives)
        var headers = randomRequestHeaders()
        if !control.isEmpty {
            headers.append(HTTPHeader(name: "Cache-Control", value: control.joined(separator: ", ")))
        }
        return HTTPCachePolicy.Request(headers: headers)
    }

    @Test mutating func neverServesWhatIsStaleAsFreshNorWhatAnotherRequestGot() {
        var servedCount = 0
        for _ in 0..<Self.roundCount {
            let (first, _) = randomResponse()
            let (second, _) = randomResponse()
            let stored = [first, second]
            let request = randomRequest()
            let now = epoch + Double(Int.random(in: -10..<120, using: &random))
            let index: Int
            let reason: HTTPCachePolicy.Reason
            switch HTTPCachePolicy.decide(request, stored: stored, now: now) {
            case .serve(let served, let because), .serveAndRevalidate(let served, _, let because):
                (index, reason) = (served, because)
            default: continue
            }
            servedCount += 1
            let (response, control) = (stored[index], stored[index].cacheControl)
            #expect(response.matches(request.headers))
            #expect(!response.varyingFieldNames.contains("*"))
            #expect(!control.has(.noCache) || !control.fieldNames(of: .noCache).isEmpty)
            #expect(now >= epoch - 2)
            let freshness = Freshness(of: response, now: now)
            switch reason {
            case .fresh: #expect(freshness.isFresh)
            case .staleAllowed(_, let rule):
                #expect(!freshness.isFresh && !control.has(.mustRevalidate))
                let says =
                    rule == "max-stale"
                    ? CacheControl(request.headers).has(.maxStale) : control.has(.staleWhileRevalidate)
                #expect(says)
            default: Issue.record("served because \(reason)")
            }
        }
        #expect(servedCount > 100, "the test covers something")
    }

    /// The short path for memory hits agrees with the rules.
    @Test mutating func aFreshPeriodIsWhenPlainRequestsAreServedAsFresh() {
        var freshCount = 0
        for _ in 0..<Self.roundCount / 3 {
            let (response, _) = randomResponse()
            let period = HTTPCachePolicy.freshPeriod(of: response)
            for _ in 0..<8 {
                let now = epoch + Double(Int.random(in: -4..<120, using: &random)) + 0.5
                var isFresh = false
                let plain = HTTPCachePolicy.Request()
                if case .serve(_, .fresh) = HTTPCachePolicy.decide(plain, stored: [response], now: now) {
                    isFresh = response.varyingFieldNames.isEmpty
                }
                #expect(period?.contains(now) ?? false == isFresh, "\(response.headers)")
                if isFresh { freshCount += 1 }
            }
        }
        #expect(freshCount > 150, "the test covers something")
    }

    @Test mutating func neverStoresWhatIsForbidden() {
        for _ in 0..<Self.roundCount {
            let (response, _) = randomResponse()
            let request = randomRequest()
            let storability = HTTPCachePolicy.storability(
                of: request, statusCode: response.statusCode, headers: response.headers)
            guard storability == .storable else { continue }
            #expect(!CacheControl(request.headers).has(.noStore))
            #expect(!response.cacheControl.has(.noStore) || response.cacheControl.has(.mustUnderstand))
            #expect(!response.varyingFieldNames.contains("*"))
        }
    }

    @Test mutating func asksNoServerForOnlyIfCached() {
        for _ in 0..<Self.roundCount / 2 {
            let (response, _) = randomResponse()
            var request = randomRequest()
            request.headers.append(HTTPHeader(name: "Cache-Control", value: "only-if-cached"))
            switch HTTPCachePolicy.decide(request, stored: [response], now: epoch + 30) {
            case .serve, .fail: break
            case let decision: Issue.record("\(decision)")
            }
        }
    }

    /// Any bytes in the fields lead to a decision, and to no crash.
    @Test mutating func takesAnyBytes() {
        let alphabet = Array("=,\"\\; -W/0123456789abgmtAGS:\u{7F}é\u{0}".unicodeScalars)
        func text(_ random: inout SplitMix64) -> String {
            let scalars = (0..<Int.random(in: 0..<30, using: &random)).compactMap { _ in
                alphabet.randomElement(using: &random)
            }
            return String(String.UnicodeScalarView(scalars))
        }
        let names = [
            "Cache-Control", "Expires", "Date", "Age", "Vary", "ETag", "Last-Modified", "Connection", "Pragma",
        ]
        for _ in 0..<Self.roundCount / 2 {
            let headers = names.map { HTTPHeader(name: $0, value: text(&random)) }
            let request = HTTPCachePolicy.Request(headers: names.map { HTTPHeader(name: $0, value: text(&random)) })
            let response = CachedResponse(
                statusCode: 200, headers: headers, requestHeaders: request.headers, requestTime: epoch,
                responseTime: epoch)
            _ = HTTPCachePolicy.storability(of: request, statusCode: 200, headers: headers)
            _ = response.headers(servedAt: epoch + 5)
            switch HTTPCachePolicy.decide(request, stored: [response], now: epoch + 5) {
            case .revalidate(_, let revalidation, _):
                for condition in revalidation.conditions { #expect(!condition.value.unicodeScalars.contains("\u{0}")) }
            default: break
            }
        }
    }
}
