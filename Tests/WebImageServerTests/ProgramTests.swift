import Foundation
import Glibc
import Testing
import WebImage
import WebImageService
import WebImageTestSupport

@testable import WebImageServer

/// The built `webimage-server`.
@Suite(.timeLimit(.minutes(1)))
struct ProgramTests {
    private func run(
        _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> ServerProcess.Run {
        try await ServerProcess(arguments, environment: environment).end()
    }

    @Test func helpAndTheManualPageNameEverySetting() async throws {
        let help = try await run(["--help"])
        let manual = try await run(["--man"])
        #expect(help.status == 0 && manual.status == 0 && manual.output.hasPrefix(".\\\""))
        for setting in Setting.all {
            #expect(help.output.contains("--\(setting.name)"), "\(setting.name)")
            #expect(manual.output.contains(setting.variable.replacing("-", with: "\\-")), "\(setting.variable)")
        }
        #expect(try await run(["--version"]).output.hasPrefix("webimage-server "))
    }

    @Test func invalidSettingsEndIt() async throws {
        for arguments in [["--nope"], ["--quality=x", "--unsigned"], [], ["--unsigned", "--presets=a=w:x"]] {
            let run = try await run(arguments)
            #expect(run.status == 2 && run.errors.hasPrefix("webimage-server: "), "\(run)")
        }
        #expect(try await run(["--unsigned", "--bind=256.0.0.1:1"]).status == 1)
        let restricted = try await run(
            ["--unsigned", "--bind=256.0.0.1:1"], environment: ["IMGPROXY_S3_ALLOWED_BUCKETS": "photos"])
        #expect(restricted.status == 2 && restricted.errors.contains("IMGPROXY_ALLOWED_SOURCES"))
    }

    /// The whole way: decoded in another process, sent over a socket, stopped by a signal.
    @Test func itServesUntilASignal() async throws {
        let directory = try TemporaryDirectory()
        let image = try Image(color: Color(red: 1, green: 0, blue: 0), size: PointSize(width: 64, height: 32))
        try directory.write(try CodecRegistry.shared.encode(image, as: .png), to: "photos/a.png")
        let server = try ServerProcess([
            "--unsigned", "--bind=127.0.0.1:0", "--local-root", directory.path("photos"), "--cache",
            directory.path("cache"),
        ])
        let port = try await server.port
        #expect(try await LoopbackRequest.get("/health", port: port).status == 200)
        #expect(try await LoopbackRequest.get("/ready", port: port).status == 200)
        let answer = try await LoopbackRequest.get("/_/w:32/plain/local:///a.png@jpg", port: port)
        #expect(answer.status == 200)
        #expect(try CodecRegistry.shared.info(of: Data(answer.body)).size == PixelSize(width: 32, height: 16))
        #expect(try await LoopbackRequest.get("/_/w:32/plain/local:///../b", port: port).status == 403)
        let metrics = String(decoding: try await LoopbackRequest.get("/metrics", port: port).body, as: UTF8.self)
        #expect(metrics.contains("webimage_results_total{from=\"made\"} 1\n"))
        #expect(metrics.contains("webimage_requests_total{status=\"403\"} 1\n"))
        let run = try await server.stop()
        #expect(run.status == 0)
        let log = run.output.split(separator: "\n")
        #expect(log.contains { $0.contains("GET \"/_/w:32/plain/local:///a.png@jpg\" 200 ") })
    }

    /// As a terminal sends it that closes.
    @Test func itGoesOnAfterAHangUp() async throws {
        let server = try ServerProcess(["--unsigned", "--bind=127.0.0.1:0", "--log-requests=false"])
        let port = try await server.port
        for _ in 0..<3 {
            kill(server.identifier, SIGHUP)
            #expect(try await LoopbackRequest.get("/health", port: port).status == 200)
        }
        #expect(try await server.stop().status == 0)
    }

    /// The client gets the same sentence for all of them.
    @Test func theLogSaysWhyASourceFailed() async throws {
        let server = try ServerProcess(["--unsigned", "--bind=127.0.0.1:0", "--allow-loopback"])
        let port = try await server.port
        let (closed, plain) = (try LoopbackRequest.unusedPort(), try OriginServer())
        var bodies: Set<String> = []
        for source in ["http://127.0.0.1:\(closed)/refused", "https://127.0.0.1:\(plain.port)/tls"] {
            let answer = try await LoopbackRequest.get("/_/w:1/plain/\(source)", port: port)
            #expect(answer.status == 502)
            bodies.insert(String(decoding: answer.body, as: UTF8.self))
        }
        let log = try await server.stop().output.split(separator: "\n").filter { $0.contains(" 502 ") }
        #expect(bodies == ["The source's server cannot be reached.\n"] && log.count == 2)
        #expect(log.first?.contains("connect") == true && log.last?.contains("connect to server") == false, "\(log)")
        #expect(
            Set(log.map { $0.split(separator: "\"").last ?? "" }).count == 2 && log.allSatisfy { $0.hasSuffix("\"") })
    }

