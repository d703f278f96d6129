import FoundationEssentials
import Glibc
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

@Suite(.timeLimit(.minutes(3))) struct CookieJarTests {
    private let downloader = ImageDownloader.forTests { configuration in
        for name in ["h.test", "a.h.test", "other.test", "site.co.uk", "a.site.co.uk", "next.co.uk"] {
            configuration.hostAddresses[name] = ["127.0.0.1"]
        }
    }

    /// Has `host` set cookies.
    private func set(_ cookies: [String], from host: String = "h.test", path: String = "set") async throws {
        let port = try SharedServers.faults.get().port
        var components = URLComponents()
        components.queryItems = cookies.map { URLQueryItem(name: "header", value: "Set-Cookie: " + $0) }
        let query = (components.percentEncodedQuery ?? "").replacing("+", with: "%2B").replacing(";", with: "%3B")
        try await load("http://\(host):\(port)/answer/\(path)?\(query)")
    }

    private func load(_ text: String) async throws {
        var request = LoaderRequest(url: try #require(URL(string: text)))
        request.handlesCookies = true
        _ = try await downloader.body(request)
    }

    /// The cookies that `host` gets.
    private func sent(to host: String = "h.test", path: String = "x", headers: [String: String] = [:]) async throws
        -> String?
    {
        let port = try SharedServers.faults.get().port
        var request = LoaderRequest(
            url: try #require(URL(string: "http://\(host):\(port)/echo/\(path)")), headers: headers)
        request.handlesCookies = true
        return try await downloader.echo(request)["cookie"]
    }

    @Test func requestsWithoutTheOptionStoreAndSendNoCookies() async throws {
        let faults = try SharedServers.faults.get()
        let url = try #require(URL(string: "http://h.test:\(faults.port)/answer/off?header=Set-Cookie:+a=b"))
        _ = try await downloader.body(url)
        #expect(await downloader.cookies.cookies().isEmpty)
        try await set(["a=b; Path=/"])
        #expect(try await sent() == "a=b")
        let echo = try #require(URL(string: "http://h.test:\(faults.port)/echo/off"))
        // One after the other, they use one of libcurl's handles, which has had cookies: it must keep none of these
        // either.
        let leak = "http://h.test:\(faults.port)/answer/off?header=Set-Cookie:+leak=1%3B+Path=/"
        _ = try await downloader.body(try #require(URL(string: leak)))
        #expect(try await downloader.echo(LoaderRequest(url: echo))["cookie"] == nil)
        #expect(try await sent() == "a=b")
    }

    @Test func cookiesMatchByHostAndPathInOrder() async throws {
        try await set(["host=1; Path=/", "all=1; Domain=h.test; Path=/", "deep=1; Path=/echo/deep/", "default=1"])
        #expect(try await sent() == "host=1; all=1")
        #expect(try await sent(to: "a.h.test") == "all=1")
        #expect(try await sent(to: "other.test") == nil)
        // The longest path first (RFC 6265 §5.4).
        #expect(try await sent(path: "deep/x") == "deep=1; host=1; all=1")
        let jar = await downloader.cookies.cookies()
        #expect(jar.first { $0.name == "default" }?.path.hasPrefix("/answer") == true)
        #expect(jar.first { $0.name == "all" }?.includesSubdomains == true)
    }

    @Test func serversCannotSetCookiesForOtherHosts() async throws {
        try await set(["a=1; Domain=other.test; Path=/", "b=1; Domain=test; Path=/", "c=1; Domain=a.h.test; Path=/"])
        #expect(await downloader.cookies.cookies().isEmpty)
    }

    @Test func serversCannotSetCookiesForAPublicSuffix() async throws {
        try #require(CurlVersion.hasPublicSuffixList)
        try await set(
            ["all=1; Domain=co.uk; Path=/", "own=1; Domain=site.co.uk; Path=/"], from: "a.site.co.uk")
        #expect(await downloader.cookies.cookies().map(\.name) == ["own"])
        #expect(try await sent(to: "next.co.uk") == nil)
        #expect(try await sent(to: "site.co.uk") == "own=1")
    }

    @Test func cookiesExpire() async throws {
        try await set([
            "kept=1; Max-Age=1000; Path=/", "gone=1; Max-Age=0; Path=/",
            "past=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:01 GMT",
            "odd=1; Path=/; Expires=Sunday, 06-Nov-94 08:49:37 GMT",
            "future=1; Path=/; Expires=Wed Nov 16 08:12:31 2039",
            "both=1; Path=/; Max-Age=1000; Expires=Thu, 01 Jan 1970 00:00:01 GMT",
        ])
        #expect(await Set(downloader.cookies.cookies().map(\.name)) == ["kept", "future", "both"])
        try await set(["kept=1; Max-Age=-1; Path=/"])
        #expect(await Set(downloader.cookies.cookies().map(\.name)) == ["future", "both"])
    }

    @Test func cookieNamePrefixesAreEnforced() async throws {
        try await set(["__Host-a=1; Path=/", "__Secure-b=1; Path=/", "__Host-c=1; Secure; Path=/; Domain=h.test"])
        #expect(await downloader.cookies.cookies().isEmpty)
    }

    @Test func oversizedCookiesAreRefused() async throws {
        try await set(["big=\(String(repeating: "v", count: 4100)); Path=/", "ok=1; Path=/"])
        #expect(await downloader.cookies.cookies().map(\.name) == ["ok"])
    }

    @Test func anExplicitHeaderFollowsTheJarsCookies() async throws {
        try await set(["jar=1; Path=/"])
        #expect(try await sent(headers: ["cookie": "own=1"]) == "jar=1; own=1")
        #expect(try await sent() == "jar=1")
    }

    @Test func cookiesOfARedirectAreSentToItsTarget() async throws {
        let port = try SharedServers.faults.get().port
        let base = "http://h.test:\(port)"
        var request = LoaderRequest(
            url: try #require(
                URL(string: "\(base)/answer/hop?code=302&header=Set-Cookie:+a=b%3B+Path=/&header=Location:+/echo/hop")))
        request.handlesCookies = true
        #expect(try await downloader.echo(request)["cookie"] == "a=b")
    }

    @Test func aJarCanBeEdited() async throws {
        let jar = downloader.cookies
        let ours = try #require(Cookie(name: "ours", value: "1", domain: "h.test"))
        await jar.insert(ours)
        try await set(["theirs=1; Path=/", "ours=2; Path=/"])
        #expect(await Set(jar.cookies().map { "\($0.name)=\($0.value)" }) == ["theirs=1", "ours=2"])
        await jar.remove(ours)
        #expect(await jar.cookies().map(\.name) == ["theirs"])
        #expect(try await sent() == "theirs=1")
        await jar.removeAll()
        #expect(await jar.cookies().isEmpty)
        #expect(try await sent() == nil)
        await jar.insert(ours)
        #expect(try await sent() == "ours=1")
    }

    @Test func aJarIsBounded() async throws {
        let jar = downloader.cookies
        for round in 0..<8 {
            try await set((0..<40).map { "c\(round)-\($0)=1; Path=/" })
        }
        let names = await jar.cookies().map(\.name)
        #expect(names.count <= CurlCookieStore.limitPerDomain + CurlCookieStore.slack)
        #expect(names.contains("c7-39") && !names.contains("c0-0"))

        for domain in 0..<(CurlCookieStore.limit + CurlCookieStore.slack + 100) {
            await jar.insert(try #require(Cookie(name: "n", value: "v", domain: "d\(domain).test")))
        }
        #expect(await jar.cookies().count <= CurlCookieStore.limit + CurlCookieStore.slack)
    }

    @Test func aJarIsSavedInAFileReadableOnlyByItsOwner() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("cookies.txt")
        try directory.write(Data("old".utf8), to: "cookies.txt")
        chmod(path, 0o644)
        try await set(["a=1; Max-Age=1000; Path=/; HttpOnly", "b=2; Path=/; Domain=h.test", "c=3; Path=/; Secure"])
        let saved = await downloader.cookies.cookies()
        try await downloader.cookies.save(to: path)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["cookies.txt"])

        let other = ImageDownloader.forTests()
        try await other.cookies.load(from: path)
        #expect(await Set(other.cookies.cookies()) == Set(saved))
        // Two, as the secure one was refused over http.
        #expect(saved.count == 2)
    }

    @Test func curlReadsTheFile() async throws {
        let directory = try TemporaryDirectory()
        let faults = try SharedServers.faults.get()
        await downloader.cookies.insert(try #require(Cookie(name: "n", value: "v", domain: "127.0.0.1")))
        try await downloader.cookies.save(to: directory.path("jar"))
        let (status, output) = try Curl.run(
            "--cookie", directory.path("jar"), try faults.url("/echo/curl-jar").absoluteString)
        #expect(status == 0)
        #expect(try JSONDecoder().decode([String: String].self, from: output)["cookie"] == "n=v")
    }

    @Test func fileErrorsAreReported() async throws {
        await #expect(throws: WebImageError.file(path: "/none/jar", errno: ENOENT)) {
            try await downloader.cookies.load(from: "/none/jar")
        }
        await #expect(throws: WebImageError.file(path: "/none/jar", errno: ENOENT)) {
            try await downloader.cookies.save(to: "/none/jar")
        }
        let directory = try TemporaryDirectory()
        try directory.write(Data(count: (16 << 20) + 1), to: "large")
        await #expect(throws: WebImageError.file(path: directory.path("large"), errno: EFBIG)) {
            try await downloader.cookies.load(from: directory.path("large"))
        }
    }
}

