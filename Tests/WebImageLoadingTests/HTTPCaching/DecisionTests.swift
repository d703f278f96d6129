import FoundationEssentials
import Testing
import WebImageCore
import WebImageLoading

/// RFC 9111, 4: what is done with a request, by what is stored.
@Suite(.timeLimit(.minutes(3))) struct DecisionTests {
    enum Expected: Sendable { case serve, serveAndRevalidate, revalidate, load, fail }

    struct Row: Sendable, CustomTestStringConvertible {
        let rule: String
        var method = "GET"
        var request = ""
        /// The response stored at `epoch`; `nil` for none.
        var stored: String? = "Cache-Control: max-age=100\nETag: \"a\""
        var storedRequest = ""
        /// Seconds since then.
        var after = 10.0
        let expected: Expected

        var testDescription: String { "\(rule): \(method) \(request) after \(after) s" }
    }

    static let fresh = "Cache-Control: max-age=100\nETag: \"a\""
    static func with(_ directives: String) -> String { "Cache-Control: max-age=100, \(directives)\nETag: \"a\"" }

    static let rows = [
        Row(rule: "4 nothing stored", stored: nil, expected: .load),
        Row(rule: "4 fresh", expected: .serve),
        Row(rule: "4.2 fresh to the last", after: 99, expected: .serve),
        Row(rule: "4.2 stale at once", after: 100, expected: .revalidate),
        Row(rule: "4.2.4 stale is not served unasked", after: 500, expected: .revalidate),
        Row(rule: "4.3.1 stale without a validator", stored: "Cache-Control: max-age=1", expected: .revalidate),
        Row(rule: "4 HEAD from a stored GET", method: "HEAD", expected: .serve),
        Row(rule: "4 POST goes through", method: "POST", expected: .load),
        Row(rule: "4 DELETE goes through", method: "DELETE", expected: .load),
        Row(rule: "3.3 a part goes through", request: "Range: bytes=0-1", expected: .load),
        Row(rule: "4.3.2 conditions go through", request: "If-None-Match: \"b\"", expected: .load),
        Row(rule: "4.3.2 conditions go through", request: "If-Modified-Since: \(date(0))", expected: .load),

        Row(rule: "5.2.2.4 no-cache", stored: with("no-cache"), expected: .revalidate),
        Row(
            rule: "5.2.2.4 no-cache with names is about those fields", stored: with("no-cache=\"X-A\""),
            expected: .serve),
        Row(rule: "5.2.2.2 must-revalidate while fresh", stored: with("must-revalidate"), expected: .serve),
        Row(
            rule: "5.2.2.2 must-revalidate when stale", stored: with("must-revalidate"), after: 200,
            expected: .revalidate),
        Row(
            rule: "5.2.2.8 proxy-revalidate is for proxies", request: "Cache-Control: max-stale",
            stored: with("proxy-revalidate"), after: 200, expected: .serve),
        Row(rule: "5.2.2.10 s-maxage is for shared caches", stored: with("s-maxage=1"), expected: .serve),
        Row(rule: "5.4 Pragma of an answer means nothing", stored: fresh + "\nPragma: no-cache", expected: .serve),
        Row(rule: "RFC 8246 immutable while fresh", stored: with("immutable"), expected: .serve),
        Row(rule: "RFC 8246 immutable when stale", stored: with("immutable"), after: 200, expected: .revalidate),

        Row(rule: "5.2.1.4 no-cache of the request", request: "Cache-Control: no-cache", expected: .revalidate),
        Row(rule: "5.4 Pragma: no-cache of the request", request: "Pragma: no-cache", expected: .revalidate),
        Row(
            rule: "5.4 Cache-Control goes before Pragma", request: "Pragma: no-cache\nCache-Control: max-age=50",
            expected: .serve),
        Row(rule: "5.2.1.1 max-age that it meets", request: "Cache-Control: max-age=50", expected: .serve),
        Row(rule: "5.2.1.1 max-age to the second", request: "Cache-Control: max-age=10", expected: .serve),
        Row(rule: "5.2.1.1 max-age that it does not meet", request: "Cache-Control: max-age=9", expected: .revalidate),
        Row(rule: "5.2.1.1 max-age=0", request: "Cache-Control: max-age=0", expected: .revalidate),
        Row(
            rule: "5.2.1.1 max-age does not make stale things fresh", request: "Cache-Control: max-age=900", after: 200,
            expected: .revalidate),
        Row(
            rule: "5.2.1.1 max-age also where max-stale allows more",
            request: "Cache-Control: max-age=5, max-stale=900", expected: .revalidate),
        Row(
            rule: "5.2.1.1 a max-age that is no number is passed over", request: "Cache-Control: max-age=x",
            expected: .serve),
        Row(rule: "5.2.1.3 min-fresh that it meets", request: "Cache-Control: min-fresh=90", expected: .serve),
        Row(
            rule: "5.2.1.3 min-fresh that it does not meet", request: "Cache-Control: min-fresh=91",
            expected: .revalidate),
        Row(rule: "5.2.1.2 max-stale", request: "Cache-Control: max-stale", after: 5000, expected: .serve),
        Row(rule: "5.2.1.2 max-stale with room", request: "Cache-Control: max-stale=100", after: 200, expected: .serve),
        Row(
            rule: "5.2.1.2 max-stale without room", request: "Cache-Control: max-stale=100", after: 201,
            expected: .revalidate),
        Row(
            rule: "5.2.1.2 an invalid max-stale allows nothing", request: "Cache-Control: max-stale=x", after: 200,
            expected: .revalidate),
        Row(
            rule: "5.2.2.2 max-stale cannot undo must-revalidate", request: "Cache-Control: max-stale",
            stored: with("must-revalidate"), after: 200, expected: .revalidate),
        Row(
            rule: "4.2.4 max-stale cannot undo no-cache", request: "Cache-Control: max-stale", stored: with("no-cache"),
            expected: .revalidate),
        Row(rule: "5.2.1.7 only-if-cached and fresh", request: "Cache-Control: only-if-cached", expected: .serve),
        Row(
            rule: "5.2.1.7 only-if-cached and stale", request: "Cache-Control: only-if-cached", after: 200,
            expected: .fail),
        Row(
            rule: "5.2.1.7 only-if-cached and nothing", request: "Cache-Control: only-if-cached", stored: nil,
            expected: .fail),
        Row(
            rule: "5.2.1.7 only-if-cached with max-stale", request: "Cache-Control: only-if-cached, max-stale",
            after: 200, expected: .serve),
        Row(
            rule: "5.2.1.5 no-store does not forbid to use what is stored", request: "Cache-Control: no-store",
            expected: .serve),

        Row(
            rule: "RFC 5861, 3 within the window", stored: with("stale-while-revalidate=50"), after: 150,
            expected: .serveAndRevalidate),
        Row(
            rule: "RFC 5861, 3 behind the window", stored: with("stale-while-revalidate=50"), after: 151,
            expected: .revalidate),
        Row(rule: "RFC 5861, 3 while fresh", stored: with("stale-while-revalidate=50"), after: 50, expected: .serve),
        Row(
            rule: "RFC 5861, 3 without a number", stored: with("stale-while-revalidate"), after: 150,
            expected: .revalidate),
        Row(
            rule: "RFC 5861, 3 not against must-revalidate", stored: with("stale-while-revalidate=50, must-revalidate"),
            after: 120, expected: .revalidate),
        Row(
            rule: "RFC 5861, 3 not against no-cache", stored: with("stale-while-revalidate=50, no-cache"), after: 120,
            expected: .revalidate),
        Row(
            rule: "RFC 5861, 3 not against the request", request: "Cache-Control: no-cache",
            stored: with("stale-while-revalidate=50"), after: 120, expected: .revalidate),
        Row(
            rule: "RFC 5861, 3 with only-if-cached no server is asked", request: "Cache-Control: only-if-cached",
            stored: with("stale-while-revalidate=50"), after: 120, expected: .serve),

        Row(
            rule: "4.1 the same value", request: "Accept: image/webp", stored: fresh + "\nVary: Accept",
            storedRequest: "Accept: image/webp", expected: .serve),
        Row(
            rule: "4.1 another value", request: "Accept: image/png", stored: fresh + "\nVary: Accept",
            storedRequest: "Accept: image/webp", expected: .load),
        Row(
            rule: "4.1 the field is missing now", stored: fresh + "\nVary: Accept", storedRequest: "Accept: image/webp",
            expected: .load),
        Row(
            rule: "4.1 the field was missing then", request: "Accept: image/png", stored: fresh + "\nVary: Accept",
            expected: .load),
        Row(rule: "4.1 missing both times", stored: fresh + "\nVary: Accept", expected: .serve),
        Row(
            rule: "4.1 names in any case", request: "ACCEPT: a", stored: fresh + "\nVary: accept",
            storedRequest: "Accept: a", expected: .serve),
        Row(
            rule: "4.1 white space makes no difference", request: "Accept: a ,b", stored: fresh + "\nVary: Accept",
            storedRequest: "Accept: a,  b", expected: .serve),
        Row(
            rule: "4.1 several fields are one", request: "Accept: a\nAccept: b", stored: fresh + "\nVary: Accept",
            storedRequest: "Accept: a, b", expected: .serve),
        Row(
            rule: "4.1 order makes a difference", request: "Accept: b, a", stored: fresh + "\nVary: Accept",
            storedRequest: "Accept: a, b", expected: .load),
        Row(
            rule: "4.1 all of the named must match", request: "A: 1\nB: 3", stored: fresh + "\nVary: A\nVary: B",
            storedRequest: "A: 1\nB: 2", expected: .load),
        Row(
            rule: "4.1 what is not named may differ", request: "A: 2", stored: fresh + "\nVary: B",
            storedRequest: "A: 1", expected: .serve),
        Row(
            rule: "4.1 an empty value is not a missing one", request: "Accept: ", stored: fresh + "\nVary: Accept",
            expected: .load),
        Row(rule: "4.1 Vary: *", stored: fresh + "\nVary: *", expected: .load),
        Row(rule: "4.2.3 an age it came with", stored: fresh + "\nAge: 95", after: 4, expected: .serve),
        Row(rule: "4.2.3 an age it came with", stored: fresh + "\nAge: 95", after: 5, expected: .revalidate),
        Row(rule: "4.2.3 the clock was set back", after: -1000, expected: .revalidate),
    ]

    @Test(arguments: rows) func decision(row: Row) {
        let stored = row.stored.map { [CachedResponse(200, $0, requestHeaders: row.storedRequest)] } ?? []
        let request = HTTPCachePolicy.Request(method: row.method, headers: fields(row.request))
        let decision = HTTPCachePolicy.decide(request, stored: stored, now: epoch + row.after)
        let (actual, reason): (Expected, HTTPCachePolicy.Reason) =
            switch decision {
            case .serve(_, let reason): (.serve, reason)
            case .serveAndRevalidate(_, _, let reason): (.serveAndRevalidate, reason)
            case .revalidate(_, _, let reason): (.revalidate, reason)
            case .load(let reason): (.load, reason)
            case .fail(let reason): (.fail, reason)
            }
        #expect(actual == row.expected, "\(reason)")
        #expect(!reason.description.isEmpty)
    }

    /// 4.1: of several that match, the most recent by Date.
    @Test func selectsTheMostRecentMatchingResponse() {
        let stored = [
            CachedResponse(200, Self.fresh + "\nDate: \(date(-5))\nVary: A", requestHeaders: "A: 1"),
            CachedResponse(200, Self.fresh + "\nDate: \(date(-1))\nVary: A", requestHeaders: "A: 1"),
            CachedResponse(200, Self.fresh + "\nDate: \(date(0))\nVary: A", requestHeaders: "A: 2"),
        ]
        let decision = HTTPCachePolicy.decide(
            HTTPCachePolicy.Request(headers: fields("A: 1")), stored: stored, now: epoch)
        guard case .serve(index: 1, _) = decision else {
            Issue.record("\(decision)")
            return
        }
    }

    /// 4.3.1.
    @Test func revalidatesWithBothValidators() throws {
        func conditions(_ headers: String) throws -> [String] {
            let decision = HTTPCachePolicy.decide(
                HTTPCachePolicy.Request(), stored: [CachedResponse(200, headers)], now: epoch + 9e6)
            guard case .revalidate(_, let revalidation, _) = decision else { throw WebImageError.cancelled }
            return revalidation.conditions.map { "\($0.name): \($0.value)" }
        }
        let day = "Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(
            try conditions("ETag: \"a\"\nLast-Modified: \(day)")
                == ["If-None-Match: \"a\"", "If-Modified-Since: \(day)"])
        #expect(try conditions("ETag: W/\"a\"") == ["If-None-Match: W/\"a\""])
        #expect(try conditions("ETag: unquoted") == [])
        #expect(try conditions("Last-Modified: someday") == [])
        #expect(try conditions("Cache-Control: max-age=1") == [])
    }

    /// 5.2.2.4 and 4.
    @Test func servesTheAgeButNoFieldsThatMustBeRevalidated() {
        let response = CachedResponse(
            200, "Cache-Control: max-age=9, no-cache=\"X-Session\"\nX-Session: 1\nX-B: 2\nAge: 3")
        let served = response.headers(servedAt: epoch + 4)
        #expect(served.map(\.name) == ["Cache-Control", "X-B", "Age"])
        #expect(served.last?.value == "7")
    }
}

/// A moment all rows count from: Sun, 06 Nov 1994 08:49:37 GMT.
let epoch = Date(timeIntervalSince1970: 784_111_777)

/// Fields as they stand in a head, one a line: `Name: value`.
func fields(_ text: String) -> [HTTPHeader] {
    text.split(separator: "\n").map { line in
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return HTTPHeader(name: String(parts[0]), value: String(parts[1]).trimmingHTTPSpace)
    }
}

/// The date so many seconds after ``epoch``, as HTTP writes it.
func date(_ seconds: Double) -> String { HTTPDate.format(epoch + seconds) }

extension CachedResponse {
    /// An answer that came at ``epoch``, at once, to a request with `requestHeaders`.
    init(_ status: Int = 200, _ headers: String, requestHeaders: String = "", delay: Double = 0) {
        self.init(
            statusCode: status, headers: fields(headers), requestHeaders: fields(requestHeaders),
            requestTime: epoch - delay, responseTime: epoch)
    }
}
