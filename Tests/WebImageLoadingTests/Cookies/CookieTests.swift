import FoundationEssentials
import Testing

@testable import WebImageLoading

@Suite struct CookieTests {
    private static let full = Cookie(
        name: "n", value: "v=w", domain: ".H.test", includesSubdomains: true, path: "/p", isSecure: true,
        isHTTPOnly: true, expires: Date(timeIntervalSince1970: 4_000_000_000))

    @Test func aLineOfTheFileKeepsEverything() throws {
        let cookie = try #require(Self.full)
        #expect(cookie.domain == "h.test")
        #expect(cookie.netscapeLine == "#HttpOnly_.h.test\tTRUE\t/p\tTRUE\t4000000000\tn\tv=w")
        #expect(Cookie(netscapeLine: cookie.netscapeLine) == cookie)
        let plain = try #require(Cookie(name: "n", value: "", domain: "h"))
        #expect(plain.netscapeLine == "h\tFALSE\t/\tFALSE\t0\tn\t")
        #expect(Cookie(netscapeLine: plain.netscapeLine) == plain)
    }

    @Test(arguments: ["", "# comment", "a\tb", "h\tFALSE\t/\tFALSE\tx\tn\tv", "h\tFALSE\tp\tFALSE\t0\tn\tv"])
    func otherLinesAreNoCookies(line: String) {
        #expect(Cookie(netscapeLine: line) == nil)
    }

    @Test(arguments: ["a\tb", "a\nb", "a;b", "a\0b", "a\u{7F}"]) func refusesWhatWouldBreakALine(text: String) {
        #expect(Cookie(name: text, value: "v", domain: "h") == nil)
        #expect(Cookie(name: "n", value: text, domain: "h") == nil)
        #expect(Cookie(name: "n", value: "v", domain: text) == nil)
        #expect(Cookie(name: "n", value: "v", domain: "h", path: "/" + text) == nil)
    }

    @Test func refusesEmptyParts() {
        #expect(Cookie(name: "", value: "v", domain: "h") == nil)
        #expect(Cookie(name: "n", value: "v", domain: "") == nil)
        #expect(Cookie(name: "n", value: "v", domain: "h", path: "") == nil)
    }

    @Test(arguments: [-1e18, -1, 0, 0.5, 1e18, .infinity]) func anyEndCanBeWritten(seconds: Double) throws {
        let end = Date(timeIntervalSince1970: seconds)
        let cookie = try #require(Cookie(name: "n", value: "v", domain: "h", expires: end))
        let read = try #require(Cookie(netscapeLine: cookie.netscapeLine)?.expires)
        #expect((read > Date()) == (end > Date()))
    }
}
