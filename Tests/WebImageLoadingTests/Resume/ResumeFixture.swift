import FoundationEssentials
import Glibc
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

/// A store in a directory of its own, and a loader over it whose answers the test gives.
struct ResumeFixture {
    let directory: TemporaryDirectory
    let origin: ScriptedOrigin
    let store: PartialBodyStore
    let loader: ResumingLoader
    static let tag = "\"v1\""

    init(
        script: (@Sendable (ScriptedTransfer) -> Void)? = nil,
        configure: (inout PartialBodyStore.Configuration) -> Void = { _ in },
        write: PartialBodyStore.Write? = nil
    ) throws {
        directory = try TemporaryDirectory()
        origin = ScriptedOrigin(script: script)
        var configuration = PartialBodyStore.Configuration(directory: directory.url("partial"))
        configuration.freeSpaceFloor = 0
        configure(&configuration)
        store = PartialBodyStore(
            configuration: configuration, write: write ?? { pwrite($0, $1.baseAddress, $1.count, off_t($2)) })
        loader = ResumingLoader(origin, store: store)
    }

    static func url(_ name: String = "a.png") throws -> URL { try #require(URL(string: "http://host/\(name)")) }

    /// The names in the store's directory.
    var files: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: directory.path("partial"))) ?? []).sorted()
    }

    func path(_ file: String) -> String { directory.path("partial/\(file)") }

    /// Loads `body` as far as `count`, then cuts the connection.
    func interrupt(
        _ body: Data, after count: Int, url: URL? = nil, headers: [String: String] = ["ETag": tag],
        requestHeaders: [String: String] = [:], announcesLength: Bool = true
    ) async throws {
        let url = try url ?? Self.url()
        let (recording, _) = loader.record(url, headers: requestHeaders)
        let transfer = try await origin.next()
        transfer.respond(200, headers, byteCount: announcesLength ? Int64(body.count) : nil)
        for start in stride(from: 0, to: count, by: 10_000) { transfer.send(body[start..<min(start + 10_000, count)]) }
        transfer.cut()
        #expect(try await recording.error() != nil)
    }

    /// Begins a load of the same, and gives what the server is asked.
    func load(
        _ url: URL? = nil, headers: [String: String] = [:]
    ) async throws -> (recording: LoadRecording, task: any LoaderTask, transfer: ScriptedTransfer) {
        let (recording, task) = loader.record(try url ?? Self.url(), headers: headers)
        return (recording, task, try await origin.next())
    }

    /// The request that another load sends to the server; the load is cancelled.
    func requestedRange(url: URL? = nil, headers: [String: String] = [:]) async throws -> String? {
        let (recording, task, transfer) = try await load(url, headers: headers)
        task.cancel()
        #expect(try await recording.error() == .cancelled)
        return transfer.range
    }

    /// Waits until the disk is as the loads that have ended left it.
    func settle() async {
        await withCheckedContinuation { continuation in
            PartialBodyStore.queue.submit(priority: .veryLow) { continuation.resume() }
        }
    }

    /// The size of all bodies on disk.
    var byteCount: Int {
        files.reduce(0) { $0 + ((try? Data(contentsOf: URL(filePath: path($1))).count) ?? 0) }
    }

    /// The name under which the body of that request is kept.
    func key(_ url: URL? = nil, headers: [String: String] = [:]) throws -> PartialBodyKey {
        let request = LoaderRequest(url: try url ?? Self.url(), headers: headers)
        return try #require(request.partialBodyKey(scope: String(reflecting: ScriptedOrigin.self)))
    }
}

extension ScriptedTransfer {
    /// Answers with the rest of `body` from `offset`, as asked.
    func continueBody(
        _ body: Data, from offset: Int, tag: String = ResumeFixture.tag, headers: [String: String] = [:]
    ) {
        let own = ["ETag": tag, "Content-Range": "bytes \(offset)-\(body.count - 1)/\(body.count)"]
        respond(206, own.merging(headers) { $1 }, byteCount: Int64(body.count - offset))
        send(Data(body[offset...]))
        finish()
    }

    /// Answers with all of `body`.
    func answer(_ body: Data, tag: String = ResumeFixture.tag) {
        respond(200, ["ETag": tag], byteCount: Int64(body.count))
        send(body)
        finish()
    }
}
