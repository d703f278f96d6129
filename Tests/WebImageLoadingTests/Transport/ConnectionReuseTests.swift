import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

/// A connection carries another request only if no bytes but its own response can be taken for it.
@Suite(.timeLimit(.minutes(2))) struct ConnectionReuseTests {
    typealias Port = ConnectionServer.Port

    private let server: ConnectionServer

    init() throws { server = try ConnectionServer() }

    private static func downloader() throws -> ImageDownloader {
        let authority = try TestCertificates.shared.get().authority
        return ImageDownloader.forTests { $0.certificateAuthorities = .file(authority) }
    }

    private func connectionCount(_ port: Port) async throws -> Int {
        try await server.statistics().connections[port.rawValue] ?? 0
    }

    /// libcurl 7.88 reads and frees memory that it has freed, with a handle that is used again. This fails as a crash,
    /// and always under AddressSanitizer (`make test-asan`).
    @Test func aHeaderWithALeadingSpaceIsHarmlessAfterARedirect() async throws {
        let downloader = try Self.downloader()
        for number in 0..<20 {
            let url = try server.url(.plain, "/spaces/\(number)")
            switch try await downloader.error(url) {
            // Versions differ in whether such a line is an error.
            case nil, .transport: break
            case let error: Issue.record("\(String(describing: error))")
            }
        }
        #expect(try await downloader.body(server.url(.plain, "/bytes/after")) == ConnectionServer.body)
    }

    @Test(arguments: [Port.plain, .tls]) func bytesOnAnIdleConnectionAreNotAResponse(port: Port) async throws {
        let downloader = try Self.downloader()
        #expect(try await downloader.body(server.url(port, "/kept/1")) == ConnectionServer.body)
        #expect(try await server.push() == 1)
        #expect(try await downloader.body(server.url(port, "/bytes/2")) == ConnectionServer.body)
        #expect(try await connectionCount(port) == (port == .plain ? 4 : 2), "two of plain are for push and this")
    }

    @Test(arguments: [Port.plain, .tls]) func bytesAfterAResponseAreNotTheNextResponse(port: Port) async throws {
        let downloader = try Self.downloader()
        #expect(try await downloader.body(server.url(port, "/trailing/1")) == ConnectionServer.body)
        #expect(try await downloader.body(server.url(port, "/bytes/2")) == ConnectionServer.body)
    }

    @Test(arguments: [Port.plain, .tls]) func aClosedConnectionIsNotReused(port: Port) async throws {
        let downloader = try Self.downloader()
        #expect(try await downloader.body(server.url(port, "/close-kept/1")) == ConnectionServer.body)
        #expect(try await server.push() == 1)
        #expect(try await downloader.body(server.url(port, "/bytes/2")) == ConnectionServer.body)
    }

    @Test func aBodyIsSentOnceWhenTheFirstConnectionIsDiscarded() async throws {
        let downloader = try Self.downloader()
        try await downloader.record(server.url(.plain, "/kept/1")).recording.body()
        #expect(try await server.push() == 1)
        var request = LoaderRequest(url: try server.url(.plain, "/bytes/2"))
        (request.method, request.body) = (.post, Data("a".utf8))
        #expect(try await downloader.body(request) == ConnectionServer.body)
        // Two of them are for push and this.
        #expect(try await server.statistics().requests["plain"] == 4)
    }

    /// The tickets of TLS 1.3 and the control frames of HTTP/2 are no answers.
    @Test(arguments: [Port.plain, .tls, .http2]) func oneConnectionCarriesRequestsOneAfterAnother(port: Port)
        async throws
    {
        let downloader = try Self.downloader()
        var isReused: [Bool] = []
        for number in 0..<5 {
            let recording = downloader.record(try server.url(port, "/bytes/\(number)")).recording
            #expect(try await recording.body() == ConnectionServer.body)
            isReused.append(try #require(recording.metrics?.exchanges.first).isConnectionReused)
        }
        #expect(isReused == [false, true, true, true, true])
        #expect(try await connectionCount(port) == (port == .plain ? 2 : 1))
    }

    @Test(arguments: [false, true]) func newConnectionsResumeTheTLSSession(withCookies usesCookies: Bool) async throws {
        let downloader = try Self.downloader()
        var answers: [String] = []
        for number in 0..<4 {
            var request = LoaderRequest(url: try server.url(.tls, "/session/\(number)"))
            request.handlesCookies = usesCookies
            answers.append(String(decoding: try await downloader.body(request), as: UTF8.self))
        }
        #expect(answers == ["new", "resumed", "resumed", "resumed"])
        #expect(try await connectionCount(.tls) == 4)
    }
}

/// Where the end of a body is, when no length says so.
@Suite(.timeLimit(.minutes(2))) struct BodyEndTests {
    private let server: ConnectionServer
    private let downloader: ImageDownloader

    init() throws {
        server = try ConnectionServer()
        let authority = try TestCertificates.shared.get().authority
        downloader = ImageDownloader.forTests { $0.certificateAuthorities = .file(authority) }
    }

    private func request(_ port: ConnectionServer.Port, _ path: String = "/a") throws -> LoaderRequest {
        var request = LoaderRequest(url: try server.url(port, path))
        request.acceptsAnyAnswer = true
        return request
    }

    @Test func aTLSConnectionMustEndWithCloseNotify() async throws {
        for acceptsAnyAnswer in [false, true] {
            var request = try request(.tls, "/unclosed/\(acceptsAnyAnswer)")
            request.acceptsAnyAnswer = acceptsAnyAnswer
            guard case .invalidResponse(.truncated(nil, 10), _) = try await downloader.error(request) else {
                Issue.record("a body that may be cut counts as whole")
                continue
            }
        }
        #expect(try await downloader.body(request(.tls, "/closed/1")) == ConnectionServer.body)
        #expect(try await downloader.body(request(.plain, "/unclosed/2")) == ConnectionServer.body)
    }

    @Test func aResetWithoutAnErrorDoesNotEndTheBody() async throws {
        let error = try await downloader.error(request(.http2Reset))
        guard case .invalidResponse(.truncated(nil, 5), _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    /// Only the status line says HTTP/2: asked for over HTTP/1.1, the answer is the same.
    @Test func anHTTP2StatusLineOnAnHTTP1ConnectionIsNotRetriedEndlessly() async throws {
        switch try await downloader.error(request(.tls, "/framed/1")) {
        // Versions of libcurl differ in whether they take it.
        case .invalidResponse(.truncated(nil, 0), _), .transport: break
        case let error: Issue.record("\(String(describing: error))")
        }
        let requestCount = try await server.statistics().requests["tls"] ?? 0
        #expect(requestCount <= 2)
    }

    @Test func anErrorWithoutALengthOrABodyIsAResponse() async throws {
        var request = try request(.http2Digest)
        request.credential = Credential(username: "user", password: "wrong")
        let recording = downloader.record(request).recording
        #expect(try await recording.body().isEmpty)
        #expect(recording.response?.statusCode == 401 && recording.isInOrder)
    }

    @Test func bytesOnAClosedStreamAreNotAResponse() async throws {
        #expect(try await downloader.error(request(.http2Stray)) != nil)
    }

    @Test func aCompleteBodyWithoutALengthIsAccepted() async throws {
        for number in 0..<3 {
            #expect(try await downloader.body(request(.http2, "/\(number)")) == ConnectionServer.body)
        }
        // The first over both; the origin is known then.
        #expect(try await server.statistics().requests["h2"] == 4)
    }

    @Test func contentCodingsWorkOverHTTP2() async throws {
        let recording = downloader.record(try server.url(.http2, "/a")).recording
        #expect(try await recording.body() == ConnectionServer.body)
        #expect(recording.metrics?.exchanges.first?.httpVersion == .http2)
    }
}

@Suite(.timeLimit(.minutes(3))) struct HTTPVersionTests {
    private static let server = Result {
        let server = try NGINXServer(certificates: [.valid])
        for number in 0..<30 { try server.write(FaultServer.pattern(5000), to: "\(number).png") }
        return server
    }

    private static func downloader(_ version: Int) throws -> ImageDownloader {
        let authority = try TestCertificates.shared.get().authority
        return ImageDownloader.forTests { configuration in
            configuration.certificateAuthorities = .file(authority)
            configuration.maximumHTTPVersion = version
        }
    }

    private static func loadAll(_ version: Int) async throws -> [NGINXServer.Entry] {
        let server = try Self.server.get()
        try await server.clearAccessLog()
        let downloader = try downloader(version)
        let loads = try (0..<30).map { downloader.record(try server.secureURL("/\($0).png")).recording }
        for load in loads { #expect(try await load.body() == FaultServer.pattern(5000)) }
        return try await server.accessLog()
    }

    @Test func http2CarriesAllRequestsOnOneConnection() async throws {
        let log = try await Self.loadAll(2)
        #expect(log.count == 30 && Set(log.map(\.httpVersion)) == ["HTTP/2.0"])
        #expect(Set(log.map(\.connection)).count == 1)
    }

    @Test func http1CanBeRequested() async throws {
        let log = try await Self.loadAll(1)
        #expect(log.count == 30 && Set(log.map(\.httpVersion)) == ["HTTP/1.1"])
        // One is enough for a caller that is slower than the server.
        #expect(1...6 ~= Set(log.map(\.connection)).count)
    }

    @Test func http3IsOfferedOnlyIfLibcurlSupportsIt() async throws {
        let url = try Self.server.get().secureURL("/0.png")
        let downloader = try Self.downloader(3)
        if CurlVersion.hasHTTP3 {
            // nginx has none here, and the answer comes another way.
            #expect(try await downloader.body(url) == FaultServer.pattern(5000))
        } else {
            guard case .transport(4, let message, url) = try await downloader.error(url) else {
                Issue.record("loaded without HTTP/3")
                return
            }
            #expect(message.contains("HTTP/3"))
        }
    }

    @Test func reportsMissingFeaturesOfTheInstalledLibcurl() {
        #expect(CurlVersion.shortcoming(for: .http2) == nil)
        #expect(CurlVersion.shortcoming(for: .http2, hexadecimalNumber: 0x07_5700, hasHTTP3: false) == nil)
        #expect(
            CurlVersion.shortcoming(for: .http2, hexadecimalNumber: 0x07_5600)
                == "libcurl 7.87 or later is needed, and \(CurlVersion.number) is installed")
        #expect(
            CurlVersion.shortcoming(for: .http3, hasHTTP3: false)
                == "The installed libcurl \(CurlVersion.number) was built without HTTP/3")
    }
}

@Suite(.timeLimit(.minutes(3))) struct TransferHeadParserTests {
    private var parser = TransferHeadParser()

    private mutating func append(_ line: String) -> TransferHeadParser.Outcome {
        Array(line.utf8).withUnsafeBytes { parser.append($0) }
    }

    @Test mutating func readsStatusAndFields() {
        #expect(append("HTTP/1.1 200 OK\r\n") == .incomplete)
        #expect(append("Content-Type: image/png \r\n") == .incomplete)
        #expect(append("X-Empty:\r\n") == .incomplete)
        #expect(append("X-Colon: a:b\r\n") == .incomplete)
        #expect(append("\r\n") == .complete)
        #expect(parser.head.statusCode == 200)
        #expect(
            parser.head.fields == [
                HTTPHeader(name: "Content-Type", value: "image/png"), HTTPHeader(name: "X-Empty", value: ""),
                HTTPHeader(name: "X-Colon", value: "a:b"),
            ])
    }

    @Test mutating func forgetsAnInterimAnswer() {
        for line in ["HTTP/1.1 103 Early Hints\r\n", "Link: </a>\r\n", "\r\n"] { #expect(append(line) == .incomplete) }
        #expect(append("HTTP/2 404\r\n") == .incomplete)
        #expect(append("\r\n") == .complete)
        #expect(parser.head.statusCode == 404)
        #expect(parser.head.fields.isEmpty)
    }

    @Test mutating func refusesMoreThanTwentyInformationalAnswers() {
        for _ in 0..<20 {
            #expect(append("HTTP/1.1 103 Early Hints\r\n") == .incomplete)
            #expect(parser.isInformational)
            #expect(append("\r\n") == .incomplete)
            #expect(parser.isInformational)
        }
        var last = parser
        #expect(Array("HTTP/1.1 100 Continue\r\n".utf8).withUnsafeBytes { last.append($0) } == .tooManyInformational)
        #expect(append("HTTP/1.1 200 OK\r\n") == .incomplete)
        #expect(!parser.isInformational)
        #expect(append("\r\n") == .complete)
    }

    @Test mutating func ignoresTrailers() {
        for line in ["HTTP/1.1 200 OK\r\n", "\r\n"] { _ = append(line) }
        #expect(append("X-Trailer: 1\r\n") == .incomplete)
        #expect(append("\r\n") == .incomplete)
        #expect(parser.head.fields.isEmpty)
    }

    @Test mutating func refusesTrailersThatNeverEnd() {
        for line in ["HTTP/1.1 200 OK\r\n", "\r\n"] { _ = append(line) }
        let line = "X-Trailer: " + String(repeating: "a", count: 10_000) + "\r\n"
        let outcomes = (0..<30).map { _ in append(line) }
        #expect(outcomes.first == .incomplete)
        #expect(outcomes.last == .tooLong)
    }

    @Test mutating func refusesAHeadThatNeverEnds() {
        _ = append("HTTP/1.1 200 OK\r\n")
        let line = "X-Long: " + String(repeating: "a", count: 10_000) + "\r\n"
        let outcomes = (0..<30).map { _ in append(line) }
        #expect(outcomes.first == .incomplete)
        #expect(outcomes.last == .tooLong)
    }

    @Test(
        arguments: [
            ([("Content-Length", "12")], 12), ([("content-length", "0")], 0), ([("Content-Length", "-1")], nil),
            ([("Content-Length", "9223372036854775808")], nil), ([], nil),
            ([("Content-Length", "12"), ("Transfer-Encoding", "chunked")], nil),
        ] as [([(String, String)], Int64?)])
    func knowsTheLengthOfTheBody(fields: [(String, String)], expected: Int64?) {
        let head = TransferHead(statusCode: 200, fields: fields.map { HTTPHeader(name: $0, value: $1) })
        #expect(head.contentLength == expected)
    }
}
