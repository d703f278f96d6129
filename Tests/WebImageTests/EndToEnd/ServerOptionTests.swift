import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport

/// The options that only a server shows the effect of.
@Suite(.timeLimit(.minutes(1))) struct ServerOptionTests {
    private let manager = WebImageManager(
        configuration: WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil),
            loaders: [ImageDownloader(configuration: ImageDownloader.Configuration())]))

    @Test func sendsBackTheCookiesOfAServer() async throws {
        let server = try OriginServer()
        try await server.answer("/log-in", "Set-Cookie: session=7; Path=/", body: SolidPicture(1).png())
        try await server.answer("/a", body: SolidPicture(2).png())
        for (path, handlesCookies) in [("/log-in", true), ("/a", true), ("/a", false)] {
            _ = try await manager.image(
                for: WebImageRequest(server.url(path)).with { $0.handlesCookies = handlesCookies })
        }
        #expect(try await server.requests().map { $0.headers["cookie"] } == [nil, "session=7", nil])
    }

    @Test func reusesAStoredCredential() async throws {
        let server = try NGINXServer()
        for name in ["a.png", "b.png"] { try server.write(SolidPicture(1).png(), to: name) }
        let url = try server.url("/private/b.png")
        let first = WebImageRequest(
            try server.url("/private/a.png"), credential: Credential(username: "user", password: "secret")
        ).with { $0.usesCredentialStorage = true }
        _ = try await manager.image(for: first)
        _ = try await manager.image(for: WebImageRequest(url).with { $0.usesCredentialStorage = true })
        await #expect(throws: WebImageError.httpStatus(code: 401, url: url)) { try await manager.image(at: url) }
    }

    @Test func onlyRequestsThatAllowItAcceptInvalidCertificates() async throws {
        let server = try NGINXServer(certificates: [.wrongHost])
        try server.write(SolidPicture(1).png(), to: "a.png")
        let url = try server.secureURL("/a.png", certificate: .wrongHost)
        let response = try await manager.response(
            for: WebImageRequest(url).with { $0.allowsInvalidCertificates = true })
        #expect(response.origin == .remote)
        let error = await #expect(throws: WebImageError.self) { try await manager.image(at: url) }
        #expect(error?.code == 208, "it is not taken from memory either")
    }
}
