import FoundationEssentials
import Testing

@testable import WebImageLoading

@Suite(.timeLimit(.minutes(3))) struct FreshnessTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let rule: String
        var status = 200
        let headers: String
        let lifetime: Double
        var source = CachedResponse.LifetimeSource.maxAge

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
            rule: "4.2.2 status 302 cannot be guessed", status: 302, headers: "Last-Modified: \(date(-1000))",
            lifetime: 0, source: .none),
        Row(
            rule: "4.2.2 status 500 cannot be guessed", status: 500, headers: "Last-Modified: \(date(-1000))",
            lifetime: 0, source: .none),
        Row(
            rule: "4.2.2 public lets any status be guessed", status: 302,
            headers: "Cache-Control: public\nLast-Modified: \(date(-1000))", lifetime: 100, source: .heuristic),
        Row(rule: "4.2.1 max-age of an error", status: 500, headers: "Cache-Control: max-age=9", lifetime: 9),
        Row(rule: "1.2.2 the longest", headers: "Cache-Control: max-age=99999999999", lifetime: 2_147_483_647),
    ]

    @Test(arguments: lifetimes) func lifetime(row: Row) {
        let freshness = Freshness(of: CachedResponse(row.status, row.headers), now: epoch)
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
        let response = CachedResponse(200, row.headers, delay: row.delay)
        #expect(Freshness(of: response, now: epoch + row.passed).age == row.age)
    }

    /// 4.2: fresh as long as the lifetime is greater than the age.
    @Test func endsWhenTheLifetimeIsOver() {
        let response = CachedResponse(200, "Cache-Control: max-age=10")
        #expect(Freshness(of: response, now: epoch + 9).isFresh)
        #expect(!Freshness(of: response, now: epoch + 10).isFresh)
        #expect(!Freshness(of: CachedResponse(200, "Cache-Control: max-age=0"), now: epoch).isFresh)
    }

    @Test func isNotFreshIfTheClockWasSetBack() {
        let response = CachedResponse(200, "Cache-Control: max-age=1000")
        #expect(Freshness(of: response, now: epoch - 1).isFresh)
        #expect(!Freshness(of: response, now: epoch - 60).isFresh)
    }
}

@Suite(.timeLimit(.minutes(3))) struct CacheControlTests {
    typealias Seconds = CacheControl.DeltaSeconds

    private func control(_ values: String...) -> CacheControl {
        CacheControl(values.map { HTTPHeader(name: "Cache-Control", value: $0) })
    }

    @Test(arguments: [
        ("RFC 9111, 5.2: a token", "max-age=60", Seconds.seconds(60)),
        ("RFC 9111, 5.2: a quoted string", "max-age=\"60\"", .seconds(60)),
        ("RFC 9111, 5.2: names in any case", "MAX-AGE=60", .seconds(60)),
        ("RFC 9111, 5.2: among others", "public, max-age=60, foo", .seconds(60)),
        ("RFC 9110, 5.6.1: empty elements", ",, max-age=60 ,", .seconds(60)),
        ("RFC 9111, 4.2.1: the first of two", "max-age=60, max-age=90", .seconds(60)),
        ("RFC 9111, 1.2.2: zero", "max-age=0", .seconds(0)),
        ("RFC 9111, 1.2.2: leading zeros", "max-age=0060", .seconds(60)),
        ("RFC 9111, 1.2.2: too large a number", "max-age=2147483648", .seconds(2_147_483_647)),
        ("RFC 9111, 1.2.2: far too large a number", "max-age=99999999999999999999", .seconds(2_147_483_647)),
        ("RFC 9111, 4.2.1: a fraction", "max-age=1.5", .invalid),
        ("RFC 9111, 4.2.1: a negative number", "max-age=-1", .invalid),
        ("RFC 9111, 4.2.1: a sign", "max-age=+60", .invalid),
        ("RFC 9111, 4.2.1: letters", "max-age=60s", .invalid),
        ("RFC 9111, 4.2.1: digits of another script", "max-age=٦٠", .invalid),
        ("RFC 9111, 4.2.1: an empty argument", "max-age=", .invalid),
        ("RFC 9111, 4.2.1: no argument", "max-age", .missing),
        ("RFC 9111, 5.2: quoted marks hide commas", "foo=\"a, max-age=90\", max-age=60", .seconds(60)),
        ("RFC 9110, 5.6.4: an escaped mark in quotation", "foo=\"\\\", max-age=90\", max-age=60", .seconds(60)),
    ])
    func readsSeconds(rule: String, text: String, expected: Seconds) {
        #expect(control(text).seconds(.maxAge) == expected, "\(rule)")
    }

    @Test(arguments: [
        ("RFC 9111, 5.2.3: another name", "max-agex=60"),
        ("RFC 9111, 5.2.3: another name", "x-max-age=60"),
        ("RFC 9111, 5.2: a quoted name", "\"max-age=60\""),
        ("RFC 9111, 5.2: an argument that looks like it", "foo=max-age"),
    ])
    func doesNotFindMissingDirectives(rule: String, text: String) {
        #expect(control(text).seconds(.maxAge) == nil, "\(rule)")
    }

    @Test func joinsSeveralFields() {
        let control = control("no-store", "max-age=3")
        #expect(control.has(.noStore))
        #expect(control.seconds(.maxAge) == .seconds(3))
    }

    @Test func namesTheFieldsOfANoCache() {
        #expect(control("no-cache=\"Set-Cookie, X-A\"").fieldNames(of: .noCache) == ["set-cookie", "x-a"])
        #expect(control("no-cache=Set-Cookie").fieldNames(of: .noCache) == ["set-cookie"])
        #expect(control("no-cache").fieldNames(of: .noCache) == [])
    }

    @Test func isEmptyWithoutDirectives() {
        #expect(CacheControl([]).isEmpty)
        #expect(control("", " , ").isEmpty)
        #expect(!control("foo").isEmpty)
    }
}

