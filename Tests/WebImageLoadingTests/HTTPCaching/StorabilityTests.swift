import Testing
import WebImageLoading

@Suite struct StorabilityTests {
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
        Row(rule: "3 a status nobody knows, with max-age", status: 299, headers: "Cache-Control: max-age=1"),
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
            rule: "5.2.2.3 no-store is for those who do not know the status", status: 299,
            headers: "Cache-Control: must-understand, no-store", obstacle: .responseNoStore),
    ]

    @Test(arguments: rows) func storability(row: Row) {
        let request = HTTPCachePolicy.Request(method: row.method, headers: fields(row.request))
        let answer = HTTPCachePolicy.storability(of: request, statusCode: row.status, headers: fields(row.headers))
        #expect(answer == row.obstacle.map { .notStorable($0) } ?? .storable)
        if let obstacle = row.obstacle { #expect(!obstacle.description.isEmpty) }
    }

    /// 3.1.
    @Test func leavesOutWhatIsAboutTheConnection() {
        let response = StoredResponse(
            200,
            "Connection: close, X-Hop\nX-Hop: 1\nKeep-Alive: 5\nTransfer-Encoding: chunked\nUpgrade: h2c\nX-Kept: 1\nETag: \"a\""
        )
        #expect(response.headers.map(\.name) == ["X-Kept", "ETag"])
    }
}
