import Foundation
import Glibc
import Testing
import WebImage
import WebImageTestSupport

/// A load whose process is killed, and continued by the next process.
@Suite(.timeLimit(.minutes(2))) struct KilledLoadTests {
    private let tool: Tool

    init() throws { tool = try Tool() }

    /// An image that compression does not make smaller.
    private static func noise(side: Int) throws -> Data {
        var random = SplitMix64(seed: 8)
        var pixels = try MutablePixelBuffer(width: side, height: side)
        pixels.withUnsafeMutableBytes { bytes in
            for offset in stride(from: 0, to: bytes.count, by: 4) {
                let value = UInt32(truncatingIfNeeded: random.next())
                bytes.storeBytes(of: value | 0xFF00_0000, toByteOffset: offset, as: UInt32.self)
            }
        }
        return try CodecRegistry.shared.encode(Image(pixels: pixels.freeze(isOpaque: true)), as: .png)
    }

    @Test func clearingTheCacheRemovesPartialDownloads() async throws {
        let name = String(repeating: "a", count: 64) + ".partial"
        mkdir(tool.path("cache"), 0o700)
        mkdir(tool.path("cache/partial"), 0o700)
        _ = try tool.write(Data([1]), to: "cache/partial/\(name)")
        let server = try NGINXServer()
        try server.write(try TestImage().data(.png), to: "a.png")
        #expect(try await tool.run("get", "--cache-dir", "cache", server.url("/a.png").absoluteString).status == 0)
        #expect(try await tool.run("cache", "--cache-dir", "cache", "clear").status == 0)
        #expect(tool.names(in: "cache/partial").isEmpty)
    }

    @Test func theNextProcessResumesTheDownload() async throws {
        let imageData = try Self.noise(side: 1400)
        let server = try NGINXServer(
            locations: "location = /a.png { if (-f $document_root/slow) { set $limit_rate 1m; } }")
        try server.write(imageData, to: "a.png")
        try server.write(Data(), to: "slow")
        let url = try server.url("/a.png").absoluteString
        mkdir(tool.path("cache"), 0o700)
        mkdir(tool.path("cache/partial"), 0o700)
        let watch = try DirectoryWatch(tool.path("cache/partial"))
        let arguments = ["get", "--json", "--cache-dir", "cache", "-o", "a.png", url]

        let killed = try tool.start(arguments)
        try await watch.wait { $0 >= imageData.count / 3 }
        kill(killed.processIdentifier, SIGKILL)
        #expect(try await killed.wait().status == -SIGKILL)
        #expect(tool.names(in: "cache/partial").count == 1)
        #expect(try await tool.run("cache", "--cache-dir", "cache", "list").output.isEmpty, "complete images only")

        unlink(server.root + "/slow")
        let run = try await tool.run(arguments)
        #expect(run.status == 0, "\(run.errors)")
        #expect(try tool.contents(of: "a.png") == imageData)

        let log = try await server.accessLog()
        #expect(log.map(\.status) == [200, 206])
        let rest = try #require(log.last)
        let offset = try #require(rest.range.flatMap { Int($0.dropFirst("bytes=".count).dropLast()) })
        #expect(offset >= imageData.count / 4, "nearly all the bytes on disk are reused")
        #expect(rest.ifRange?.hasPrefix("\"") == true)
        let sent = log.reduce(0) { $0 + $1.byteCount }
        #expect(Double(sent) < 1.1 * Double(imageData.count), "\(sent) bytes for \(imageData.count)")
    }
}

/// Detects writes to a directory, with inotify.
private final class DirectoryWatch: Sendable {
    private let path: String
    private let descriptor: Int32

    init(_ path: String) throws {
        self.path = path
        descriptor = inotify_init1(Int32(IN_CLOEXEC))
        guard descriptor >= 0, inotify_add_watch(descriptor, path, UInt32(IN_MODIFY | IN_CREATE)) >= 0 else {
            throw ToolError("no watch for \(path): errno \(errno)")
        }
    }

    deinit { close(descriptor) }

    /// Waits on its own thread until the files in it have the wanted total length.
    func wait(until isEnough: @escaping @Sendable (_ byteCount: Int) -> Bool) async throws {
        let isThere = await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                var buffer = [UInt8](repeating: 0, count: 4096)
                while !isEnough(byteCount) {
                    var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                    guard poll(&event, 1, 30_000) > 0, read(descriptor, &buffer, buffer.count) > 0 else {
                        return continuation.resume(returning: false)
                    }
                }
                continuation.resume(returning: true)
            }
        }
        guard isThere else { throw ToolError("nothing is written into \(path)") }
    }

    private var byteCount: Int {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.reduce(0) { sum, name in
            var status = stat()
            return sum + (stat(path + "/" + name, &status) == 0 ? Int(status.st_size) : 0)
        }
    }
}
