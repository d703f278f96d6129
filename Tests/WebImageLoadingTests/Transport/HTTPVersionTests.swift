import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

@Suite struct HTTPVersionTests {
    private static let server = Result {
        let server = try NGINXServer(certificates: [.valid])
        for number in 0..<30 { try server.write(FaultServer.pattern(5000), to: "\(number).png") }
        return server
    }

    private static func downloader(_ versions: LoaderMetrics.HTTPVersion) throws -> ImageDownloader {
        let authority = try TestCertificates.shared.get().authority
        return ImageDownloader.forTests { configuration in
            configuration.certificateAuthorities = .file(authority)
            configuration.maximumHTTPVersion = versions
        }
    }

    private static func loadAll(_ versions: LoaderMetrics.HTTPVersion) async throws -> [NGINXServer.Entry] {
        let server = try Self.server.get()
        try await server.clearAccessLog()
        let downloader = try downloader(versions)
        let loads = try (0..<30).map { downloader.record(try server.secureURL("/\($0).png")).recording }
        for load in loads { #expect(try await load.body() == FaultServer.pattern(5000)) }
        return try await server.accessLog()
    }

    @Test func http2CarriesAllRequestsOnOneConnection() async throws {
        let log = try await Self.loadAll(.http2)
        #expect(log.count == 30 && Set(log.map(\.httpVersion)) == ["HTTP/2.0"])
        #expect(Set(log.map(\.connection)).count == 1)
    }

    @Test func http1CanBeAskedFor() async throws {
        let log = try await Self.loadAll(.http1_1)
        #expect(log.count == 30 && Set(log.map(\.httpVersion)) == ["HTTP/1.1"])
        #expect(2...6 ~= Set(log.map(\.connection)).count)
    }

    @Test func http3IsOfferedOnlyWhereLibcurlHasIt() async throws {
        let url = try Self.server.get().secureURL("/0.png")
        let downloader = try Self.downloader(.http3)
        if ImageDownloader.supportsHTTP3 {
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

    @Test func saysWhatTheInstalledLibcurlLacks() {
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
