import Foundation
import Glibc
import Testing
import WebImage
import WebImageTestSupport

@testable import WebImageServer

/// The built `webimage-server`.
@Suite(.timeLimit(.minutes(1)))
struct ProgramTests {
    private func run(_ arguments: [String]) throws -> (status: Int32, output: String, errors: String) {
        let (process, output, errors) = (Process(), Pipe(), Pipe())
        process.executableURL = try Self.executable
        process.arguments = arguments
        process.environment = [:]
        (process.standardOutput, process.standardError) = (output, errors)
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let complaint = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text, complaint)
    }

    private static var executable: URL {
        get throws {
            // The programs are beside the tests.
            let url = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
                .appending(path: "webimage-server")
            try #require(FileManager.default.isExecutableFile(atPath: url.path))
            return url
        }
    }

    @Test func helpAndTheManualPageNameEverySetting() throws {
        let help = try run(["--help"])
        let manual = try run(["--man"])
        #expect(help.status == 0 && manual.status == 0 && manual.output.hasPrefix(".\\\""))
        for setting in Setting.all {
            #expect(help.output.contains("--\(setting.name)"), "\(setting.name)")
            #expect(manual.output.contains(setting.variable.replacing("-", with: "\\-")), "\(setting.variable)")
        }
        #expect(try run(["--version"]).output.hasPrefix("webimage-server "))
    }

    @Test func invalidSettingsEndIt() throws {
        for arguments in [["--nope"], ["--quality=x", "--unsigned"], [], ["--unsigned", "--presets=a=w:x"]] {
            let run = try run(arguments)
            #expect(run.status == 2 && run.errors.hasPrefix("webimage-server: "), "\(run)")
        }
        #expect(try run(["--unsigned", "--bind=256.0.0.1:1"]).status == 1)
    }

    /// The whole way: decoded in another process, sent over a socket, stopped by a signal.
    @Test func itServesUntilASignal() async throws {
        let directory = try TemporaryDirectory()
        let image = try Image(color: Color(red: 1, green: 0, blue: 0), size: PointSize(width: 64, height: 32))
        try directory.write(try CodecRegistry.shared.encode(image, as: .png), to: "photos/a.png")
        let (process, output) = (Process(), Pipe())
        process.executableURL = try Self.executable
        process.arguments = [
            "--unsigned", "--bind=127.0.0.1:0", "--local-root", directory.path("photos"), "--cache",
            directory.path("cache"),
        ]
        process.environment = [:]
        process.standardOutput = output
        try process.run()
        let reader = output.fileHandleForReading
        var first = Data()
        while !first.contains(UInt8(ascii: "\n")) { first += try #require(try reader.read(upToCount: 1)) }
        let line = String(decoding: first.dropLast(), as: UTF8.self)
        let port = try #require(Int(line.split(separator: ":").last ?? ""))
        #expect(try await LoopbackRequest.get("/health", port: port).status == 200)
        #expect(try await LoopbackRequest.get("/ready", port: port).status == 200)
        let answer = try await LoopbackRequest.get("/_/w:32/plain/local:///a.png@jpg", port: port)
        #expect(answer.status == 200)
        #expect(try CodecRegistry.shared.info(of: Data(answer.body)).size == PixelSize(width: 32, height: 16))
        #expect(try await LoopbackRequest.get("/_/w:32/plain/local:///../b", port: port).status == 403)
        let metrics = String(decoding: try await LoopbackRequest.get("/metrics", port: port).body, as: UTF8.self)
        #expect(metrics.contains("webimage_results_total{from=\"made\"} 1\n"))
        #expect(metrics.contains("webimage_requests_total{status=\"403\"} 1\n"))
        process.terminate()
        let log = String(decoding: reader.readDataToEndOfFile(), as: UTF8.self).split(separator: "\n")
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(log.contains { $0.contains("GET \"/_/w:32/plain/local:///a.png@jpg\" 200 ") })
    }

    @Test func whatIsGivenUpAtTheEndGets503() async throws {
        let servers = try FaultServer()
        let (process, output) = (Process(), Pipe())
        process.executableURL = try Self.executable
        process.arguments = [
            "--unsigned", "--bind=127.0.0.1:0", "--allow-loopback", "--graceful-stop-timeout=0", "--log-requests=false",
        ]
        process.environment = [:]
        process.standardOutput = output
        try process.run()
        var first = Data()
        while !first.contains(UInt8(ascii: "\n")) {
            first += try #require(try output.fileHandleForReading.read(upToCount: 1))
        }
        let line = String(decoding: first.dropLast(), as: UTF8.self)
        let port = try #require(Int(line.split(separator: ":").last ?? ""))
        let client = try RawClient(line)
        let stalled = try servers.url("/stall-headers/a").absoluteString
        client.send("GET /_/w:1/plain/\(stalled) HTTP/1.1\r\nHost: a\r\n\r\n")
        while !Task.isCancelled {
            let metrics = String(decoding: try await LoopbackRequest.get("/metrics", port: port).body, as: UTF8.self)
            if metrics.contains("webimage_running 1\n") { break }
        }
        process.terminate()
        let answer = await client.read()
        #expect(answer.hasPrefix("HTTP/1.1 503 ") && answer.contains("Retry-After: "), "\(answer)")
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }
}