@Suite(.timeLimit(.minutes(3))) struct CookieTests {
    private static let full = Cookie(
        name: "n", value: "v=w", domain: ".H.test", includesSubdomains: true, path: "/p", isSecure: true,
        isHTTPOnly: true, expires: Date(timeIntervalSince1970: 4_000_000_000))

    @Test func aLineOfTheFilePreservesTheCookie() throws {
        let cookie = try #require(Self.full)
        #expect(cookie.domain == "h.test")
        #expect(cookie.netscapeLine == "#HttpOnly_.h.test\tTRUE\t/p\tTRUE\t4000000000\tn\tv=w")
        #expect(Cookie(netscapeLine: cookie.netscapeLine) == cookie)
        let plain = try #require(Cookie(name: "n", value: "", domain: "h"))
        #expect(plain.netscapeLine == "h\tFALSE\t/\tFALSE\t0\tn\t")
        #expect(Cookie(netscapeLine: plain.netscapeLine) == plain)
    }

    @Test(arguments: ["", "# comment", "a\tb", "h\tFALSE\t/\tFALSE\tx\tn\tv", "h\tFALSE\tp\tFALSE\t0\tn\tv"])
    func invalidLinesAreIgnored(line: String) {
        #expect(Cookie(netscapeLine: line) == nil)
    }

    @Test(arguments: ["a\tb", "a\nb", "a;b", "a\0b", "a\u{7F}"]) func refusesValuesThatWouldBreakALine(text: String) {
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

    @Test(arguments: [-1e18, -1, 0, 0.5, 1e18, .infinity]) func anyExpiryCanBeWritten(seconds: Double) throws {
        let end = Date(timeIntervalSince1970: seconds)
        let cookie = try #require(Cookie(name: "n", value: "v", domain: "h", expires: end))
        let read = try #require(Cookie(netscapeLine: cookie.netscapeLine)?.expires)
        #expect((read > Date()) == (end > Date()))
    }
}
