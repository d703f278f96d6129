import Foundation
import Testing
import WebImageService
import WebImageTestSupport

@testable import WebImageServer

/// What HTTP/1.1 allows in the head of a request (RFC 9112), and what it forbids. A proxy in front may read a forbidden head differently.
@Suite(.timeLimit(.minutes(1)))
struct RequestHeadTests {
    private func fixture() throws -> ServerFixture {
        try ServerFixture { _ in
        } answer: { exchange in
            let fields = exchange.request.headers.map { "\($0.name)=\($0.value)" }
            return ServiceAnswer(
                status: 200, headers: [],
                body: Data("<\(exchange.request.target) \(fields.joined(separator: ","))>".utf8))
        }
    }

    /// Heads by what is wrong with them.
    private static let forbidden: [String: String] = [
        "space before a colon": "GET / HTTP/1.1\r\nHost: a\r\nContent-Length : 70\r\n\r\n",
        "tab before a colon": "GET / HTTP/1.1\r\nHost: a\r\nContent-Length\t: 70\r\n\r\n",
        "space in a name": "GET / HTTP/1.1\r\nHost: a\r\nContent Length: 70\r\n\r\n",
        "no name": "GET / HTTP/1.1\r\nHost: a\r\n: 70\r\n\r\n",
        "no colon": "GET / HTTP/1.1\r\nHost: a\r\nContent-Length\r\n\r\n",
        "folded line": "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
        "folded line in a length": "GET / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n 70\r\n\r\n",
        "folded line in an encoding": "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n x\r\n\r\n",
        "folded line at the beginning": "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\tx\r\nHost: a\r\n\r\n",
        "folded line that is empty": "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n \r\n\r\n",
        "folded host": "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
        "space before the first name": "GET / HTTP/1.1\r\n Host: a\r\nHost: b\r\n\r\n",
        "space before a name": "GET / HTTP/1.1\r\nHost: a\r\n Content-Length: 70\r\n\r\n",
        "NUL in a value": "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n",
        "NUL at the end of a value": "GET / HTTP/1.1\r\nHost: a\r\nX: a\0\r\n\r\n",
        "NUL in a name": "GET / HTTP/1.1\r\nHost: a\r\nContent-Length\0: 70\r\n\r\n",
        "NUL before a name": "GET / HTTP/1.1\r\nHost: a\r\n\0Content-Length: 70\r\n\r\n",
        "NUL in a length": "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\0 70\r\n\r\n",
        "NUL in the target": "GET /\0/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "NUL in the host": "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n",
        "CR in a value": "GET / HTTP/1.1\r\nHost: a\r\nX: a\rContent-Length: 70\r\n\r\n",
        "CR at the end of a value": "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\r\n\r\n",
        "CR in a name": "GET / HTTP/1.1\r\nHost: a\r\nX\rY: a\r\n\r\n",
        "CR in the target": "GET /\r/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "a control character in a value": "GET / HTTP/1.1\r\nHost: a\r\nX: a\u{1b}b\r\n\r\n",
        "no host": "GET / HTTP/1.1\r\nX: a\r\n\r\n",
        "two hosts": "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "two hosts of HTTP/1.0": "GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n",
        "a list of hosts": "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        "a host with a path": "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
        "a host with a user": "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n",
        "two spaces before the target": "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "a space in the target": "GET / a HTTP/1.1\r\nHost: a\r\n\r\n",
        "a method that is no name": "G\u{1b}T / HTTP/1.1\r\nHost: a\r\n\r\n",
        "no method": " / HTTP/1.1\r\nHost: a\r\n\r\n",
    ]

