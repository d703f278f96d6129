import FoundationEssentials
import Testing
import WebImageLoading

@Suite struct HTTPDateTests {
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

    @Test func writesWhatItReads() {
        #expect(HTTPDate.format(epoch) == "Sun, 06 Nov 1994 08:49:37 GMT")
        // A prime number of seconds, so that every field changes; from 1900 to 2200.
        for seconds in stride(from: -2_208_988_800.0, to: 7_258_118_400, by: 7_776_013) {
            let date = Date(timeIntervalSince1970: seconds)
            #expect(HTTPDate.parse(HTTPDate.format(date)) == date)
        }
        #expect(HTTPDate.format(Date(timeIntervalSince1970: -1)) == "Wed, 31 Dec 1969 23:59:59 GMT")
    }
}
