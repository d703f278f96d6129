import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

@Suite struct CertificateTests {
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

    @Test func nobodyIsTrustedUnsigned() async throws {
        let url = try Self.server.get().secureURL("/a.png")
        let downloader = ImageDownloader.forTests()
        #expect(try await downloader.error(url) == .certificate(reason: .unknownIssuer, url: url))
    }

    @Test func anAuthorityCanBeAFileOrData() async throws {
        let url = try Self.server.get().secureURL("/a.png")
        #expect(try await Self.downloader().body(url) == FaultServer.pattern(100))
        let pem = try Data(contentsOf: URL(filePath: try TestCertificates.shared.get().authority))
        let downloader = try Self.downloader { $0.certificateAuthorities = .pem(pem) }
        #expect(try await downloader.body(url) == FaultServer.pattern(100))
    }

    @Test(arguments: [
        (TestCertificates.Name.expired, WebImageError.CertificateFailure.expired), (.wrongHost, .wrongHost),
        (.selfSigned, .selfSigned),
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

    @Test(arguments: ["/none/ca.pem", "empty"]) func unreadableAuthoritiesAreSaidSo(path: String) async throws {
        let directory = try TemporaryDirectory()
        if path == "empty" { try directory.write(Data(), to: path) }
        let file = path == "empty" ? directory.path(path) : path
        let url = try Self.server.get().secureURL("/a.png")
        let error = try await Self.downloader { $0.certificateAuthorities = .file(file) }.error(url)
        guard case .certificate(.authoritiesUnreadable(let detail), url) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(detail.contains(file))
    }

    /// libcurl takes no more than 8 MB at once; without them it would trust the system's.
    @Test func authoritiesThatLibcurlDoesNotTakeFailTheLoad() async throws {
        let url = try Self.server.get().secureURL("/a.png")
        let downloader = try Self.downloader { $0.certificateAuthorities = .pem(Data(count: 9_000_000)) }
        guard case .certificate(.authoritiesUnreadable, url) = try await downloader.error(url) else {
            Issue.record("\(String(describing: try await downloader.error(url)))")
            return
        }
    }

    @Test func pinsThatLibcurlDoesNotTakeFailTheLoad() async throws {
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

    @Test func aPinIsAskedOfEveryHostOrOfOne() async throws {
        let url = try Self.server.get().secureURL("/a.png")
        let right = try TestCertificates.shared.get().validPin
        let wrong = Data(repeating: 1, count: 32).base64EncodedString()
        for pins in [
            ["*": [right]], ["*": [wrong, "sha256//" + right]], ["*": [wrong], "127.0.0.1": [right]], ["h": [wrong]],
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
    func requestsThatCheckNothingShareNoConnection(insecureFirst: Bool) async throws {
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

        // An open connection to an untrusted server, and its TLS session, help nobody who checks.
        let untrusted = try server.secureURL("/a.png", certificate: .selfSigned)
        for _ in 0..<2 {
            #expect(try await downloader.body(Self.insecure(untrusted)) == FaultServer.pattern(100))
            let error = try await downloader.error(untrusted)
            #expect(error == .certificate(reason: .selfSigned, url: untrusted))
        }
    }
}
