import Testing
import WebImageLoading

@Suite struct CacheControlTests {
    typealias Seconds = CacheControl.DeltaSeconds

    private func control(_ values: String...) -> CacheControl {
        CacheControl(values.map { HTTPField(name: "Cache-Control", value: $0) })
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
    func doesNotFindWhatIsNotThere(rule: String, text: String) {
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