@Suite(.timeLimit(.minutes(3))) struct HTTPDateTests {
    @Test(arguments: [
        ("RFC 9110, 5.6.7: IMF-fixdate", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("RFC 9110, 5.6.7: RFC 850", "Sunday, 06-Nov-94 08:49:37 GMT"),
        ("RFC 9110, 5.6.7: asctime", "Sun Nov  6 08:49:37 1994"),
        ("RFC 9110, 5.6.7: asctime with two digits", "Sun Nov 06 08:49:37 1994"),
        ("RFC 9111, 4.2: names in any case", "sUN, 06 NOV 1994 08:49:37 gmt"),
        ("RFC 9110, 5.6.7: a wrong day of the week is no reason to refuse", "Mon, 06 Nov 1994 08:49:37 GMT"),
        ("RFC 9110, 5.5: white space around", "  Sun, 06 Nov 1994 08:49:37 GMT "),
    ])
    func reads(rule: String, text: String) {
        #expect(HTTPDate.parse(text) == epoch, "\(rule)")
    }

    @Test(arguments: [
        ("RFC 9111, 4.2: another zone", "Sun, 06 Nov 1994 08:49:37 PST"),
        ("RFC 9111, 4.2: another zone", "Sun, 06 Nov 1994 08:49:37 UTC"),
        ("RFC 9111, 4.2: another zone", "Sun, 06 Nov 1994 08:49:37 +0000"),
        ("RFC 9110, 5.6.7: no zone", "Sun, 06 Nov 1994 08:49:37"),
        ("RFC 9110, 5.6.7: one-digit hour", "Sun, 06 Nov 1994 8:49:37 GMT"),
        ("RFC 9110, 5.6.7: one-digit day", "Sun, 6 Nov 1994 08:49:37 GMT"),
        ("RFC 9110, 5.6.7: no seconds", "Sun, 06 Nov 1994 08:49 GMT"),
        ("RFC 9110, 5.6.7: no comma", "Sun 06 Nov 1994 08:49:37 GMT"),
        ("RFC 9110, 5.6.7: day name", "Xyz, 06 Nov 1994 08:49:37 GMT"),
        ("RFC 9110, 5.6.7: month name", "Sun, 06 Nox 1994 08:49:37 GMT"),
        ("RFC 9110, 5.6.7: hour 24", "Sun, 06 Nov 1994 24:00:00 GMT"),
        ("RFC 9110, 5.6.7: minute 60", "Sun, 06 Nov 1994 08:60:00 GMT"),
        ("RFC 9110, 5.6.7: second 61", "Sun, 06 Nov 1994 08:49:61 GMT"),
        ("RFC 9110, 5.6.7: day 0", "Sun, 00 Nov 1994 08:49:37 GMT"),
        ("RFC 9110, 5.6.7: day 31 of November", "Sun, 31 Nov 1994 08:49:37 GMT"),
        ("RFC 9110, 5.6.7: no leap year", "Tue, 29 Feb 1995 08:49:37 GMT"),
        ("RFC 9110, 5.6.7: two-digit year", "Sun, 06 Nov 94 08:49:37 GMT"),
        ("RFC 9110, 5.6.7: sign in a number", "Sun, +6 Nov 1994 08:49:37 GMT"),
        ("RFC 9110, 5.6.7: several spaces", "Thu, 18  Aug  2050 02:01:18 GMT"),
        ("RFC 9110, 5.6.7: several spaces at the end", "Sun, 06 Nov 1994 08:49:37  GMT"),
        ("RFC 9110, 5.6.7: a tab", "Sun, 06\tNov 1994 08:49:37 GMT"),
        ("RFC 9110, 5.6.7: several spaces, RFC 850", "Sunday,  06-Nov-94 08:49:37 GMT"),
        ("RFC 9110, 5.6.7: several spaces, asctime", "Sun  Nov  6 08:49:37 1994"),
        ("RFC 9110, 5.6.7: asctime without the space for a digit", "Sun Nov 6 08:49:37 1994"),
        ("RFC 9110, 5.6.7: asctime with a space too many", "Sun Nov  06 08:49:37 1994"),
        ("RFC 9111, 5.3: zero", "0"),
        ("RFC 9111, 5.3: minus one", "-1"),
        ("RFC 9111, 5.3: nothing", ""),
        ("RFC 9110, 5.6.7: ISO 8601", "1994-11-06T08:49:37Z"),
        ("RFC 9110, 5.6.7: digits of another script", "Sun, ٠٦ Nov 1994 08:49:37 GMT"),
        ("RFC 9110, 5.6.7: more behind it", "Sun, 06 Nov 1994 08:49:37 GMT GMT"),
    ])
    func refuses(rule: String, text: String) {
        #expect(HTTPDate.parse(text) == nil, "\(rule)")
    }

    @Test func readsLeapDaysAndLeapSeconds() {
        #expect(HTTPDate.parse("Tue, 29 Feb 2000 00:00:00 GMT") == Date(timeIntervalSince1970: 951_782_400))
        #expect(HTTPDate.parse("Sat, 31 Dec 2016 23:59:60 GMT") == Date(timeIntervalSince1970: 1_483_228_800))
    }

    /// RFC 9110, 5.6.7: more than 50 years ahead is the past century.
    @Test func choosesTheCenturyOfTwoDigitYears() {
        let now = Date(timeIntervalSince1970: 1_800_000_000)  // 2027
        let expectations = [("27", 2027), ("77", 2077), ("78", 1978), ("99", 1999), ("00", 2000)]
        for (short, full) in expectations {
            let read = HTTPDate.parse("Friday, 01-Jan-\(short) 00:00:00 GMT", now: now)
            #expect(read == HTTPDate.parse("Fri, 01 Jan \(full) 00:00:00 GMT"))
        }
    }

    @Test func writesDatesThatItReadsBack() {
        #expect(HTTPDate.format(epoch) == "Sun, 06 Nov 1994 08:49:37 GMT")
        // A prime number of seconds, so that every field changes; from 1900 to 2200.
        for seconds in stride(from: -2_208_988_800.0, to: 7_258_118_400, by: 7_776_013) {
            let date = Date(timeIntervalSince1970: seconds)
            #expect(HTTPDate.parse(HTTPDate.format(date)) == date)
        }
        #expect(HTTPDate.format(Date(timeIntervalSince1970: -1)) == "Wed, 31 Dec 1969 23:59:59 GMT")
    }
}

/// `Vary: Accept-Language`: requests that ask for the same languages get the same stored answer (RFC 9111, 4.1).
@Suite(.timeLimit(.minutes(3))) struct LanguagePreferenceTests {
    private func isServed(_ language: String, storedFor stored: String) -> Bool {
        let response = CachedResponse(
            statusCode: 200, headers: [HTTPHeader(name: "Vary", value: "Accept-Language")],
            requestHeaders: [HTTPHeader(name: "Accept-Language", value: stored)], requestTime: Date(),
            responseTime: Date())
        return response.matches([HTTPHeader(name: "accept-language", value: language)])
    }

    @Test(arguments: [
        ("en, de", "eN, De"), ("en, de", " en ,   de"), ("en, de", "de, en"), ("en,de;q=0.5", "de; q=0.500 , EN;Q=1"),
        ("de-CH;q=1.0", "DE-ch"), ("en;q=0", "en;q=0.000"), ("*;q=0.1, fr", "fr, *;q=0.1"),
    ])
    func equivalentLanguagesShareAResponse(first: String, second: String) {
        #expect(isServed(second, storedFor: first))
        #expect(isServed(first, storedFor: second))
    }

    @Test(arguments: [
        ("en, de", "en"), ("en", "de"), ("en;q=0.5, de", "en, de;q=0.5"), ("en;q=0", "en"), ("en-US", "en"),
        ("en;level=1", "en"), ("en;q=2", "en"), ("en;q=0.1234", "en;q=0.123"), ("en;q=", "en"), ("en;q=1.5", "en"),
    ])
    func differentLanguagesShareNoResponse(first: String, second: String) {
        #expect(!isServed(second, storedFor: first))
        #expect(!isServed(first, storedFor: second))
    }

    @Test func aMalformedFieldIsComparedAsText() {
        #expect(isServed("en;q=high,de", storedFor: "en;q=high, de"))
        #expect(!isServed("de, en;q=high", storedFor: "en;q=high, de"))
    }
}
