import Foundation
import Testing
import WebImage
import WebImageCore
import WebImageService

@testable import WebImageServer

/// What the server answers without its service.
@Suite(.timeLimit(.minutes(1)))
struct PagesTests {
    private func status(_ target: String, secret: String, _ fields: [String] = []) throws -> Int? {
        var configuration = ImageService.Configuration()
        configuration.images.isolation = .libraryFormats
        let pages = ServerPages(
            service: try ImageService(configuration), metrics: ServerMetrics(), bearer: BearerCheck(secret: secret)
        ) { false }
        let headers = fields.map { HTTPHeader(name: "authorization", value: $0) }
        return pages.answer(to: ServiceRequest(target: target, headers: headers))?.status
    }

    private static let image = "/_/w:1/plain/http://a.example/b"

    @Test(arguments: [
        [], [""], ["Bearer"], ["Bearer "], ["Bearer wrong"], ["Bearer SECRET"], ["Bearer secret "], ["secret"],
        ["Basic secret"], ["Bearer secret", "Bearer secret"], ["Bearer secretsecret"], ["Bearer secre"],
        ["Bearer  secret"],
    ])
    func requestsWithoutTheSecretAreRefused(fields: [String]) throws {
        for target in [
            Self.image, "/metrics", "/status", "/info/_/plain/http://a.example/b", "/healthy", "/", "//health",
        ] {
            #expect(try status(target, secret: "secret", fields) == 403, "\(target)")
        }
        // These pages contain nothing secret, and probes have no secret.
        for target in ["/health", "/ready", "/health?x"] {
            #expect(try status(target, secret: "secret", fields) == 200, "\(target)")
        }
    }

    @Test func requestsWithTheSecretAreAnswered() throws {
        for field in ["Bearer secret", "bearer secret"] {
            #expect(try status(Self.image, secret: "secret", [field]) == nil)
            #expect(try status("/metrics", secret: "secret", [field]) == 200)
        }
        #expect(try status(Self.image, secret: "open sesame", ["Bearer open sesame"]) == nil)
        // Without a secret, everyone may.
        #expect(try status(Self.image, secret: "") == nil)
        #expect(try status("/metrics", secret: "") == 200)
    }

    @Test func theStatusNamesTheLayersThatHold() throws {
        let pages = ServerPages(
            service: try ImageService(ImageService.Configuration()), metrics: ServerMetrics(),
            bearer: BearerCheck(secret: "")
        ) { false }
        let answer = try #require(pages.answer(to: ServiceRequest(target: "/status", headers: [])))
        let text = String(decoding: try #require(answer.body.data), as: UTF8.self)
        let lines = text.split(separator: "\n")
        #expect(lines[0] == "webimage-server \(LibraryVersion.text)" && lines[1].hasPrefix("isolation: /"))
        #expect(lines.count == 2 + SandboxLayer.allCases.count && lines.contains("  system call filter"))
    }
}