    /// The connection ends with the refusal, so what is behind it is no request.
    @Test(arguments: forbidden.keys.sorted())
    func aForbiddenHeadEndsTheConnection(problem: String) async throws {
        let head = try #require(Self.forbidden[problem])
        let fixture = try fixture()
        let client = try RawClient(fixture.place)
        client.send(head + "GET /second HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 70))\r\n\r\n")
        let text = await client.read()
        #expect(text.isEmpty || text.hasPrefix("HTTP/1.1 400 "), "\(text)")
        // libmicrohttpd closes the first at once, and from 1.0 on the second.
        #expect(!text.isEmpty || ["no method", "NUL in the target"].contains(problem), "\(text)")
        #expect(text.components(separatedBy: "\r\nContent-Length: ").count <= 2 && !text.contains("/second"), "\(text)")
        try await fixture.stop()
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "</ Host=a>"), ("GET / HTTP/1.0\r\n\r\n", "</ >"),
        ("GET / HTTP/1.1\r\nHost:\r\n\r\n", "</ Host=>"),
        ("GET / HTTP/1.1\r\nHost:[::1]:80\r\nX: \t a,b;c=\"d\" \r\n\r\n", "</ Host=[::1]:80,X=a,b;c=\"d\""),
        ("GET / HTTP/1.1\r\nHost: a.example:8080\r\nX: a\tb\r\nY:\r\nZ: ä\r\n\r\n", "X=a\tb,Y=,Z=ä>"),
        ("\r\nGET /a?b=c&d=e%20f+g?h&i HTTP/1.1\r\nHost: a\r\n\r\n", "</a?b=c&d=e%20f+g?h&i Host=a>"),
        ("GET /ä HTTP/1.1\r\nhOST: a\r\nCookie: a=b; c=\"d\"\r\n\r\n", "</ä hOST=a,Cookie=a=b; c=\"d\">"),
        ("GET http://a/b HTTP/1.1\r\nHost: a\r\n\r\n", "<http://a/b Host=a>"),
    ])
    func anAllowedHeadIsAnswered(head: String, answer: String) async throws {
        let fixture = try fixture()
        let client = try RawClient(fixture.place)
        client.send(head)
        let text = await client.read { $0.contains(">") }
        #expect(text.hasPrefix("HTTP/1.1 200 ") && text.contains(answer), "\(text)")
        try await fixture.stop()
    }

    /// A head that arrives in pieces, and one behind another, is where the check expects it.
    @Test func longHeadsAndSeveralAtOnceAreAnswered() async throws {
        let fixture = try fixture()
        let client = try RawClient(fixture.place)
        func head(_ number: Int, fieldCount: Int) -> String {
            "GET /\(number) HTTP/1.1\r\nHost: a\r\n"
                + (0..<fieldCount).map { "X-\($0): \(String(repeating: "y", count: 100))\r\n" }.joined() + "\r\n"
        }
        for (number, fieldCount) in [0, 1, 150, 2, 170, 0].enumerated() {
            let bytes = Array(head(number, fieldCount: fieldCount).utf8)
            for start in stride(from: 0, to: bytes.count, by: 997) {
                client.send(String(decoding: bytes[start..<min(start + 997, bytes.count)], as: UTF8.self))
            }
            let text = await client.read { $0.hasSuffix(">") }
            #expect(text.contains("</\(number) "), "\(text.prefix(200))")
        }
        client.send((10..<20).map { head($0, fieldCount: $0 % 3) }.joined())
        let text = await client.read { $0.components(separatedBy: "HTTP/1.1 200 ").count == 11 && $0.hasSuffix(">") }
        #expect(text.components(separatedBy: "HTTP/1.1 200 ").count == 11)
        try await fixture.stop()
    }

    /// A method may be any text, which must not look like another line or act on a terminal.
    @Test func theLogHasNoControlCharacters() async throws {
        let server = try ServerProcess(["--unsigned", "--bind=127.0.0.1:0"])
        for method in ["\u{1b}[31mGET", "G\"T", "G\u{9b}T", "G\u{202e}T"] {
            let client = try await RawClient(server.place)
            client.send("\(method) /a HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(await client.status() == 400)
        }
        let log = try await server.stop().output
        for method in ["\\u{1b}[31mGET", "G\\\"T", "G\\u{9b}T", "G\\u{202e}T"] {
            #expect(log.contains(" \(method) \"/a\" 400 "), "\(log)")
        }
        #expect(!log.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || $0.value == 0x9B })
    }
}
