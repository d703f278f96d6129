import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

@Suite(.timeLimit(.minutes(3))) struct CertificateTests {
    private static let server = Result {
        let server = try NGINXServer(certificates: TestCertificates.Name.allCases)
        try server.write(FaultServer.pattern(100), to: "a.png")
        return server
    }

    private static func downloader(
        _ change: (inout ImageDownloader.Configuration) throws -> Void = { _ in }
    ) throws -> ImageDownloader {
        var configuration = ImageDownloader.Configuration()
        configuration.proxy = .none
        configuration.certificateAuthorities = .file(try TestCertificates.shared.get().authority)
        try change(&configuration)
        return ImageDownloader(configuration: configuration)
    }

    private static func insecure(_ url: URL) -> LoaderRequest {
        var request = LoaderRequest(url: url)
        request.allowsInvalidCertificates = true
        return request
    }

    @Test func untrustedCertificatesAreRejected() async throws {
        let url = try Self.server.get().secureURL("/a.png")
        let downloader = ImageDownloader.forTests()
        #expect(try await downloader.error(url) == .certificate(reason: .unknownIssuer, url: url))
    }

    @Test func anAuthorityCanBeAFileOrData() async throws {
        let url = try Self.server.get().secureURL("/a.png")
        #expect(try await Self.downloader().body(url) == FaultServer.pattern(100))
        let pem = try Data(contentsOf: URL(filePath: try TestCertificates.shared.get().authority))
        var configuration = ImageDownloader.Configuration()
        (configuration.proxy, configuration.certificateAuthorities) = (.none, .pem(pem))
        #expect(try await ImageDownloader(configuration: configuration).body(url) == FaultServer.pattern(100))
        // They are those of the system again.
        configuration.certificateAuthorities = .system
        let error = try await ImageDownloader(configuration: configuration).error(url)
        #expect(error == .certificate(reason: .unknownIssuer, url: url))
    }

    @Test(arguments: [
        (TestCertificates.Name.expired, WebImageError.CertificateFailure.expired), (.notYetValid, .notYetValid),
        (.wrongHost, .wrongHost), (.selfSigned, .selfSigned),
    ])
    func eachFaultHasItsOwnError(name: TestCertificates.Name, reason: WebImageError.CertificateFailure) async throws {
        let server = try Self.server.get()
        let url = try server.secureURL("/a.png", certificate: name)
        try await server.clearAccessLog()
        let error = try await Self.downloader().error(url)
        #expect(error == .certificate(reason: reason, url: url))
        #expect(try await server.accessLog().isEmpty)
        #expect(try await Self.downloader().body(Self.insecure(url)) == FaultServer.pattern(100))
    }

    @Test(arguments: ["/none/ca.pem", "empty"]) func unreadableAuthoritiesAreReported(path: String) async throws {
        let directory = try TemporaryDirectory()
        if path == "empty" { try directory.write(Data(), to: path) }
        let file = path == "empty" ? directory.path(path) : path
        let url = try Self.server.get().secureURL("/a.png")
        let error = try await Self.downloader { $0.certificateAuthorities = .file(file) }.error(url)
        guard case .certificate(.other(let detail), url) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(detail.hasPrefix("the trusted authorities cannot be read: "))
        #expect(detail.contains(file))
    }

    /// libcurl takes no more than 8 MB at once; without them it would trust the system's.
    @Test func authoritiesRejectedByLibcurlFailTheLoad() async throws {
        let url = try Self.server.get().secureURL("/a.png")
        let downloader = try Self.downloader { $0.certificateAuthorities = .pem(Data(count: 9_000_000)) }
        guard case .certificate(.other(let detail), url) = try await downloader.error(url) else {
            Issue.record("\(String(describing: try await downloader.error(url)))")
            return
        }
        #expect(detail.hasPrefix("the trusted authorities cannot be read: "))
    }

    @Test func pinsRejectedByLibcurlFailTheLoad() async throws {
        let url = try Self.server.get().secureURL("/a.png")
        let right = try TestCertificates.shared.get().validPin
        let downloader = try Self.downloader {
            $0.pinnedPublicKeys = ["*": Array(repeating: right, count: 170_000)]
        }
        guard case .transport(43, _, url) = try await downloader.error(url) else {
            Issue.record("\(String(describing: try await downloader.error(url)))")
            return
        }
    }

    @Test func aPinAppliesToEveryHostOrToOne() async throws {
        let url = try Self.server.get().secureURL("/a.png")
        let right = try TestCertificates.shared.get().validPin
        let wrong = Data(repeating: 1, count: 32).base64EncodedString()
        for pins in [
            ["*": [right]], ["*": [wrong, right.replacing("sha256//", with: "")]],
            ["*": [wrong], "127.0.0.1": [right]], ["h": [wrong]],
        ] {
            #expect(try await Self.downloader { $0.pinnedPublicKeys = pins }.body(url) == FaultServer.pattern(100))
        }
        for pins in [
            ["*": [wrong]], ["*": [right], "127.0.0.1": [wrong]], ["*": ["AAAA"]],
        ] {
            let downloader = try Self.downloader { $0.pinnedPublicKeys = pins }
            #expect(try await downloader.error(url) == .certificate(reason: .publicKeyNotPinned, url: url))
            // Nor does it do to trust any certificate.
            let insecure = Self.insecure(url)
            #expect(try await downloader.error(insecure) == .certificate(reason: .publicKeyNotPinned, url: url))
        }
    }

    /// An invalid pin must not be ignored: without pins, any key would do.
    @Test(arguments: ["", "sha256//", "AAAA", "!", "sha256//AAAA"]) func anInvalidPinMatchesNoKey(text: String) {
        #expect(PublicKeyPins(["h": [text]]).pins(for: "h") == [Data(count: 32).base64EncodedString()])
    }

    @Test(arguments: [true, false])
    func uncheckedRequestsShareNoConnection(insecureFirst: Bool) async throws {
        let server = try NGINXServer(certificates: [.valid, .selfSigned])
        try server.write(FaultServer.pattern(100), to: "a.png")
        let downloader = try Self.downloader()
        let valid = try server.secureURL("/a.png")
        for isInsecure in [insecureFirst, !insecureFirst, insecureFirst, !insecureFirst] {
            let request = isInsecure ? Self.insecure(valid) : LoaderRequest(url: valid)
            #expect(try await downloader.body(request) == FaultServer.pattern(100))
        }
        let connections = try await server.accessLog().map(\.connection)
        #expect(connections.count == 4 && Set(connections).count == 2)
        #expect(connections[0] != connections[1] && connections[0] == connections[2])

        // An open connection to an untrusted server, and its TLS session, are not used by requests that check.
        let untrusted = try server.secureURL("/a.png", certificate: .selfSigned)
        for _ in 0..<2 {
            #expect(try await downloader.body(Self.insecure(untrusted)) == FaultServer.pattern(100))
            let error = try await downloader.error(untrusted)
            #expect(error == .certificate(reason: .selfSigned, url: untrusted))
        }
    }
}

