import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

@Suite struct RedirectPolicyTests {
    @Test func aClosureSeesEachRedirect() async throws {
        let faults = try SharedServers.faults.get()
        let seen = Lock<[(response: LoaderResponse, target: URL)]>([])
        let downloader = ImageDownloader.forTests { configuration in
            configuration.hooks.redirectHandler = { response, target in
                seen.withLock { $0.append((response, target)) }
                return target
            }
        }
        let url = try faults.url("/redirect-chain/seen?left=2")
        #expect(try await downloader.body(url) == FaultServer.pattern(10))
        let urls = try [2, 1, 0].map { try faults.url("/redirect-chain/seen?left=\($0)") }
        let redirects = seen.withLock { $0 }
        #expect(redirects.map(\.response.url) == [urls[0], urls[1]])
        #expect(redirects.map(\.target) == [urls[1], urls[2]])
        #expect(redirects.map(\.response.statusCode) == [302, 302])
        #expect(redirects.map(\.response.redirects.count) == [0, 1])
    }

    @Test func aClosureMayDeny() async throws {
        let faults = try SharedServers.faults.get()
        let downloader = ImageDownloader.forTests { $0.hooks.redirectHandler = { _, _ in nil } }
        let url = try faults.url("/redirect/denied?to=/bytes/denied")
        let target = try faults.url("/bytes/denied")
        #expect(try await downloader.error(url) == .redirectDenied(from: url, to: target, reason: .denied))
        #expect(try await faults.statistics().requests["/bytes/denied"] == nil)
    }

    @Test func aClosureMayRewrite() async throws {
        let faults = try SharedServers.faults.get()
        let target = try faults.otherOriginURL("/echo/rewritten")
        let downloader = ImageDownloader.forTests { $0.hooks.redirectHandler = { _, _ in target } }
        let request = LoaderRequest(url: try faults.url("/redirect/rewritten?to=/none"), headers: ["Cookie": "a=b"])
        let recording = downloader.record(request).recording
        let echo = try JSONDecoder().decode([String: String].self, from: try await recording.body())
        #expect(recording.response?.url == target)
        #expect(echo["cookie"] == nil)
    }

    @Test func aRewrittenTargetIsJudgedToo() async throws {
        let url = try SharedServers.faults.get().url("/redirect/rewritten-away?to=/none")
        let file = try #require(URL(string: "file:///etc/passwd"))
        let downloader = ImageDownloader.forTests { $0.hooks.redirectHandler = { _, _ in file } }
        #expect(try await downloader.error(url) == .unsupportedScheme("file", url: file))
    }

    @Test func encryptionIsNotGivenUp() async throws {
        let faults = try SharedServers.faults.get()
        let target = try faults.url("/bytes/downgraded")
        let server = try NGINXServer(
            certificates: [.valid], locations: "location /down { return 302 \(target); }")
        let authority = try TestCertificates.shared.get().authority
        let url = try server.secureURL("/down")
        let strict = ImageDownloader.forTests { $0.certificateAuthorities = .file(authority) }
        #expect(try await strict.error(url) == .redirectDenied(from: url, to: target, reason: .downgrade))
        #expect(try await faults.statistics().requests["/bytes/downgraded"] == nil)
        // Not by a rewrite either.
        let rewriting = ImageDownloader.forTests { configuration in
            configuration.certificateAuthorities = .file(authority)
            configuration.hooks.redirectHandler = { _, _ in target }
        }
        #expect(try await rewriting.error(url) == .redirectDenied(from: url, to: target, reason: .downgrade))

        let lax = ImageDownloader.forTests { configuration in
            configuration.certificateAuthorities = .file(authority)
            configuration.allowsInsecureRedirects = true
        }
        #expect(try await lax.body(url) == FaultServer.pattern(1000))
    }
}
