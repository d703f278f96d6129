import Foundation
import Testing
import WebImage
import WebImageTestSupport

@testable import WebImageService

/// Requests that no honest client sends are refused before anything is loaded.
@Suite(.timeLimit(.minutes(1)))
struct HostileTests {
    private func service(_ change: (inout ImageService.Configuration) -> Void = { _ in }) throws -> ImageService {
        var configuration = ImageService.Configuration()
        configuration.images.isolation = .libraryFormats
        configuration.images.cache = ImageCache(disk: nil)
        change(&configuration)
        return try ImageService(configuration)
    }

    private func status(_ target: String, _ service: ImageService) async -> Int {
        await service.answer(to: ServiceRequest(target: target)).status
    }

    /// Addresses of this machine and its networks, in all their forms, and what is no address of an image.
    @Test(arguments: [
        "http://127.0.0.1/", "http://localhost/", "http://0/", "http://0.0.0.0/", "http://127.1/", "http://2130706433/",
        "http://0x7f000001/", "http://0177.0.0.1/", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://[::]/",
        "http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://192.168.0.1/", "http://172.16.0.1/",
        "http://100.64.0.1/", "http://224.0.0.1/", "http://[fe80::1]/", "http://[fc00::1]/", "http://255.255.255.255/",
        "file:///etc/passwd", "FILE:///etc/passwd", "local:///etc/passwd", "s3://bucket/key", "ftp://127.0.0.1/",
        "gopher://127.0.0.1/",
        "data:image/png;base64,AAAA", "javascript:alert(1)", "dict://127.0.0.1:11211/", "//127.0.0.1/", "/etc/passwd",
        "a",
        "http://", "http:///a", "http://user:pass@example.org/", "http://example.org@127.0.0.1/", "http://a/../../b",
        "http://a/%2e%2e/b",
        "unix:/run/docker.sock",
    ])
    func nothingInsideCanBeLoaded(source: String) async throws {
        let service = try service()
        let escaped = source.utf8.map { String(format: "%%%02X", $0) }.joined()
        for text in ["plain/\(escaped)", Base64.urlText(of: source.utf8)] {
            let status = await status("/_/w:10/" + text, service)
            #expect((400...403).contains(status), "\(text): \(status)")
        }
        #expect(service.counters.made == 0)
    }

    @Test(arguments: [
        "", "/", "//", "/_", "/_/", "/_/w:1", "/_/w:1/", "/_//", "/../../etc/passwd", "/_/plain/", "/_/w:1/plain", "*",
        "http://a/",
        "/_/w:99999999999999999999999/plain/http://a.example/b", "/_/w:-1/plain/http://a.example/b",
        "/_/w:1/h:NaN/plain/http://a.example/b",
        "/_/rs:fill:65535:65535:1:x/plain/http://a.example/b", "/_/w:1/plain/%", "/_/w:1/plain/%zz", "/_/w:1/plain/%00",
        "/_/\u{202E}:1/plain/http://a.example/b", "/_/w:１/plain/http://a.example/b",
        "/_/w:1/plain/http://a.example/b@@", "/_/w:1/plain/http://a.example/b@exe",
        "/_/w:1/ ", "/_/w:1\r\nX: y/plain/http://a.example/b", "/_/w:1\0/plain/http://a.example/b",
        "/_/pr:x/plain/http://a.example/b",
        "/_/exp:1/plain/http://a.example/b", "/info/_/plain/", "/info/_/w:1/plain/http://a.example/b", "/_/w:1/AAAA",
        "/_/w:1/====",
    ])
    func invalidTargetsAreRefused(target: String) async throws {
        let status = await status(target, try service())
        #expect((400...414).contains(status), "\(status)")
    }

