import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

@Suite(.timeLimit(.minutes(3))) struct ProxyTests {
    private static func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    private static func downloader(
        _ proxy: String, bypassing: [String] = [],
        _ change: (inout ImageDownloader.Configuration) throws -> Void = { _ in }
    ) throws -> ImageDownloader {
        var configuration = ImageDownloader.Configuration()
        configuration.proxy = try .server(url(proxy), bypassing: bypassing)
        configuration.certificateAuthorities = .file(try TestCertificates.shared.get().authority)
        try change(&configuration)
        return ImageDownloader(configuration: configuration)
    }

    private static func tlsServer() throws -> NGINXServer {
        let server = try NGINXServer(certificates: [.valid])
        try server.write(FaultServer.pattern(100), to: "a.png")
        return server
    }

    @Test func anHTTPProxyForwardsAndTunnels() async throws {
        let (proxy, server) = (try TestProxy(), try Self.tlsServer())
        let downloader = try Self.downloader("http://127.0.0.1:\(proxy.httpPort)")
        let plain = try Self.url("http://a.test:\(server.port)/a.png")
        #expect(try await downloader.body(plain) == FaultServer.pattern(100))
        let secure = try server.secureURL("/a.png", host: "a.localhost")
        #expect(try await downloader.body(secure) == FaultServer.pattern(100))
        let log = try await proxy.log()
        #expect(log.map(\.kind) == ["forward", "connect"])
        #expect(log.map(\.target) == ["a.test:\(server.port)", "a.localhost:\(secure.port ?? 0)"])
    }

    /// Those that look up names themselves get `127.0.0.1`.
    @Test(arguments: [("socks4", true), ("socks4a", false), ("socks5", true), ("socks5h", false)])
    func aSOCKSProxyConnects(scheme: String, looksUpHere: Bool) async throws {
        let (proxy, faults) = (try TestProxy(), try SharedServers.faults.get())
        let downloader = try Self.downloader("\(scheme)://127.0.0.1:\(proxy.socksPort)") {
            $0.hostAddresses = ["a.test": ["127.0.0.1"]]
        }
        let url = try Self.url("http://a.test:\(faults.port)/bytes/\(scheme)")
        #expect(try await downloader.body(url) == FaultServer.pattern(1000))
        let log = try await proxy.log()
        #expect(log.map(\.kind) == [scheme])
        #expect(log.map(\.target) == [(looksUpHere ? "127.0.0.1" : "a.test") + ":\(faults.port)"])
    }

    /// libcurl before 8.4 writes past its buffer for such a name, if the proxy takes its time.
    @Test func aHostNameThatIsTooLongReachesNoProxy() async throws {
        let proxy = try TestProxy()
        let downloader = try Self.downloader("socks5h://127.0.0.1:\(proxy.socksPort)")
        let host = Array(repeating: String(repeating: "a", count: 60), count: 5).joined(separator: ".")
        guard case .invalidURL = try await downloader.error(Self.url("http://\(host)/a.png")) else {
            Issue.record("a name of \(host.count) bytes is used")
            return
        }
        #expect(try await proxy.log().isEmpty)
    }

    @Test func theProxyCredentialIsOnlyForTheProxy() async throws {
        let proxy = try TestProxy(credential: "user:secret")
        let (faults, server) = (try SharedServers.faults.get(), try Self.tlsServer())
        let downloader = try Self.downloader("http://user:secret@127.0.0.1:\(proxy.httpPort)")
        for _ in 0..<2 {
            let echo = try await downloader.echo(LoaderRequest(url: faults.url("/echo/proxy-credential")))
            #expect(echo["proxy-authorization"] == nil && echo["authorization"] == nil)
        }
        #expect(try await downloader.body(server.secureURL("/a.png")) == FaultServer.pattern(100))
        // Basic is shown only once asked for, and after it worked at once.
        let basic = "Basic " + Data("user:secret".utf8).base64EncodedString()
        #expect(try await proxy.log().map(\.authorization) == [nil, basic, basic, basic])
    }

    @Test func aProxyCanUseABearerToken() async throws {
        let (proxy, faults) = (try TestProxy(), try SharedServers.faults.get())
        let address = try Self.url("http://127.0.0.1:\(proxy.httpPort)")
        let server = try ProxyServer(address, credential: .bearerToken("t0ken"))
        let downloader = ImageDownloader.forTests { $0.proxy = .init(route: .server(server, bypassing: [])) }
        // Also on a handle that has carried a server's token before.
        for credential in [nil, Credential.bearerToken("other"), nil] {
            let request = LoaderRequest(url: try faults.url("/echo/proxy-token"), credential: credential)
            let echo = try await downloader.echo(request)
            #expect(echo["authorization"] == (credential == nil ? nil : "Bearer other"))
            #expect(echo["proxy-authorization"] == nil)
        }
        #expect(try await proxy.log().map(\.authorization) == Array(repeating: "Bearer t0ken", count: 3))
        #expect(throws: WebImageError.invalidRequest(reason: .invalidHeader(name: "Proxy-Authorization"), url: address))
        {
            try ProxyServer(address, credential: .bearerToken("a\r\nb"))
        }
    }

    @Test func aSOCKSProxyGetsItsCredential() async throws {
        let proxy = try TestProxy(credential: "user:secret")
        let url = try SharedServers.faults.get().url("/bytes/socks-credential")
        let right = try Self.downloader("socks5h://user:secret@127.0.0.1:\(proxy.socksPort)")
        #expect(try await right.body(url) == FaultServer.pattern(1000))
        let wrong = try Self.downloader("socks5h://user:wrong@127.0.0.1:\(proxy.socksPort)")
        guard case .transport = try await wrong.error(url) else {
            Issue.record("let in")
            return
        }
    }

    @Test(arguments: [true, false]) func theHandlerAnswersAProxy(isTunnel: Bool) async throws {
        let (proxy, server) = (try TestProxy(credential: "user:secret"), try Self.tlsServer())
        let challenges = LockBox<[AuthenticationChallenge]>([])
        let answers = [Credential(username: "user", password: "wrong"), .init(username: "user", password: "secret")]
        let downloader = try Self.downloader("http://127.0.0.1:\(proxy.httpPort)") { configuration in
            configuration.authenticationHandler = { challenge in
                challenges.withLock { challenges in
                    challenges.append(challenge)
                    return answers[challenges.count - 1]
                }
            }
        }
        let url = try isTunnel ? server.secureURL("/a.png") : server.url("/a.png")
        #expect(try await downloader.body(url) == FaultServer.pattern(100))
        let challenge = AuthenticationChallenge(
            url: url, host: "127.0.0.1", port: proxy.httpPort, isProxy: true, scheme: "basic",
            realm: isTunnel ? nil : "proxy", previousFailureCount: 0)
        var second = challenge
        second.previousFailureCount = 1
        #expect(challenges.withLock { $0 } == [challenge, second])
    }

    @Test(arguments: [true, false]) func aRefusalOfTheProxyIsA407(isTunnel: Bool) async throws {
        let (proxy, server) = (try TestProxy(credential: "user:secret"), try Self.tlsServer())
        let url = try isTunnel ? server.secureURL("/a.png") : server.url("/a.png")
        for userInfo in ["", "user:wrong@"] {
            let downloader = try Self.downloader("http://\(userInfo)127.0.0.1:\(proxy.httpPort)")
            #expect(try await downloader.error(url) == .httpStatus(code: 407, url: url))
        }
        #expect(try await server.accessLog().isEmpty)
    }

    @Test(arguments: [true, false]) func aHeaderForTheProxyNeverReachesTheServer(isTunnel: Bool) async throws {
        let (proxy, faults) = (try TestProxy(credential: "user:secret"), try SharedServers.faults.get())
        let header = "Basic " + Data("user:secret".utf8).base64EncodedString()
        let downloader = try Self.downloader("http://127.0.0.1:\(proxy.httpPort)")
        if isTunnel {
            let locations = "location /seen { return 200 'seen:$http_proxy_authorization'; }"
            let server = try NGINXServer(certificates: [.valid], locations: locations)
            let request = LoaderRequest(url: try server.secureURL("/seen"), headers: ["Proxy-Authorization": header])
            #expect(try await downloader.body(request) == Data("seen:".utf8))
        } else {
            let url = try faults.url("/echo/proxy-header")
            let echo = try await downloader.echo(LoaderRequest(url: url, headers: ["Proxy-Authorization": header]))
            #expect(echo["proxy-authorization"] == nil)
            let direct = ImageDownloader.forTests()
            let seen = try await direct.echo(LoaderRequest(url: url, headers: ["Proxy-Authorization": header]))
            #expect(seen["proxy-authorization"] == nil)
        }
        #expect(try await proxy.log().map(\.authorization) == [header])
    }

    @Test(arguments: ["127.0.0.1", "127.0.0.0/8", "*"]) func excludedHostsBypassTheProxy(entry: String) async throws {
        let (proxy, faults) = (try TestProxy(), try SharedServers.faults.get())
        let downloader = try Self.downloader("http://127.0.0.1:\(proxy.httpPort)", bypassing: [entry])
        #expect(try await downloader.body(faults.url("/bytes/direct")) == FaultServer.pattern(1000))
        #expect(try await proxy.log().isEmpty)
    }

    @Test func anAddressPolicyChecksTheTargetOfAProxy() async throws {
        let (proxy, faults) = (try TestProxy(), try SharedServers.faults.get())
        let address = "http://127.0.0.1:\(proxy.httpPort)"
        let literal = try faults.url("/bytes/judged")
        let named = try Self.url("http://a.test:\(faults.port)/bytes/judged")
        let strict = try Self.downloader(address) { $0.addressPolicy = .publicInternet }
        #expect(try await strict.error(literal) == .blocked(reason: .host("127.0.0.1"), url: literal))
        #expect(try await strict.error(named) == .blocked(reason: .unresolvedHost("a.test"), url: named))
        #expect(try await proxy.log().isEmpty)

        let trusting = try Self.downloader(address) { configuration in
            configuration.addressPolicy = .publicInternet
            configuration.addressPolicy.allowsNamesResolvedByProxy = true
        }
        #expect(try await trusting.error(literal) == .blocked(reason: .host("127.0.0.1"), url: literal))
        #expect(try await trusting.body(named) == FaultServer.pattern(1000))
    }

    @Test func theEnvironmentIsReadAsCurlReadsIt() throws {
        let environment = [
            "http_proxy": "p.test:3128", "HTTPS_PROXY": "socks5://u:p@s.test", "no_proxy": "direct.test, 10.0.0.0/8",
            "HTTP_PROXY": "http://attacker.test",
        ]
        let rules = ProxyRules(environment: { environment[$0] })
        #expect(try rules.server(for: Self.url("http://h.test/"))?.text == "http://p.test:3128")
        let secure = try rules.server(for: Self.url("https://h.test/"))
        #expect(secure?.text == "socks5://s.test:1080")
        #expect(secure?.credential == Credential(username: "u", password: "p"))
        for direct in ["http://direct.test/", "http://a.direct.test/", "https://10.1.2.3/"] {
            #expect(try rules.server(for: Self.url(direct)) == nil)
        }
        #expect(try rules.server(for: Self.url("http://indirect.test/")) != nil)
        let attacked = ProxyRules(environment: { ["HTTP_PROXY": "http://attacker.test"][$0] })
        #expect(try attacked.server(for: Self.url("http://h.test/")) == nil)
        let all = ProxyRules(environment: { ["ALL_PROXY": "http://a.test:1"][$0] })
        #expect(try all.server(for: Self.url("https://h.test/"))?.port == 1)
    }

    @Test(arguments: ["socks6://u:p@p.test", "http://", "http://a%00b", "http://u%0a:p@p.test", "http://p.test:x"])
    func anUnusableProxyInTheEnvironmentIsNotBypassed(value: String) throws {
        let environment = ["http_proxy": value, "all_proxy": "http://p.test", "no_proxy": "direct.test"]
        let rules = ProxyRules(environment: { environment[$0] })
        let url = try Self.url("http://h.test/")
        #expect(throws: WebImageError.invalidRequest(reason: .invalidProxy(variable: "http_proxy"), url: url)) {
            try rules.server(for: url)
        }
        #expect(try rules.server(for: Self.url("http://direct.test/")) == nil)
        #expect(try rules.server(for: Self.url("https://h.test/")) != nil)

        let all = ProxyRules(environment: { ["ALL_PROXY": value][$0] })
        let configuration = ImageDownloader.Configuration()
        #expect(throws: WebImageError.invalidRequest(reason: .invalidProxy(variable: "ALL_PROXY"), url: url)) {
            try DownloadState(
                LoaderRequest(url: url),
                environment: DownloadEnvironment(configuration, proxies: all))
        }
        #expect(try ProxyRules(environment: { ["http_proxy": ""][$0] }).server(for: url) == nil)
    }

    @Test func anIPv6AddressHasBracketsForLibcurl() throws {
        #expect(try ProxyServer(Self.url("http://[::1]:3128")).text == "http://[::1]:3128")
        #expect(try ProxyServer(Self.url("socks5://[FE80::1]")).text == "socks5://[fe80::1]:1080")
        let entry = try CurlHandle.resolveEntry(for: Self.url("http://[::1]/"), addresses: ["127.0.0.1"])
        #expect(entry == "[::1]:80:127.0.0.1")
    }

    @Test(arguments: [("http://b.test/", true), ("https://b.test/", false), ("http://direct.test/", false)])
    func aHeaderForOneProxyIsNotSentToAnother(target: String, isSameProxy: Bool) throws {
        let environment = ["http_proxy": "http://p.test", "https_proxy": "http://q.test", "no_proxy": "direct.test"]
        let rules = ProxyRules(environment: { environment[$0] })
        let configuration = ImageDownloader.Configuration()
        let request = LoaderRequest(
            url: try Self.url("http://a.test/"), headers: ["Proxy-Authorization": "Basic cDpw"])
        let state = try DownloadState(
            request, environment: DownloadEnvironment(configuration, proxies: rules))
        #expect(state.hop.access.proxyHeaders.map(\.value) == ["Basic cDpw"])
        // There, and back to the first proxy: what was dropped stays away.
        for location in [target, "http://a.test/"] {
            guard case .redirected(let hop) = state.follow(location, status: 302, decision: .follow) else {
                // From https there is no way back.
                #expect(target.hasPrefix("https") && location != target)
                return
            }
            #expect(hop.access.proxyHeaders.isEmpty == !isSameProxy)
            state.begin(hop)
        }
    }

    @Test(arguments: [("http://b.test/", true), ("https://b.test/", false), ("http://direct.test/", false)])
    func aCredentialForOneProxyIsNotSentToAnother(target: String, isSameProxy: Bool) throws {
        let environment = [
            "http_proxy": "http://u:p@p.test", "https_proxy": "http://q.test", "no_proxy": "direct.test",
        ]
        let rules = ProxyRules(environment: { environment[$0] })
        let state = try DownloadState(
            LoaderRequest(url: Self.url("http://a.test/")),
            environment: DownloadEnvironment(ImageDownloader.Configuration(), proxies: rules))
        let credential = Credential(username: "u", password: "p")
        #expect(state.hop.access.proxyCredential == credential)
        guard case .redirected(let hop) = state.follow(target, status: 302, decision: .follow) else {
            Issue.record("the redirect is not followed")
            return
        }
        state.begin(hop)
        #expect(state.hop.access.proxyCredential == (isSameProxy ? credential : nil))
    }

    /// With the other schemes the proxy looks up names, and the policy trusts it.
    @Test(arguments: [
        ("socks4", false), ("socks5", false), ("socks4a", true), ("socks5h", true), ("http", true), ("https", true),
    ])
    func namesResolvedLocallyForAProxyAreNotAllowed(scheme: String, isAllowed: Bool) throws {
        var policy = AddressPolicy.publicInternet
        policy.allowsNamesResolvedByProxy = true
        let proxy = try ProxyServer(Self.url("\(scheme)://p.test"))
        let cause = try policy.blockReason(for: Self.url("http://a.test/"), through: proxy)
        #expect(cause == (isAllowed ? nil : .unresolvedHost("a.test")))
        #expect(try policy.blockReason(for: Self.url("http://192.0.0.1/"), through: proxy) != nil)
        #expect(try AddressPolicy().blockReason(for: Self.url("http://a.test/"), through: proxy) == nil)
    }

    @Test(arguments: [("ftp://p.test", true), ("http:///", false)]) func aProxyNeedsAKnownScheme(
        text: String, hasUnknownScheme: Bool
    ) throws {
        let url = try Self.url(text)
        let expected: WebImageError =
            hasUnknownScheme
            ? .invalidRequest(reason: .unsupportedScheme("ftp"), url: url) : .invalidURL(url.absoluteString)
        #expect(throws: expected) { try ProxyServer(url) }
    }
}