    /// Connections wait while no file can be opened.
    @Test func itServesAgainAfterTooManyOpenFiles() async throws {
        let server = try ServerProcess(
            ["--unsigned", "--bind=127.0.0.1:0", "--log-requests=false"], openFileLimit: 40)
        let place = try await server.place
        func openFileCount() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/\(server.identifier)/fd").count
        }
        var clients = try (0..<60).map { _ in try RawClient(place) }
        while try openFileCount() < 40, !Task.isCancelled { await Task.yield() }
        clients.removeAll()
        #expect(try await LoopbackRequest.get("/health", port: server.port).status == 200)
        #expect(try await server.stop().status == 0)
    }

    @Test func whatIsGivenUpAtTheEndGets503() async throws {
        let servers = try FaultServer()
        let server = try ServerProcess([
            "--unsigned", "--bind=127.0.0.1:0", "--allow-loopback", "--graceful-stop-timeout=0", "--log-requests=false",
        ])
        let port = try await server.port
        let client = try await RawClient(server.place)
        let stalled = try servers.url("/stall-headers/a").absoluteString
        client.send("GET /_/w:1/plain/\(stalled) HTTP/1.1\r\nHost: a\r\n\r\n")
        while !Task.isCancelled {
            let metrics = String(decoding: try await LoopbackRequest.get("/metrics", port: port).body, as: UTF8.self)
            if metrics.contains("webimage_results_running 1\n") { break }
        }
        async let stopped = server.stop()
        let answer = await client.read()
        #expect(answer.hasPrefix("HTTP/1.1 503 ") && answer.contains("Retry-After: "), "\(answer)")
        #expect(try await stopped.status == 0)
    }

    /// nginx with the block of the guide leaves paths as clients send them, and shows no page of the server.
    @Test(.enabled(if: nginx != nil, "needs nginx"))
    func theGuidesWebServerKeepsSignatures() async throws {
        let directory = try TemporaryDirectory()
        let image = try Image(color: Color(red: 1, green: 0, blue: 0), size: PointSize(width: 64, height: 32))
        try directory.write(try CodecRegistry.shared.encode(image, as: .png), to: "photos/a b/c+d.png")
        let server = try ServerProcess([
            "--key=aa", "--salt=bb", "--bind=127.0.0.1:0", "--path-prefix=/images", "--log-requests=false",
            "--local-root", directory.path("photos"),
        ])
        let port = try await server.port

        let guide = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Documentation/Guides.docc/ImageService.md")
        let text = try String(contentsOf: guide, encoding: .utf8)
        let block = try #require(text.components(separatedBy: "```").first { $0.contains("location /images/") })
            .replacing("127.0.0.1:8080", with: "127.0.0.1:\(port)")
        let configuration = """
            daemon off; pid \(directory.path("pid")); error_log stderr crit;
            events {}
            http {
                access_log off;
                client_body_temp_path \(directory.path("body")); proxy_temp_path \(directory.path("proxy"));
                fastcgi_temp_path \(directory.path("fastcgi")); uwsgi_temp_path \(directory.path("uwsgi"));
                scgi_temp_path \(directory.path("scgi"));
                server { listen unix:\(directory.path("socket")); \(block) }
            }
            """
        try directory.write(Data(configuration.utf8), to: "nginx.conf")
        let nginx: URL = try #require(Self.nginx)
        let proxy = Process()
        proxy.executableURL = nginx
        proxy.arguments = ["-p", directory.path, "-c", directory.path("nginx.conf")]
        try proxy.run()
        // It removes files in the directory when it ends.
        defer {
            proxy.terminate()
            proxy.waitUntilExit()
        }
        func status(_ path: String) async throws -> Int {
            var client: RawClient?
            // It listens a moment after its start.
            while client == nil, proxy.isRunning, !Task.isCancelled {
                client = try? RawClient("unix:" + directory.path("socket"))
                if client == nil { await Task.yield() }
            }
            try #require(client).send("GET \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            return await client?.status() ?? 0
        }
        let key = try #require(SigningKey(hexKey: "aa", hexSalt: "bb"))
        for path in ["/w:8/plain/local:///a%2520b/c+d.png@jpg", "/w:8/plain/local:///a%2520b%2Fc%2Bd.png@jpg"] {
            #expect(try await status("/images/" + key.signature(of: path) + path) == 200, "\(path)")
        }
        #expect(try await status("/images/_/w:8/plain/local:///a") == 403)
        // What matches no file of nginx is 404, what has no valid signature 403.
        for page in ["/metrics", "/images/metrics", "/images/health", "/images//metrics", "/images/../metrics"] {
            let found = try await status(page)
            #expect((400...404).contains(found), "\(page): \(found)")
        }
    }

    private static var nginx: URL? {
        let path = "/usr/sbin/nginx"
        return FileManager.default.isExecutableFile(atPath: path) ? URL(filePath: path) : nil
    }
}
