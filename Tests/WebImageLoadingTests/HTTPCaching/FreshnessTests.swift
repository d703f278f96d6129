import FoundationEssentials
import Testing
import WebImageLoading

@Suite struct FreshnessTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let rule: String
        var status = 200
        let headers: String
        let lifetime: Double
        var source = Freshness.Source.maxAge

        var testDescription: String { "\(rule): \(headers)" }
    }

    static let lifetimes = [
        Row(rule: "4.2.1 max-age", headers: "Cache-Control: max-age=100", lifetime: 100),
        Row(
            rule: "4.2.1 s-maxage is for shared caches", headers: "Cache-Control: s-maxage=9, max-age=100",
            lifetime: 100),
        Row(rule: "4.2.1 s-maxage alone", headers: "Cache-Control: s-maxage=9", lifetime: 0, source: .none),
        Row(
            rule: "5.3 max-age goes before Expires",
            headers: "Cache-Control: max-age=100\nDate: \(date(0))\nExpires: \(date(5))", lifetime: 100),
        Row(
            rule: "5.3 max-age=0 goes before Expires",
            headers: "Cache-Control: max-age=0\nDate: \(date(0))\nExpires: \(date(50))", lifetime: 0),
        Row(
            rule: "4.2.1 an invalid max-age means stale, whatever Expires says",
            headers: "Cache-Control: max-age=a\nDate: \(date(0))\nExpires: \(date(50))", lifetime: 0),
        Row(rule: "4.2.1 Expires", headers: "Date: \(date(0))\nExpires: \(date(50))", lifetime: 50, source: .expires),
        Row(
            rule: "4.2.1 Expires counts from Date", headers: "Date: \(date(-20))\nExpires: \(date(50))", lifetime: 70,
            source: .expires),
        Row(rule: "5.3 Expires without Date", headers: "Expires: \(date(50))", lifetime: 50, source: .expires),
        Row(rule: "5.3 Expires past", headers: "Date: \(date(0))\nExpires: \(date(-1))", lifetime: 0, source: .expires),
        Row(rule: "5.3 Expires: 0", headers: "Date: \(date(0))\nExpires: 0", lifetime: 0, source: .expires),
        Row(rule: "5.3 Expires: -1", headers: "Expires: -1", lifetime: 0, source: .expires),
        Row(
            rule: "4.2 Expires in another zone", headers: "Date: \(date(0))\nExpires: Sun, 06 Nov 2094 08:49:37 PST",
            lifetime: 0, source: .expires),
        Row(
            rule: "4.2 Expires with several spaces",
            headers: "Date: \(date(0))\nExpires: Thu, 18  Aug  2050 02:01:18 GMT", lifetime: 0, source: .expires),
        Row(
            rule: "4.2.1 the first Expires", headers: "Date: \(date(0))\nExpires: \(date(50))\nExpires: \(date(90))",
            lifetime: 50, source: .expires),
        Row(
            rule: "4.2 Expires as RFC 850", headers: "Date: \(date(0))\nExpires: Sunday, 06-Nov-94 08:50:37 GMT",
            lifetime: 60, source: .expires),
        Row(
            rule: "4.2 Expires as asctime", headers: "Date: \(date(0))\nExpires: Sun Nov  6 08:50:37 1994",
            lifetime: 60, source: .expires),
        Row(
            rule: "4.2.2 a tenth since Last-Modified", headers: "Date: \(date(0))\nLast-Modified: \(date(-1000))",
            lifetime: 100, source: .heuristic),
        Row(rule: "4.2.2 without Date", headers: "Last-Modified: \(date(-1000))", lifetime: 100, source: .heuristic),
        Row(
            rule: "4.2.2 Last-Modified in the future", headers: "Date: \(date(0))\nLast-Modified: \(date(1000))",
            lifetime: 0, source: .heuristic),
        Row(
            rule: "4.2.2 Last-Modified that is no date", headers: "Last-Modified: yesterday", lifetime: 0, source: .none
        ),
        Row(rule: "4.2.2 nothing to go by", headers: "ETag: \"a\"", lifetime: 0, source: .none),
        Row(
            rule: "4.2.2 status 404", status: 404, headers: "Last-Modified: \(date(-1000))", lifetime: 100,
            source: .heuristic),
        Row(
            rule: "4.2.2 status 410", status: 410, headers: "Last-Modified: \(date(-1000))", lifetime: 100,
            source: .heuristic),
        Row(
            rule: "4.2.2 status 301", status: 301, headers: "Last-Modified: \(date(-1000))", lifetime: 100,
            source: .heuristic),
        Row(
            rule: "4.2.2 status 302 can't be guessed", status: 302, headers: "Last-Modified: \(date(-1000))",
            lifetime: 0, source: .none),
        Row(
            rule: "4.2.2 status 500 can't be guessed", status: 500, headers: "Last-Modified: \(date(-1000))",
            lifetime: 0, source: .none),
        Row(
            rule: "4.2.2 public lets any status be guessed", status: 302,
            headers: "Cache-Control: public\nLast-Modified: \(date(-1000))", lifetime: 100, source: .heuristic),
        Row(rule: "4.2.1 max-age of an error", status: 500, headers: "Cache-Control: max-age=9", lifetime: 9),
        Row(rule: "1.2.2 the longest", headers: "Cache-Control: max-age=99999999999", lifetime: 2_147_483_647),
    ]

    @Test(arguments: lifetimes) func lifetime(row: Row) {
        let freshness = Freshness(of: StoredResponse(row.status, row.headers), now: epoch)
        #expect(freshness.lifetime == row.lifetime)
        #expect(freshness.source == row.source)
    }

    struct AgeRow: Sendable, CustomTestStringConvertible {
        let rule: String
        var headers = ""
        /// Between request and answer.
        var delay = 0.0
        /// Since the answer.
        var passed = 0.0
        let age: Double

        var testDescription: String { rule }
    }

    @Test(arguments: [
        AgeRow(rule: "4.2.3 none at first", age: 0),
        AgeRow(rule: "4.2.3 resident time", passed: 30, age: 30),
        AgeRow(rule: "4.2.3 apparent age", headers: "Date: \(date(-20))", age: 20),
        AgeRow(rule: "4.2.3 apparent age and resident time", headers: "Date: \(date(-20))", passed: 30, age: 50),
        AgeRow(rule: "4.2.3 a server's clock ahead", headers: "Date: \(date(500))", passed: 30, age: 30),
        AgeRow(rule: "5.1 Age", headers: "Age: 40", age: 40),
        AgeRow(rule: "5.1 Age and resident time", headers: "Age: 40", passed: 30, age: 70),
        AgeRow(rule: "4.2.3 the larger of both", headers: "Age: 40\nDate: \(date(-20))", age: 40),
        AgeRow(rule: "4.2.3 the larger of both", headers: "Age: 4\nDate: \(date(-20))", age: 20),
        AgeRow(rule: "4.2.3 the way counts", headers: "Age: 40", delay: 5, age: 45),
        AgeRow(rule: "4.2.3 the way counts without Age", delay: 5, age: 5),
        AgeRow(rule: "5.1 the first of several", headers: "Age: 40, 7", age: 40),
        AgeRow(rule: "5.1 the first of several", headers: "Age: 7\nAge: 40", age: 7),
        AgeRow(rule: "5.1 no number", headers: "Age: old", age: 0),
        AgeRow(rule: "5.1 a negative number", headers: "Age: -5", age: 0),
        AgeRow(rule: "5.1 a fraction", headers: "Age: 5.5", age: 0),
        AgeRow(rule: "1.2.2 too large", headers: "Age: 99999999999", age: 2_147_483_647),
        AgeRow(rule: "RFC 9110, 6.6.1 a Date that is none", headers: "Date: today", passed: 3, age: 3),
    ])
    func age(row: AgeRow) {
        let response = StoredResponse(200, row.headers, delay: row.delay)
        #expect(Freshness(of: response, now: epoch + row.passed).age == row.age)
    }

    /// 4.2: fresh as long as the lifetime is greater than the age.
    @Test func endsWhenTheLifetimeIsOver() {
        let response = StoredResponse(200, "Cache-Control: max-age=10")
        #expect(Freshness(of: response, now: epoch + 9).isFresh)
        #expect(!Freshness(of: response, now: epoch + 10).isFresh)
        #expect(!Freshness(of: StoredResponse(200, "Cache-Control: max-age=0"), now: epoch).isFresh)
    }

    @Test func isNotFreshOnceTheClockWasSetBack() {
        let response = StoredResponse(200, "Cache-Control: max-age=1000")
        #expect(Freshness(of: response, now: epoch - 1).isFresh)
        #expect(!Freshness(of: response, now: epoch - 60).isFresh)
    }
}
