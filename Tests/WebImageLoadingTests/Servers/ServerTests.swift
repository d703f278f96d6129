import FoundationEssentials
import Testing
import WebImageTestSupport

/// The behaviour of the servers that other tests rely on.
@Suite(.timeLimit(.minutes(3))) struct ServerTests {
    @Test func nginxServesADirectoryAndLogsInOrder() async throws {
        let directory = try TemporaryDirectory()
        try directory.write(Data("hello".utf8), to: "a.txt")
        let server = try NGINXServer(root: directory.path)
        #expect(try await server.accessLog().isEmpty)
        for path in ["/a.txt", "/none"] { _ = try await LoopbackRequest.get(path, port: server.port) }
        let log = try await server.accessLog()
        #expect(log.map(\.path) == ["/a.txt", "/none"])
        #expect(log.map(\.status) == [200, 404])
        #expect(log.first?.byteCount == 5)
    }

    @Test func theFaultServerCountsRequestsAndHoldsThemUntilReleased() async throws {
        let server = try FaultServer()
        async let answer = LoopbackRequest.get("/held/servers/1?size=7", port: server.port)
        try await server.wait(for: .requests, path: "/held/servers/1")
        try await server.release("/held/servers/1")
        #expect(try await answer.body == Array(FaultServer.pattern(7)))
        let statistics = try await server.statistics()
        #expect(statistics.requests["/held/servers"] == 1)
        #expect(statistics.dropped["/held/servers"] == nil)
    }

    @Test func theFaultServerSeesADroppedConnection() async throws {
        let server = try FaultServer()
        await #expect(throws: TestServerError.self) {
            try await LoopbackRequest.get("/stall-headers/drop", port: server.port, atMost: 1)
        }
        try await server.wait(for: .dropped, path: "/stall-headers/drop")
    }
}

/// The same for TLS, seen by Debian's `curl`, which has nothing to do with the code under test.
@Suite(.timeLimit(.minutes(3))) struct SecureServerTests {
    @Test func nginxHasACertificateForEachKindOfTrust() async throws {
        let certificates = try TestCertificates.shared.get()
        let server = try NGINXServer(certificates: TestCertificates.Name.allCases)
        try server.write(Data("hello".utf8), to: "a.txt")
        let statuses = try TestCertificates.Name.allCases.map { name in
            let url = try server.secureURL("/a.txt", certificate: name, host: "localhost")
            return try Curl.run("--cacert", certificates.authority, url.absoluteString).status
        }
        // 60: the peer's certificate cannot be trusted.
        #expect(statuses == [0] + Array(repeating: 60, count: statuses.count - 1))
        let url = try server.secureURL("/a.txt").absoluteString
        #expect(try Curl.run(url).status == 60)
        #expect(try Curl.run("--insecure", "--pinnedpubkey", certificates.validPin, url).status == 0)
        #expect(try Curl.run("--insecure", "--pinnedpubkey", "sha256//AAAA", url).status == 90)
    }

    @Test func nginxSpeaksHTTP2UnlessTold() async throws {
        for (offersHTTP2, version) in [(true, "HTTP/2.0"), (false, "HTTP/1.1")] {
            let server = try NGINXServer(certificates: [.valid], offersHTTP2: offersHTTP2)
            try server.write(Data("hello".utf8), to: "a.txt")
            _ = try Curl.run("--insecure", try server.secureURL("/a.txt").absoluteString)
            #expect(try await server.accessLog().map(\.httpVersion) == [version])
        }
    }

    @Test func nginxAsksForCredentialsAndCompresses() throws {
        let server = try NGINXServer()
        try server.write(Data(repeating: 7, count: 10_000), to: "a.txt")
        let secret = try server.url("/private/a.txt").absoluteString
        #expect(try Curl.run("--fail", secret).status == 22)
        #expect(try Curl.run("--fail", "--user", "user:secret", secret).output.count == 10_000)
        let compressed = try server.url("/gzip/a.txt").absoluteString
        #expect(try Curl.run("--header", "Accept-Encoding: gzip", compressed).output.prefix(2) == Data([0x1F, 0x8B]))
        #expect(try Curl.run(compressed).output.count == 10_000)
    }

    @Test(arguments: ["MD5", "SHA-256"]) func theFaultServerAcceptsOnlyADigest(algorithm: String) throws {
        let server = try FaultServer()
        let url = try server.url("/digest/a?algorithm=\(algorithm)").absoluteString
        #expect(try Curl.run("--fail", "--user", "user:secret", url).status == 22)
        #expect(try Curl.run("--fail", "--digest", "--user", "user:wrong", url).status == 22)
        #expect(try Curl.run("--fail", "--digest", "--user", "user:secret", url).output == FaultServer.pattern(10))
    }
}
