import FoundationEssentials
import Testing
import WebImageCore
@testable import WebImageLoading

@Suite(.timeLimit(.minutes(3))) struct ValidationTests {
    private static let stored = CachedResponse(
        200,
        "Cache-Control: max-age=10, stale-if-error=60\nETag: \"a\"\nLast-Modified: \(date(-99))\nX-Old: 1\nAge: 5\nContent-Type: image/png\nContent-Length: 7"
    )

    private func result(
        of status: Int?, _ headers: String = "", for stored: CachedResponse = stored, request: String = "",
        after: Double = 20
    ) throws -> HTTPCachePolicy.ValidationResult {
        let decision = HTTPCachePolicy.decide(
            HTTPCachePolicy.Request(headers: fields(request)), stored: [stored], now: epoch + after)
        guard case .revalidate(_, let revalidation, _) = decision else { throw WebImageError.cancelled }
        return HTTPCachePolicy.validate(
            stored, revalidation, statusCode: status, headers: fields(headers), requestTime: epoch + after,
            responseTime: epoch + after)
    }

    private func isConfirmed(_ result: HTTPCachePolicy.ValidationResult) -> Bool {
        if case .confirmed = result { true } else { false }
    }

    @Test(arguments: [
        ("4.3.4 without validators", "", true),
        ("4.3.4 the same strong tag", "ETag: \"a\"", true),
        ("4.3.4 another strong tag", "ETag: \"b\"", false),
        ("4.3.4 a weak tag that matches", "ETag: W/\"a\"", true),
        ("4.3.4 a weak tag that does not", "ETag: W/\"b\"", false),
        ("4.3.4 the same date", "Last-Modified: \(date(-99))", true),
        ("4.3.4 another date", "Last-Modified: \(date(-98))", false),
        ("4.3.4 the tag decides before the date", "ETag: \"a\"\nLast-Modified: \(date(-1))", true),
    ])
    func a304ConfirmsTheMatchingResponse(rule: String, headers: String, confirms: Bool) throws {
        let result = try result(of: 304, headers)
        #expect(isConfirmed(result) == confirms, "\(rule)")
        if !confirms { #expect(result == .unconfirmed, "\(rule)") }
    }

    @Test func aStrongTagDoesNotConfirmAWeakOne() throws {
        let weak = CachedResponse(200, "Cache-Control: max-age=1\nETag: W/\"a\"")
        #expect(try result(of: 304, "ETag: \"a\"", for: weak) == .unconfirmed)
        let none = CachedResponse(200, "Cache-Control: max-age=1\nLast-Modified: \(date(-9))")
        #expect(try result(of: 304, "ETag: \"a\"", for: none) == .unconfirmed)
    }

    /// 3.2 and 4.3.4.
    @Test func a304UpdatesTheFields() throws {
        let answer =
            "Cache-Control: max-age=90\nX-New: 2\nX-Old: 3\nContent-Length: 0\nContent-Type: text/plain\nConnection: close"
        guard case .confirmed(let updated) = try result(of: 304, answer) else {
            Issue.record("not confirmed")
            return
        }
        #expect(updated.headers.combinedValue(named: "X-Old") == "3")
        #expect(updated.headers.combinedValue(named: "X-New") == "2")
        #expect(updated.headers.combinedValue(named: "ETag") == "\"a\"")
        #expect(updated.headers.combinedValue(named: "Content-Length") == "7")
        #expect(updated.headers.combinedValue(named: "Content-Type") == "image/png")
        #expect(updated.headers.combinedValue(named: "Connection") == nil)
        #expect(updated.headers.combinedValue(named: "Age") == nil)
        #expect(Freshness(of: updated, now: epoch + 30).isFresh)
        #expect(Freshness(of: updated, now: epoch + 30).lifetime == 90)
    }

    /// RFC 9110, 6.6.1: what comes without a date is of the moment when it comes.
    @Test func a304WithoutADateReplacesTheOldDate() throws {
        let stored = CachedResponse(200, "Cache-Control: max-age=10\nDate: \(date(0))")
        guard case .confirmed(let updated) = try result(of: 304, for: stored, after: 100) else {
            Issue.record("not confirmed")
            return
        }
        #expect(Freshness(of: updated, now: epoch + 105).age == 5)
        #expect(Freshness(of: updated, now: epoch + 105).isFresh)
    }

    @Test(arguments: [
        ("4.3.3 another answer", 200, false), ("4.3.3 not found", 404, false), ("4.3.3 gone", 410, false),
        ("RFC 5861, 4", 500, true), ("RFC 5861, 4", 502, true), ("RFC 5861, 4", 503, true), ("RFC 5861, 4", 504, true),
        ("RFC 5861, 4 is not about refusals", 403, false), ("RFC 5861, 4 is not about 501", 501, false),
    ])
    func otherStatusesReplaceTheResponseUnlessTheyAreServerErrors(rule: String, status: Int, standsIn: Bool) throws {
        #expect(try result(of: status) == (standsIn ? .usableDespiteError : .replaced), "\(rule)")
    }

    @Test(arguments: [
        ("RFC 5861, 4 no answer at all", "", "stale-if-error=60", 20.0, true),
        ("RFC 5861, 4 to the last second", "", "stale-if-error=60", 70, true),
        ("RFC 5861, 4 too late", "", "stale-if-error=60", 71, false),
        ("RFC 5861, 4 by the request", "Cache-Control: stale-if-error=900", "foo", 500, true),
        ("RFC 5861, 4 the larger of both", "Cache-Control: stale-if-error=900", "stale-if-error=60", 500, true),
        ("RFC 5861, 4 without a number", "", "stale-if-error", 20, false),
        ("RFC 5861, 4 not allowed", "", "foo", 20, false),
        ("RFC 9111, 5.2.2.2 must-revalidate", "", "stale-if-error=60, must-revalidate", 20, false),
        ("RFC 9111, 5.2.2.4 no-cache", "", "stale-if-error=60, no-cache", 20, false),
        ("RFC 9111, 5.2.1.4 no-cache of the request", "Cache-Control: no-cache", "stale-if-error=60", 20, false),
        ("RFC 9111, 4 fresh, but the request wanted it younger", "Cache-Control: max-age=1", "foo", 5, true),
    ])
    func staleIfError(rule: String, request: String, directives: String, after: Double, standsIn: Bool) throws {
        let stored = CachedResponse(200, "Cache-Control: max-age=10, \(directives)\nETag: \"a\"")
        let result = try result(of: nil, for: stored, request: request, after: after)
        #expect(result == (standsIn ? .usableDespiteError : .replaced), "\(rule)")
    }

    @Test(arguments: [
        ("4.3.5 nothing that contradicts", 200, "X-New: 1", true, false),
        ("4.3.5 the same tag and length", 200, "ETag: \"a\"\nContent-Length: 7", true, false),
        ("4.3.5 another tag", 200, "ETag: \"b\"", true, true),
        ("4.3.5 another length", 200, "Content-Length: 8", true, true),
        ("4.3.5 another date", 200, "Last-Modified: \(date(-1))", true, true),
        ("4.3.5 another status says nothing", 404, "", false, false),
        ("4.3.5 another status says nothing", 500, "ETag: \"b\"", false, false),
    ])
    func head(rule: String, status: Int, headers: String, says: Bool, invalidates: Bool) {
        let updated = HTTPCachePolicy.updated(
            Self.stored, byHeadWithStatus: status, headers: fields(headers), requestTime: epoch, responseTime: epoch)
        #expect((updated != nil) == says, "\(rule)")
        #expect((updated?.isInvalidated ?? false) == invalidates, "\(rule)")
        if invalidates, let updated {
            let decision = HTTPCachePolicy.decide(HTTPCachePolicy.Request(), stored: [updated], now: epoch)
            guard case .revalidate(_, _, .invalidated) = decision else {
                Issue.record("\(decision)")
                return
            }
        }
    }

    @Test(arguments: [
        ("4.4 POST", "POST", 200, ["/a"]), ("4.4 PUT", "PUT", 204, ["/a"]), ("4.4 DELETE", "DELETE", 200, ["/a"]),
        ("4.4 PATCH", "PATCH", 200, ["/a"]), ("4.4 an unknown method", "FOO", 200, ["/a"]),
        ("4.4 a redirect is no error", "POST", 303, ["/a"]), ("4.4 an error changes nothing", "POST", 404, []),
        ("4.4 an error changes nothing", "DELETE", 500, []), ("4.4 GET is safe", "GET", 200, []),
        ("4.4 HEAD is safe", "HEAD", 200, []), ("4.4 OPTIONS is safe", "OPTIONS", 200, []),
    ])
    func unsafeMethodsInvalidate(rule: String, method: String, status: Int, paths: [String]) throws {
        let url = try #require(URL(string: "http://127.0.0.1:8080/a"))
        let urls = HTTPCachePolicy.urlsInvalidated(byMethod: method, of: url, statusCode: status, headers: [])
        #expect(urls.map { $0.path } == paths, "\(rule)")
    }

    /// 4.4: what the answer points to, if it is of the same origin.
    @Test func invalidatesTheURLsTheResponseNames() throws {
        let url = try #require(URL(string: "http://127.0.0.1:8080/a"))
        let headers = fields("Location: /b\nContent-Location: http://127.0.0.1:8080/c")
        let urls = HTTPCachePolicy.urlsInvalidated(byMethod: "POST", of: url, statusCode: 201, headers: headers)
        #expect(urls.map(\.absoluteString) == ["a", "b", "c"].map { "http://127.0.0.1:8080/\($0)" })
        let foreign = fields("Location: http://127.0.0.2:8080/b\nContent-Location: https://127.0.0.1:8080/c")
        #expect(HTTPCachePolicy.urlsInvalidated(byMethod: "POST", of: url, statusCode: 201, headers: foreign) == [url])
    }

    @Test(arguments: [
        ("\"a\"", true), ("W/\"a\"", true), ("\"\"", true), ("\"ä\"", true),
        ("a", false), ("\"a", false), ("w/\"a\"", false), ("\"a\"b\"", false), ("\"a b\"", false), ("\"", false),
        ("W/", false),
    ])
    func readsEntityTags(text: String, isTag: Bool) {
        #expect((EntityTag(text) != nil) == isTag, "RFC 9110, 8.8.3: \(text)")
        if isTag { #expect(EntityTag(text)?.description == text) }
    }
}

@Suite(.timeLimit(.minutes(3))) struct StorabilityTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let rule: String
        var method = "GET"
        var request = ""
        var status = 200
        var headers = ""
        var obstacle: HTTPCachePolicy.StorageObstacle?

        var testDescription: String { "\(rule): \(method) \(status) \(headers)" }
    }

    static let rows = [
        Row(rule: "3 a plain 200"),
        Row(rule: "3 max-age", headers: "Cache-Control: max-age=1"),
        Row(rule: "3 max-age=0 may be stored", headers: "Cache-Control: max-age=0"),
        Row(rule: "5.2.2.4 no-cache may be stored", headers: "Cache-Control: no-cache"),
        Row(rule: "5.2.2.7 private: this cache is", headers: "Cache-Control: private"),
        Row(rule: "5.2.2.7 private with field names", headers: "Cache-Control: private=\"X-A\""),
        Row(rule: "5.2.2.2 must-revalidate", headers: "Cache-Control: must-revalidate"),
        Row(rule: "5.2.2.8 proxy-revalidate", headers: "Cache-Control: proxy-revalidate"),
        Row(rule: "5.2.2.6 no-transform", headers: "Cache-Control: no-transform"),
        Row(rule: "5.2.3 unknown directives", headers: "Cache-Control: foo, bar=1"),
        Row(rule: "3.5 Authorization matters to shared caches", request: "Authorization: Basic eDp5"),
        Row(rule: "RFC 9110, 5.3 Set-Cookie does not forbid", headers: "Set-Cookie: a=b"),
        Row(rule: "5.4 Pragma of an answer means nothing", headers: "Pragma: no-cache"),
        Row(rule: "4.1 Vary by fields", headers: "Vary: Accept, Accept-Encoding"),
        Row(rule: "RFC 9110, 15.3.4 203", status: 203),
        Row(rule: "RFC 9110, 15.3.5 204", status: 204),
        Row(rule: "RFC 9110, 15.4.1 300", status: 300),
        Row(rule: "RFC 9110, 15.4.2 301", status: 301),
        Row(rule: "RFC 9110, 15.4.9 308", status: 308),
        Row(rule: "RFC 9110, 15.5.5 404", status: 404),
        Row(rule: "RFC 9110, 15.5.6 405", status: 405),
        Row(rule: "RFC 9110, 15.5.11 410", status: 410),
        Row(rule: "RFC 9110, 15.5.15 414", status: 414),
        Row(rule: "RFC 9110, 15.6.2 501", status: 501),
        Row(rule: "3 302 with max-age", status: 302, headers: "Cache-Control: max-age=1"),
        Row(rule: "3 302 with Expires", status: 302, headers: "Expires: \(date(9))"),
        Row(rule: "3 500 with max-age", status: 500, headers: "Cache-Control: max-age=1"),
        Row(rule: "3 503 that is public", status: 503, headers: "Cache-Control: public"),
        Row(rule: "3 403 that is private", status: 403, headers: "Cache-Control: private"),
        Row(rule: "3 an unknown status, with max-age", status: 299, headers: "Cache-Control: max-age=1"),
        Row(rule: "5.2.2.3 must-understand goes before no-store", headers: "Cache-Control: must-understand, no-store"),

        Row(rule: "3 POST", method: "POST", obstacle: .method("POST")),
        Row(rule: "3 PUT", method: "PUT", headers: "Cache-Control: max-age=1", obstacle: .method("PUT")),
        Row(rule: "3 HEAD has no body to store", method: "HEAD", obstacle: .method("HEAD")),
        Row(rule: "5.2.2.5 no-store", headers: "Cache-Control: no-store", obstacle: .responseNoStore),
        Row(
            rule: "5.2.2.5 no-store with max-age", headers: "Cache-Control: max-age=9, no-store",
            obstacle: .responseNoStore),
        Row(
            rule: "5.2.2.5 no-store in another field", headers: "Cache-Control: max-age=9\nCache-Control: No-Store",
            obstacle: .responseNoStore),
        Row(
            rule: "5.2.2.5 no-store with an argument", headers: "Cache-Control: no-store=\"a\"",
            obstacle: .responseNoStore),
        Row(rule: "5.2.1.5 no-store of the request", request: "Cache-Control: no-store", obstacle: .requestNoStore),
        Row(
            rule: "5.2.1.5 no-store of the request, whatever must-understand says", request: "Cache-Control: no-store",
            headers: "Cache-Control: must-understand, max-age=9", obstacle: .requestNoStore),
        Row(rule: "3 an interim answer", status: 103, obstacle: .status(103)),
        Row(rule: "3.3 a part", status: 206, headers: "Cache-Control: max-age=9", obstacle: .status(206)),
        Row(rule: "4.3.4 a 304", status: 304, headers: "Cache-Control: max-age=9", obstacle: .status(304)),
        Row(
            rule: "5.2.2.3 must-understand and an unknown status", status: 299,
            headers: "Cache-Control: must-understand, max-age=9", obstacle: .status(299)),
        Row(rule: "4.1 Vary: *", headers: "Vary: *", obstacle: .variesByAnything),
        Row(rule: "4.1 Vary: * among others", headers: "Vary: Accept\nVary: X, *", obstacle: .variesByAnything),
        Row(rule: "3 302", status: 302, obstacle: .noLifetime(status: 302)),
        Row(rule: "3 307", status: 307, obstacle: .noLifetime(status: 307)),
        Row(rule: "3 403", status: 403, obstacle: .noLifetime(status: 403)),
        Row(rule: "3 500", status: 500, obstacle: .noLifetime(status: 500)),
        Row(rule: "3 503", status: 503, obstacle: .noLifetime(status: 503)),
        Row(
            rule: "3 s-maxage alone, for shared caches", status: 302, headers: "Cache-Control: s-maxage=9",
            obstacle: .noLifetime(status: 302)),
        Row(rule: "3.3 a request for a part", request: "Range: bytes=0-9", obstacle: .conditionalRequest),
        Row(rule: "4.3.2 a request with conditions", request: "If-None-Match: \"a\"", obstacle: .conditionalRequest),
        Row(
            rule: "5.2.2.5 no-store, also for a part", request: "Range: bytes=0-9", status: 206,
            headers: "Cache-Control: no-store", obstacle: .responseNoStore),
        Row(
            rule: "5.2.2.5 no-store, also under conditions", request: "If-None-Match: \"a\"",
            headers: "Cache-Control: no-store", obstacle: .responseNoStore),
        Row(
            rule: "5.2.1.5 no-store, also under conditions", request: "If-None-Match: \"a\"\nCache-Control: no-store",
            obstacle: .requestNoStore),
        Row(
            rule: "5.2.2.3 no-store applies to unknown statuses", status: 299,
            headers: "Cache-Control: must-understand, no-store", obstacle: .responseNoStore),
    ]

    @Test(arguments: rows) func storability(row: Row) {
        let request = HTTPCachePolicy.Request(method: row.method, headers: fields(row.request))
        let answer = HTTPCachePolicy.storability(of: request, statusCode: row.status, headers: fields(row.headers))
        #expect(answer == row.obstacle.map { .notStorable($0) } ?? .storable)
        if let obstacle = row.obstacle { #expect(!obstacle.description.isEmpty) }
    }

    /// 3.1.
    @Test func omitsConnectionFields() {
        let response = CachedResponse(
            200,
            "Connection: close, X-Hop\nX-Hop: 1\nKeep-Alive: 5\nTransfer-Encoding: chunked\nUpgrade: h2c\nX-Kept: 1\nETag: \"a\""
        )
        #expect(response.headers.map(\.name) == ["X-Kept", "ETag"])
    }
}
