import Foundation
import Testing
import WebImage
import WebImageService
import WebImageTestSupport

@testable import WebImageServer

/// Uploads to the built `webimage-server`.
@Suite(.timeLimit(.minutes(1)))
struct UploadProgramTests {
    private static var guide: String {
        get throws {
            let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent()
            return try String(
                contentsOf: folder.appending(path: "Documentation/Guides.docc/ImageService.md"), encoding: .utf8)
        }
    }

    private func photo(_ directory: TemporaryDirectory) throws {
        let image = try Image(color: Color(red: 1, green: 0, blue: 0), size: PointSize(width: 640, height: 320))
        try directory.write(try CodecRegistry.shared.encode(image, as: .jpeg), to: "photo.jpg")
    }

    /// Runs a line in the folder of the photograph, and returns what it prints.
    private func run(_ line: String, in directory: TemporaryDirectory) async throws -> String {
        let (process, ended) = (Process(), Countdown())
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", "cd '\(directory.path)' && \(line) >printed 2>&1"]
        process.environment = ["PATH": "/usr/bin:/bin", "NO_PROXY": "*"]
        process.terminationHandler = { _ in ended.signal() }
        try process.run()
        try await ended.wait()
        return String(decoding: try Data(contentsOf: directory.url("printed")), as: UTF8.self)
    }

    private struct Answer: Decodable {
        let url, source, mimeType: String
        let width, height: Int
    }

    /// The lines of the guide: the server stores a photograph, and serves it.
    @Test func theGuidesLineUploadsAPhotograph() async throws {
        let directory = try TemporaryDirectory()
        try photo(directory)
        let lines = try Self.guide.split(separator: "\n").map { String($0) }
        let curl = try #require(lines.first { $0.hasPrefix("curl --form ") })
        let start = try #require(lines.first { $0.contains("--upload-to ") && $0.hasPrefix("webimage-server ") })
        var arguments = start.split(separator: " ").dropFirst().map { String($0) }
        let root = try #require(arguments.firstIndex(of: "--local-root"))
        arguments[root + 1] = directory.path("images")
        let server = try ServerProcess(arguments + ["--unsigned", "--bind=127.0.0.1:0"])
        let port = try await server.port
        let line = curl.replacing("127.0.0.1:8080", with: "127.0.0.1:\(port)").replacing(
            "curl ", with: "curl --silent --include ")
        #expect(line.contains("\(port)"))
        let printed = try await run(line, in: directory)
        #expect(printed.contains("HTTP/1.1 201 "), "\(printed)")
        let body = try #require(printed.split(separator: "\r\n\r\n").last)
        let answer = try JSONDecoder().decode(Answer.self, from: Data(body.utf8))
        #expect(printed.contains("\r\nLocation: \(answer.url)\r\n"))
        #expect(answer.mimeType == "image/jpeg" && answer.width == 640 && answer.height == 320)
        let served = try await LoopbackRequest.get(answer.url, port: port)
        #expect(served.status == 200)
        #expect(try CodecRegistry.shared.info(of: Data(served.body)).size == PixelSize(width: 640, height: 320))
        let small = try await LoopbackRequest.get("/_/w:64/plain/\(answer.source)@png", port: port)
        #expect(small.status == 200)
        let log = try await server.stop().output
        #expect(log.contains("POST \"/upload\" 201 "), "\(log)")
    }

    @Test func uploadsNeedTheSecretAndASignature() async throws {
        let directory = try TemporaryDirectory()
        try photo(directory)
        let server = try ServerProcess([
            "--key=aa", "--salt=bb", "--secret=open", "--bind=127.0.0.1:0", "--log-requests=false", "--local-root",
            directory.path("images"), "--upload-to=local:///uploads", "--upload-max-size=100K",
        ])
        let port = try await server.port
        let key = try #require(SigningKey(hexKey: "aa", hexSalt: "bb"))
        let signed = "/upload/" + key.signature(of: "/upload")
        func status(_ target: String, _ options: String, file: String = "photo.jpg") async throws -> String {
            try await run(
                "curl --silent --output /dev/null --write-out '%{http_code}' --data-binary @\(file) \(options) http://127.0.0.1:\(port)\(target)",
                in: directory)
        }
        let (secret, type) = ("--header 'Authorization: Bearer open'", "--header 'Content-Type: image/jpeg'")
        #expect(try await status(signed, type) == "403")
        #expect(try await status("/upload", "\(secret) \(type)") == "403")
        #expect(try await status(signed, "\(secret) \(type)") == "201")
        #expect(try await status(signed, "\(secret) \(type) --header 'Transfer-Encoding: chunked'") == "201")
        // curl states the type of a form if it is told none.
        #expect(try await status(signed, secret) == "415")
        #expect(try await status(signed, "\(secret) --header 'Content-Type: image/png'") == "415")
        try directory.write(try Data(contentsOf: directory.url("photo.jpg")) + Data(count: 200_000), to: "long")
        #expect(try await status(signed, "\(secret) \(type)", file: "long") == "413")
        #expect(
            try await status(signed, "\(secret) \(type) --header 'Transfer-Encoding: chunked'", file: "long") == "413")
        try directory.write(Data("<html>".utf8), to: "page")
        #expect(try await status(signed, "\(secret) \(type)", file: "page") == "415")
        let metrics = try await run("curl --silent \(secret) http://127.0.0.1:\(port)/metrics", in: directory)
        #expect(metrics.contains("webimage_uploads_total 2\n"))
        #expect(try await server.stop().status == 0)
    }

    @Test func aServerWithoutAPlaceTakesNoUploads() async throws {
        let server = try ServerProcess(["--unsigned", "--bind=127.0.0.1:0", "--log-requests=false"])
        let client = try await RawClient(server.place)
        client.send("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")
        #expect(await client.status() == 400)
        _ = try await server.stop()
        let run = try await ServerProcess(["--unsigned", "--upload-to=local:///uploads"]).end()
        #expect(run.status != 0 && run.errors.contains("uploads are stored in"), "\(run)")
    }
}
