import FoundationEssentials
import Testing
import WebImageCore

@testable import WebImageLoading

/// Judgements that hardly any server provokes.
@Suite(.timeLimit(.minutes(3))) struct DownloadStateTests {
    private static func state(
        _ length: Int, coding: String?, method: LoaderRequest.Method = .get
    ) throws -> DownloadState {
        var request = LoaderRequest(
            url: try #require(URL(string: "http://h/a")), headers: ["Accept-Encoding": "gzip"])
        request.method = method
        let state = try DownloadState(request, environment: DownloadEnvironment(.init()))
        var fields = [HTTPHeader(name: "Content-Length", value: "\(length)")]
        if let coding { fields.append(HTTPHeader(name: "Content-Encoding", value: coding)) }
        #expect(state.receive(TransferHead(statusCode: 200, fields: fields)).disposition == .proceed)
        return state
    }

    private static func error(_ conclusion: DownloadState.Conclusion) -> WebImageError? {
        guard case .finished(.failure(let error)) = conclusion else { return nil }
        return error
    }

    @Test func checksTheTransferredLengthOfACodedBody() throws {
        let state = try Self.state(100, coding: "gzip")
        #expect(state.receive(Data(count: 5000)) == (true, .proceed))
        #expect(Self.error(state.conclude(.complete, wireByteCount: 100)) == nil)
        let error = Self.error(state.conclude(.complete, wireByteCount: 99))
        #expect(error == .invalidResponse(reason: .truncated(expected: 100, received: 99), url: state.hop.url))
    }

    @Test func checksTheReceivedLengthOfAnUncodedBody() throws {
        let state = try Self.state(100, coding: nil)
        #expect(state.receive(Data(count: 99)) == (true, .proceed))
        let error = Self.error(state.conclude(.complete, wireByteCount: 100))
        #expect(error == .invalidResponse(reason: .truncated(expected: 100, received: 99), url: state.hop.url))
    }

    @Test func aCodedBodyWithoutContentIsEmpty() throws {
        let state = try Self.state(20, coding: "gzip")
        #expect(
            Self.error(state.conclude(.complete, wireByteCount: 20))
                == .invalidResponse(reason: .emptyBody, url: state.hop.url))
    }

    @Test func refusesATransferCodingWithAnyStatus() throws {
        let state = try Self.state(for: LoaderRequest(url: try #require(URL(string: "http://h/a"))))
        let field = HTTPHeader(name: "Transfer-Encoding", value: "GZIP,chunked")
        for status in [200, 302, 401, 404] {
            let head = TransferHead(statusCode: status, fields: [field, HTTPHeader(name: "Location", value: "/")])
            let isRefused = state.refusesTransferCoding(of: head)
            #expect(isRefused)
            let expected = WebImageError.invalidResponse(reason: .contentCoding("gzip"), url: state.hop.url)
            let error = Self.error(state.conclude(.stopped))
            #expect(error == expected)
        }
        let chunked = HTTPHeader(name: "Transfer-Encoding", value: "identity, Chunked")
        let isRefused = state.refusesTransferCoding(of: TransferHead(statusCode: 200, fields: [chunked]))
        #expect(!isRefused)
    }

    @Test(arguments: [nil, "bytes=0-9"]) func partialContentIsAcceptedIfARangeWasRequested(range: String?) throws {
        let headers = range.map { ["Range": $0] } ?? [:]
        let state = try Self.state(for: LoaderRequest(url: try #require(URL(string: "http://h/a")), headers: headers))
        let response = state.receive(TransferHead(statusCode: 206)).response
        #expect((response != nil) == (range != nil))
        #expect(state.acceptsBody == (range != nil))
        _ = state.receive(Data(count: 10))
        let error = Self.error(state.conclude(.complete))
        #expect(error == (range == nil ? .httpStatus(code: 206, url: state.hop.url) : nil))
    }

    /// Through a tunnel or SOCKS it is the server that answers.
    @Test(arguments: [
        ("http", "http://p.test", true), ("http", "https://p.test", true), ("https", "http://p.test", false),
        ("https", "https://p.test", false), ("http", "socks5h://p.test", false), ("https", "socks5h://p.test", false),
    ])
    func a407IsTheProxysWhereItAnswers(scheme: String, proxy: String, isProxys: Bool) throws {
        var configuration = ImageDownloader.Configuration()
        let credential = Credential(username: "u", password: "p")
        let server = try ProxyServer(try #require(URL(string: proxy)), credential: credential)
        configuration.proxy = .init(route: .server(server, bypassing: []))
        configuration.authenticationHandler = { _ in nil }
        var request = LoaderRequest(url: try #require(URL(string: "\(scheme)://h.test/a")))
        request.usesCredentialStorage = true
        let environment = DownloadEnvironment(configuration)
        let origin = HTTPOrigin(server.url)
        if let origin {
            environment.credentials.insert(credential, for: origin, realm: "r", scheme: .basic, path: "/")
        }
        let state = try Self.state(for: request, environment)
        let field = HTTPHeader(name: "Proxy-Authenticate", value: "Basic realm=\"r\"")
        let head = TransferHead(statusCode: 407, fields: [field])
        let isAnswered = state.answersRefusal(head)
        #expect(isAnswered == isProxys)
        if isProxys {
            guard case .challenged(let challenge, _) = state.conclude(.complete) else {
                Issue.record("the handler is not called")
                return
            }
            #expect(challenge.isProxy)
        } else {
            _ = state.receive(head)
            let error = Self.error(state.conclude(.complete))
            #expect(error == .httpStatus(code: 407, url: state.hop.url))
        }
        #expect(environment.credentials.count == (isProxys || origin == nil ? 0 : 1))
    }

    @Test(arguments: [false, true]) func uncheckedServersShareNoSecrets(isInsecure: Bool) throws {
        let environment = DownloadEnvironment(.init())
        var request = LoaderRequest(url: try #require(URL(string: "https://h.test/a")))
        let origin = try #require(HTTPOrigin(request.url))
        let stored = Credential(username: "u", password: "p")
        environment.credentials.insert(stored, for: origin, realm: "r", scheme: .basic, path: "/a")
        environment.credentials.noteBasic(true, for: origin)
        request.usesCredentialStorage = true
        request.handlesCookies = true
        request.allowsInvalidCertificates = isInsecure
        var state = try Self.state(for: request, environment)
        #expect(state.hop.access.credential == (isInsecure ? nil : stored))
        #expect(state.hop.access.authentication == (isInsecure ? .negotiated : .basic))
        #expect(state.hop.access.usesCookies == !isInsecure)

        // What it learns, it keeps to itself.
        let challenge = HTTPHeader(name: "WWW-Authenticate", value: "Basic realm=\"r\"")
        _ = state.answersRefusal(TransferHead(statusCode: 401, fields: [challenge]))
        #expect(environment.credentials.count == (isInsecure ? 1 : 0))
        request.credential = Credential(username: "other", password: "p")
        state = try Self.state(for: request, environment)
        var accepted = TransferHead(statusCode: 200)
        accepted.answeredFields = [challenge]
        _ = state.answersRefusal(accepted)
        #expect(
            environment.credentials.credential(for: origin, realm: "r") == (isInsecure ? stored : request.credential))
    }

    private static func state(
        for request: LoaderRequest, _ environment: DownloadEnvironment = DownloadEnvironment(.init())
    ) throws -> DownloadState {
        try DownloadState(request, environment: environment)
    }

    @Test(arguments: [(204, false), (304, true)]) func aLengthThatDoesNotDescribeTheBodyIsNotChecked(
        status: Int, isConditional: Bool
    )
        throws
    {
        let headers = isConditional ? ["If-None-Match": "*"] : [:]
        var request = LoaderRequest(url: try #require(URL(string: "http://h/a")), headers: headers)
        request.acceptsAnyAnswer = !isConditional
        let state = try Self.state(for: request)
        let field = HTTPHeader(name: "Content-Length", value: "5000")
        #expect(state.receive(TransferHead(statusCode: status, fields: [field])).response?.statusCode == status)
        #expect(Self.error(state.conclude(.complete, wireByteCount: 0)) == nil)
    }

    @Test func aHeadResponseNeedsNoBody() throws {
        let state = try Self.state(100, coding: nil, method: .head)
        #expect(Self.error(state.conclude(.complete, wireByteCount: 0)) == nil)
    }
}