/// The secrets of a request that another origin receives, from the server's side.
@Suite(.timeLimit(.minutes(3))) struct CredentialLeakTests {
    /// Where a redirect leads.
    enum Target: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case sameOrigin, otherPort, otherHost, downgrade, otherPortAndBack

        var testDescription: String { rawValue }
        /// Whether it may see everything.
        var isTrusted: Bool { self == .sameOrigin }
    }

    /// An nginx over TLS, from which redirects lead down to the fault server.
    private static let secure = Result {
        let faults = try SharedServers.faults.get()
        return try NGINXServer(
            certificates: [.valid],
            locations: "location /down/ { return 302 http://127.0.0.1:\(faults.port)/echo$request_uri; }")
    }

    private static func downloader() throws -> ImageDownloader {
        let authority = try TestCertificates.shared.get().authority
        return ImageDownloader.forTests { configuration in
            configuration.hostAddresses = ["a.test": ["127.0.0.1"], "b.test": ["127.0.0.1"]]
            configuration.certificateAuthorities = .file(authority)
            configuration.allowsInsecureRedirects = true
        }
    }

    /// A URL whose redirect leads to `/echo` at `target`. The first hop asks for nothing.
    private static func url(to target: Target, _ name: String) throws -> URL {
        let faults = try SharedServers.faults.get()
        let (port, other) = (faults.port, faults.otherPort)
        let echo = "echo/leak-\(name)"
        func url(_ text: String) throws -> URL { try #require(URL(string: text)) }
        func redirect(_ host: String, _ port: Int, to text: String) -> String {
            "http://\(host):\(port)/redirect/leak-\(name)?to=\(text)"
        }
        switch target {
        case .sameOrigin: return try url(redirect("a.test", port, to: "http://a.test:\(port)/\(echo)"))
        case .otherPort: return try url(redirect("a.test", port, to: "http://a.test:\(other)/\(echo)"))
        case .otherHost: return try url(redirect("a.test", port, to: "http://b.test:\(port)/\(echo)"))
        case .otherPortAndBack:
            let back = redirect("a.test", other, to: "http://a.test:\(port)/\(echo)")
            return try url(redirect("a.test", port, to: back))
        case .downgrade: return try secure.get().secureURL("/down/\(name)")
        }
    }

    @Test(arguments: Target.allCases, ["Authorization", "Cookie", "X-Api-Key", "Proxy-Authorization"])
    func explicitHeadersStayWithTheirOrigin(target: Target, header: String) async throws {
        let request = LoaderRequest(url: try Self.url(to: target, "header"), headers: [header: "secret=1"])
        let echo = try await Self.downloader().echo(request)
        let isSeen = target.isTrusted && header != "Proxy-Authorization"
        #expect(echo[header.lowercased()] == (isSeen ? "secret=1" : nil))
        if !isSeen { #expect(!echo.values.contains { $0.contains("secret") }) }
    }

    @Test(arguments: Target.allCases) func tokensStayWithTheirOrigin(target: Target) async throws {
        let request = LoaderRequest(url: try Self.url(to: target, "token"), credential: .bearerToken("secret"))
        let echo = try await Self.downloader().echo(request)
        #expect(echo["authorization"] == (target.isTrusted ? "Bearer secret" : nil))
    }

    /// The redirect leads to a server that asks for a password, the one place where one would be sent.
    @Test(arguments: [Target.sameOrigin, .otherPort], [true, false])
    func passwordsStayWithTheirOrigin(target: Target, isInURL: Bool) async throws {
        let server = try NGINXServer(locations: "location /away { return 302 $arg_to; }")
        let asking = try target == .sameOrigin ? server : NGINXServer()
        try asking.write(FaultServer.pattern(10), to: "a.png")
        let to = try asking.url("/private/a.png")
        let away = try server.url("/away?to=\(to)")
        let url = isInURL ? URL(string: away.absoluteString.replacing("//127", with: "//user:secret@127")) : away
        var request = LoaderRequest(url: try #require(url))
        if !isInURL { request.credential = Credential(username: "user", password: "secret") }
        let error = try await Self.downloader().error(request)
        #expect(error == (target.isTrusted ? nil : .httpStatus(code: 401, url: to)))
        // A second request with the password would be there as another 401, or as a 200.
        let statuses = try await asking.accessLog().filter { $0.path.hasPrefix("/private") }.map(\.status)
        #expect(statuses == (target.isTrusted ? [401, 200] : [401]))
    }

    @Test func aRedirectsOwnUserInfoIsNotUsed() async throws {
        let server = try SharedServers.nginx.get()
        let bare = try server.url("/private/small.png")
        let to = bare.absoluteString.replacing("//", with: "//user:secret@")
        let url = try SharedServers.faults.get().url("/redirect/user-info?to=\(to)")
        #expect(try await Self.downloader().error(url) == .httpStatus(code: 401, url: bare))
    }

    @Test func theDownloadersCredentialIsNotForRedirectTargets() async throws {
        let downloader = ImageDownloader.forTests { $0.credential = .init(username: "user", password: "secret") }
        let to = try SharedServers.nginx.get().url("/private/small.png")
        let url = try SharedServers.faults.get().url("/redirect/own-credential?to=\(to)")
        #expect(try await downloader.error(url) == .httpStatus(code: 401, url: to))
    }

    @Test(arguments: Target.allCases) func cookiesOfTheJarStayWithTheirHost(target: Target) async throws {
        let downloader = try Self.downloader()
        let host = target == .downgrade ? "127.0.0.1" : "a.test"
        let cookie = try #require(Cookie(name: "jar", value: "secret", domain: host, isSecure: target == .downgrade))
        await downloader.cookies.insert(cookie)
        var request = LoaderRequest(url: try Self.url(to: target, "jar"))
        request.handlesCookies = true
        let echo = try await downloader.echo(request)
        // Cookies know hosts, not ports (RFC 6265 §8.5); and libcurl takes loopback addresses for secure.
        #expect(echo["cookie"] == (target == .otherHost ? nil : "jar=secret"))
    }

    @Test func aSecureCookieIsNotSentInTheClear() async throws {
        let downloader = try Self.downloader()
        for isSecure in [true, false] {
            let cookie = Cookie(name: "s\(isSecure)", value: "1", domain: "a.test", isSecure: isSecure)
            await downloader.cookies.insert(try #require(cookie))
        }
        let faults = try SharedServers.faults.get()
        let url = try #require(URL(string: "http://a.test:\(faults.port)/echo/secure-cookie"))
        var request = LoaderRequest(url: url)
        request.handlesCookies = true
        #expect(try await downloader.echo(request)["cookie"] == "sfalse=1")
    }
}