    @Test func longAndDeepTargetsAreRefusedInTime() async throws {
        let service = try service()
        let start = ContinuousClock.now
        for text in [
            String(repeating: "w:1/", count: 100_000), String(repeating: "/", count: 1_000_000),
            "w:" + String(repeating: "9", count: 1_000_000), String(repeating: "%25", count: 300_000),
        ] { #expect(await status("/_/" + text + "plain/http://a.example/b", service) == 414) }
        let many = String(repeating: "w:1/", count: 1900) + "q"
        #expect(await status("/_/" + many, service) == 400)
        #expect(start.duration(to: .now) < .seconds(2))
    }

    @Test func unsignedPathsAreRefused() async throws {
        let key = try #require(SigningKey(hexKey: "00ff", hexSalt: "11"))
        let service = try service { $0.keys = [key] }
        let path = "/w:1/plain/http://127.0.0.1/a"
        let right = key.signature(of: path)
        for wrong in [
            "_", "unsafe", "insecure", "", String(right.dropLast()), right + "AAAA", "AAAA", right.lowercased(), "%00",
            "é",
        ] {
            #expect(await status("/\(wrong)\(path)", service) == 403, "\(wrong)")
        }
        // The right one is refused for its source only.
        let answer = await service.answer(to: ServiceRequest(target: "/\(right)\(path)"))
        #expect(answer.status == 403 && answer.text.contains("source"))
        for changed in ["/w:2/plain/http://127.0.0.1/a", path + "@png", path + "/", "/" + path] {
            let answer = await service.answer(to: ServiceRequest(target: "/\(right)\(changed)"))
            #expect(answer.status == 403 && answer.text.contains("signature"), "\(changed)")
        }
    }

    @Test(arguments: [
        ("https://img.example.com/photos/a.jpg", true), ("https://IMG.example.com/photos/a.jpg", true),
        ("https://img.example.com/other/a.jpg", false), ("http://img.example.com/photos/a.jpg", false),
        ("https://a.b.example.com/photos/a.jpg", true), ("https://example.com/photos/a.jpg", false),
        ("https://img.example.com.evil.org/photos/a.jpg", false), ("https://img.example.com:8443/photos/a.jpg", false),
        ("https://evil.org/https://img.example.com/photos/a.jpg", false),
        ("https://img.example.com/photos/../other/a.jpg", false),
        ("https://img.example.com/photos/%2e%2e/other/a.jpg", false),
        ("https://img.example.com@evil.org/photos/a.jpg", false),
        ("http://plain.org:8080/x", true), ("http://plain.org/x", false),
    ])
    func onlyAllowedSourcesAreLoaded(source: String, isAllowed: Bool) {
        let policy = SourcePolicy(
            ["https://*.example.com/photos/", "http://plain.org:8080"], hasFolder: false, hasStore: false)
        #expect(((try? policy.url(of: source)) != nil) == isAllowed)
    }

    /// A star stands for any characters but slashes, as in imgproxy, and never for the end of a host.
    @Test(arguments: [
        ("https://cdn-1.example.com/a", true), ("https://CDN-.example.com/a", true),
        ("https://cdn-1.b.example.com/a", true), ("https://cdn.example.com/a", false),
        ("https://xcdn-1.example.com/a", false), ("https://cdn-1.example.com.evil.org/a", false),
        ("https://cdn-1.example.comx/a", false), ("https://cdn-1.example.com:8443/a", false),
        ("https://evil.org/cdn-1.example.com/", false), ("https://cdn-evil.org/.example.com/a", false),
        ("https://cdn-evil.org?.example.com/", false), ("https://cdn-evil.org#.example.com/", false),
        ("https://cdn-a:b@evil.org/.example.com/", false), ("https://cdn-a@evil.org/.example.com/", false),
        ("https://cdn-evil.org%2f.example.com/", false), ("https://cdn-evil.org%5c.example.com/", false),
        ("https://cdn-evil.org%40x.example.com/", false), ("https://cdn-evil.org\\.example.com/", false),
        ("https://cdn-evil.org\\@x.example.com/", false), ("https://cdn-1.example.com./", false),
        ("s3://img-photos/a", true), ("s3://img-/a", true), ("s3://img/a", false), ("s3://other/img-/a", false),
        ("https://example.com/a/public/x.jpg", true), ("https://example.com/a%20b/public/x.jpg", true),
        ("https://example.com//public/x.jpg", true), ("https://example.com/a/b/public/x.jpg", false),
        ("https://example.com/public/x.jpg", false), ("https://example.com/a/publicx/x.jpg", false),
        ("https://example.com/a%2Fb/public/x.jpg", false), ("https://example.com/a%2Fpublic/x.jpg", false),
        ("https://example.com/a/public%2Fx.jpg", false), ("https://example.com/a/public/../private/x", false),
        ("https://a.wild.org/x", true), ("https://a.b.wild.org/x", true), ("https://wild.org/x", false),
        ("https://evilwild.org/x", false), ("https://a.wild.org.evil.org/x", false),
        ("http://any.org:8080/x", true), ("http://any.org/x", false), ("https://any.org:8080/x", false),
        ("https://plain.org/id-5/photo-a/x", true), ("https://plain.org/id-5/photo-", true),
        ("https://plain.org/id-5/pho", false), ("https://plain.org/id-a%2Fb/photo-a", false),
        ("https://plain.org/id-5/x/photo-a", false), ("local:///public/a", true), ("local:///private/a", false),
        ("local://private/public/a", false), ("local://private/../public/a", false), ("ftp://any.org/a", false),
    ])
    func aStarStandsForNoSlash(source: String, isAllowed: Bool) {
        let policy = SourcePolicy(
            [
                "https://cdn-*.example.com/", "s3://img-*/", "https://example.com/*/public/", "https://*.wild.org/",
                "http://any.org:*/", "https://plain.org/id-*/*photo-", "local:///public/",
            ], hasFolder: true, hasStore: true)
        #expect(((try? policy.url(of: source)) != nil) == isAllowed)
    }

    @Test(arguments: [
        ("https://a.example:8443/b", true), ("http://a.example/b", false), ("s3://bucket/a", false),
        ("https:///b", false),
    ])
    func aSchemeAllowsAllItsHosts(source: String, isAllowed: Bool) {
        let policy = SourcePolicy(["https://"], hasFolder: false, hasStore: true)
        #expect(((try? policy.url(of: source)) != nil) == isAllowed)
    }

    @Test func manyStarsTakeLittleTime() {
        let stars = String(repeating: "a*", count: 200)
        let policy = SourcePolicy(["https://\(stars)b/", "https://x/\(stars)b"], hasFolder: false, hasStore: false)
        let start = ContinuousClock.now
        let long = String(repeating: "a", count: 8000)
        for source in ["https://\(long)/", "https://x/\(long)"] {
            #expect(throws: Refusal.self) { try policy.url(of: source) }
        }
        #expect(start.duration(to: .now) < .seconds(2))
    }

    @Test func nothingOutsideTheFolderIsRead() async throws {
        let outside = try TemporaryDirectory()
        let folder = try TemporaryDirectory()
        let image = try CodecRegistry.shared.encode(ServiceFixture.picture(width: 8, height: 8), as: .png)
        try outside.write(image, to: "secret.png")
        try folder.write(image, to: "sub/a b.png")
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("link.png"), withDestinationPath: outside.path("secret.png"))
        try FileManager.default.createSymbolicLink(atPath: folder.path("up"), withDestinationPath: outside.path)
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("inside.png"), withDestinationPath: folder.path("sub/a b.png"))
        let service = try service { $0.folder = URL(filePath: folder.path) }
        #expect(await status("/_/w:4/plain/local:///sub/a%2520b.png", service) == 200)
        #expect(await status("/_/w:4/plain/local:///inside.png", service) == 200)
        let name = outside.path.split(separator: "/").last ?? ""
        for path in [
            "/link.png", "/up/secret.png", "/../\(name)/secret.png", "/sub/../../\(name)/secret.png",
            "/%252e%252e/\(name)/secret.png",
            "/none.png", "/sub", "/", "//etc/passwd", outside.path("secret.png"),
        ] {
            let status = await status("/_/w:4/plain/local://\(path)", service)
            #expect([400, 403, 404].contains(status), "\(path): \(status)")
        }
    }

    @Test func hugeResultsAreRefused() async throws {
        let fixture = try ServiceFixture { $0.limits.resultPixelCount = 1_000_000 }
        try await fixture.serve("/a.png", width: 10, height: 10)
        for options in [
            "w:60000/el:1", "s:2000:2000:1", "rs:fit:2000:2000:0:1", "pd:30000", "z:1000/el:1", "mw:9000",
            "w:10/dpr:10/z:1000/el:1",
            "rs:fill:60000:1:1", "rs:fill:1:60000:1", "w:1/pd:0:60000/h:60000/rt:force/el:1",
        ] {
            let answer = try await fixture.get("/\(options)/plain/{}/a.png")
            #expect(answer.status == 422, "\(options): \(answer.text)")
        }
        // Longer sides than allowed are scaled down.
        #expect(try await fixture.get("/rs:fit:1:20000/ex:1/plain/{}/a.png@png").size == [1, 8192])
        #expect(try await fixture.get("/s:900:900:1/plain/{}/a.png").status == 200)
    }

    /// A watermark can be larger than the result that it is drawn on.
    @Test func hugeWatermarksAreRefused() async throws {
        let mark = try CodecRegistry.shared.encode(ServiceFixture.picture(width: 20, height: 20), as: .png)
        let fixture = try ServiceFixture {
            $0.limits.resultPixelCount = 10_000
            $0.watermark = mark
        }
        try await fixture.serve("/a.png", width: 40, height: 40)
        for (options, status) in [
            ("wm:1:ce:0:0:2.5", 200), ("wm:1:ce:0:0:2.6", 422), ("wm:1:ce:0:0:10", 422), ("wm:1:re:0:0:10", 422),
            ("w:9/dpr:10/el:1/wm:1", 200),
        ] {
            let answer = try await fixture.get("/\(options)/plain/{}/a.png@png")
            #expect(answer.status == status, "\(options): \(answer.text.prefix(100))")
        }
    }

    @Test func bombsAreRefused() async throws {
        let fixture = try ServiceFixture { $0.limits.decoding.pixelCount = 1000 }
        try await fixture.serve("/a.png", width: 100, height: 100)
        for options in ["w:4", "raw:1"] {
            #expect(try await fixture.get("/\(options)/plain/{}/a.png").status == 413, "\(options)")
        }
    }

    @Test(arguments: [(100, 422), (100_000, 200)])
    func longResultsAreRefused(limit: Int, status: Int) async throws {
        let fixture = try ServiceFixture { $0.limits.resultByteCount = limit }
        try await fixture.serve("/a.png", width: 80, height: 40)
        #expect(try await fixture.get("/bl:2/plain/{}/a.png@png").status == status)
    }

    private static let readsDrawings =
        (try? CodecRegistry.shared.info(of: Data("<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>".utf8)))
        != nil

    /// Drawings that take long wait for each other, and leave the places of the service to others.
    @Test(.enabled(if: readsDrawings, "webimage-decoder was built without SVG"))
    func imagesThatTakeLongDoNotHoldAllPlaces() async throws {
        let rules = (0..<20_000).map { "g g g g g g rect:nth-child(\($0)){fill:red}" }.joined()
        let groups = (String(repeating: "<g>", count: 10), String(repeating: "</g>", count: 10))
        let shapes = String(repeating: "<rect/>", count: 5000)
        let drawing = """
            <svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"><style>\(rules)</style>\(groups.0)\(shapes)\(groups.1)</svg>
            """
        let directory = try TemporaryDirectory()
        try directory.write(Data(drawing.utf8), to: "slow.svg")
        let image = try CodecRegistry.shared.encode(ServiceFixture.picture(width: 40, height: 30), as: .png)
        try directory.write(image, to: "a.png")
        let service = try ServiceFixture {
            $0.folder = URL(filePath: directory.path, directoryHint: .isDirectory)
            $0.limits.workCount = 2
        }
        func timeouts() -> Int? { IsolatedDecoding.shared.blockingStatus.counters.failures[.svg] }
        let before = timeouts()
        let bombs = (1...4).map { width in
            Task { try await service.get("/rs:fit:\(width):9/plain/local:///slow.svg@png").status }
        }
        // They have the only two places.
        while service.service.counters.waiting < 2, !Task.isCancelled { await Task.yield() }
        #expect(try await service.get("/rs:fit:20:20/plain/local:///a.png@jpg").status == 200)
        // They still work: each has the processor for seconds, and one has it at a time.
        #expect(service.service.counters.running + service.service.counters.waiting == 4)
        // Without clients it ends, also while it reads the size.
        for bomb in bombs { bomb.cancel() }
        for bomb in bombs { _ = try await bomb.value }
        await service.service.stop()
        #expect(timeouts() == before && IsolatedDecoding.shared.slowImageCount == 0)
    }
}
