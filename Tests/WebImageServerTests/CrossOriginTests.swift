import Testing
import WebImageTestSupport

/// What browsers are told about scripts of other origins.
@Suite(.timeLimit(.minutes(1)))
struct CrossOriginTests {
    private func heads(_ arguments: [String], _ requests: [String]) async throws -> [String] {
        let server = try ServerProcess(["--unsigned", "--bind=127.0.0.1:0", "--log-requests=false"] + arguments)
        var heads: [String] = []
        for request in requests {
            let client = try await RawClient(server.place)
            client.send("\(request) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            heads.append(await client.read())
        }
        _ = try await server.stop()
        return heads
    }

    private static let requests = ["OPTIONS /_/w:1/plain/http://a/b", "GET /health", "GET /_/w:x/plain/a", "PUT /a"]

    @Test func answersNameTheAllowedOrigin() async throws {
        for origin in ["*", "https://app.example"] {
            let found = try await heads(["--allow-origin", origin], Self.requests)
            for (head, status) in zip(found, [204, 200, 400]) {
                #expect(head.hasPrefix("HTTP/1.1 \(status) "), "\(head)")
                #expect(head.contains("\r\nAccess-Control-Allow-Origin: \(origin)\r\n"), "\(head)")
                #expect(head.contains("\r\nAccess-Control-Allow-Methods: GET, HEAD, OPTIONS\r\n"), "\(head)")
            }
            #expect(found[3].hasPrefix("HTTP/1.1 405 "))
        }
    }

    @Test func scriptsMaySendImagesIfUploadsAreTaken() async throws {
        let directory = try TemporaryDirectory()
        let found = try await heads(
            ["--allow-origin=*", "--local-root", directory.path, "--upload-to=local:///uploads"], ["OPTIONS /upload"])
        #expect(found[0].contains("\r\nAccess-Control-Allow-Methods: GET, HEAD, POST, OPTIONS\r\n"), "\(found)")
        #expect(found[0].contains("\r\nAccess-Control-Allow-Headers: Authorization, Content-Type\r\n"), "\(found)")
    }

    @Test func withoutAnOriginNothingIsAllowed() async throws {
        for (head, status) in zip(try await heads([], Self.requests), [405, 200, 400, 405]) {
            #expect(head.hasPrefix("HTTP/1.1 \(status) ") && !head.contains("Access-Control"), "\(head)")
        }
    }
}
