import Foundation
import Testing
import WebImage
import WebImageTestSupport

@Suite(.timeLimit(.minutes(3))) struct TrustTests {
    private let tool: Tool
    private let server: NGINXServer
    private let imageData: Data
    private let authority: String

    init() throws {
        tool = try Tool()
        server = try NGINXServer(certificates: [.valid, .wrongHost])
        imageData = try TestImage().data(.png)
        try server.write(imageData, to: "a.png")
        authority = try TestCertificates.shared.get().authority
    }

    @Test func refusesAnUnknownAuthority() async throws {
        let url = try server.secureURL("/a.png").absoluteString
        let run = try await tool.run("get", "--json", url)
        #expect(run.status == 1)
        let error = try #require(try run.object(LoadObject.self).error)
        #expect(error.code == 208)
        #expect(error.message.contains("certificate"))
        let stats = try await tool.run("cache", "stats", "--json").object(StatsObject.self)
        #expect(stats.entries == 0)
    }

    @Test func trustsTheGivenAuthority() async throws {
        let url = try server.secureURL("/a.png").absoluteString
        let run = try await tool.run("get", "--cacert", authority, url, "-o", "copy.png")
        #expect(run.status == 0, "\(run.errors)")
        #expect(try tool.contents(of: "copy.png") == imageData)
        #expect(try await tool.run("info", "--cacert", authority, url).status == 0)

        let other = try server.secureURL("/a.png", certificate: .wrongHost).absoluteString
        #expect(try await tool.run("get", "--cacert", authority, other).status == 1, "it signs for other.example only")
        #expect(try await tool.run("get", "--cacert", tool.path("missing.pem"), url, "--policy", "reload").status == 1)
    }

    @Test func acceptsInvalidCertificatesOnlyIfRequestedAndCachesThoseImagesSeparately() async throws {
        let url = try server.secureURL("/a.png", certificate: .wrongHost).absoluteString
        let insecure = try await tool.run("get", "--json", "--insecure", url)
        #expect(try insecure.object(LoadObject.self).source == "network")
        #expect(try await tool.run("get", "--json", "--insecure", url).object(LoadObject.self).source == "disk")
        #expect(try await tool.run("get", "--json", url).object(LoadObject.self).error?.code == 208)
        #expect(try await tool.run("get", "--insecure", "--cacert", authority, url).status == 2)
    }

    @Test func sendsCredentialsToAServerThatRequestsThem() async throws {
        let url = try server.url("/private/a.png").absoluteString
        #expect(try await tool.run("get", "--json", url).object(LoadObject.self).error?.message.contains("401") == true)
        #expect(try await tool.run("get", "--user", "user:wrong", url).status == 1)
        let run = try await tool.run("get", "--user", "user:secret", url, "-o", "copy.png")
        #expect(run.status == 0, "\(run.errors)")
        #expect(try tool.contents(of: "copy.png") == imageData)
        #expect(try await tool.run("get", "--user", "user", url).status == 2, "there is no password")
        // Images of one user are not in another user's cache.
        #expect(try await tool.run("get", "--policy", "cacheOnly", url).status == 1)
        #expect(try await tool.run("get", "--user", "user:secret", "--policy", "cacheOnly", url).status == 0)
        let list = try await tool.run("cache", "list").output
        #expect(list.contains("/private/a.png") && !list.contains("secret"))
    }

    @Test(arguments: ["MD5", "SHA-256"]) func supportsDigestAuthentication(algorithm: String) async throws {
        let faults = try FaultServer()
        let url = try faults.url("/digest/a?algorithm=\(algorithm)").absoluteString
        // The response is not an image; only authenticated clients get the image.
        let error = try await tool.run("get", "--json", "--user", "user:secret", url).object(LoadObject.self).error
        #expect(error?.code == 300, "\(String(describing: error))")
        #expect(try await tool.run("get", "--json", url).object(LoadObject.self).error?.code == 200)
    }

    @Test func storesCookiesIfRequested() async throws {
        let server = try NGINXServer(
            locations: """
                location = /log-in.png { add_header Set-Cookie 'session=7; Path=/'; return 302 /inside.png; }
                location = /inside.png { if ($cookie_session != 7) { return 403; } alias "\(tool.path("a.png"))"; }
                """)
        _ = try tool.write(imageData, to: "a.png")
        let url = try server.url("/log-in.png").absoluteString
        #expect(try await tool.run("get", "--json", url).object(LoadObject.self).error?.message.contains("403") == true)
        let run = try await tool.run("get", "--cookies", url)
        #expect(run.status == 0, "\(run.errors)")
    }

    @Test func readsADataURL() async throws {
        let url = "data:image/png;base64," + imageData.base64EncodedString()
        let object = try await tool.run("get", "--json", url, "-o", "copy.png").object(LoadObject.self)
        #expect(object.source == "data")
        #expect([object.width, object.height] == [64, 48])
        #expect(try tool.contents(of: "copy.png") == imageData)
        let error = try await tool.run("get", "--json", "data:image/png;base64,&").object(LoadObject.self).error
        #expect(error?.code == 104)
        let stats = try await tool.run("cache", "stats", "--json").object(StatsObject.self)
        #expect(stats.entries == 0)
    }
}
