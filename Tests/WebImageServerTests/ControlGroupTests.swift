import Foundation
import Glibc
import Testing
import WebImage
import WebImageTestSupport

/// A server in a control group with little memory, as in a container.
@Suite(.timeLimit(.minutes(3)))
struct ControlGroupTests {
    /// A control group of its own, which the system removes when its processes have ended.
    private final class MemoryGroup {
        private(set) var folder = ""
        private var limitFile = ""

        init?(byteLimit: Int) {
            let name = "webimage-test-\(getpid())-\(UInt32.random(in: 0 ... .max))"
            let places = [("/sys/fs/cgroup/memory/", "memory.limit_in_bytes"), ("/sys/fs/cgroup/", "memory.max")]
            for (parent, file) in places where mkdir(parent + name, 0o755) == 0 {
                (folder, limitFile) = (parent + name, file)
                if limit(to: byteLimit) { return }
                rmdir(folder)
            }
            return nil
        }

        deinit { rmdir(folder) }

        func limit(to byteCount: Int) -> Bool {
            guard let file = FileHandle(forWritingAtPath: folder + "/" + limitFile) else { return false }
            return (try? file.write(contentsOf: Data("\(byteCount)".utf8))) != nil
        }

        /// The bytes that its processes have now.
        func byteCount() throws -> Int {
            let name = limitFile == "memory.max" ? "memory.current" : "memory.usage_in_bytes"
            let text = try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
            return try #require(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        }
    }

    private static let canMakeGroups = MemoryGroup(byteLimit: 200 << 20) != nil

    /// The kernel ends the decoder, and the service goes on.
    @Test(.enabled(if: canMakeGroups, "no control group can be made here"))
    func aDecoderWithoutMemoryIsNoFaultOfTheSource() async throws {
        let group = try #require(MemoryGroup(byteLimit: 400 << 20))
        let directory = try TemporaryDirectory()
        for (name, side) in [("small.png", 8), ("large.png", 3000)] {
            let image = try Image(
                color: Color(red: 1, green: 0.5, blue: 0), size: PointSize(width: Double(side), height: Double(side)))
            try directory.write(try CodecRegistry.shared.encode(image, as: .png), to: "photos/\(name)")
        }
        let server = try ServerProcess(
            ["--unsigned", "--bind=127.0.0.1:0", "--local-root", directory.path("photos"), "--log-requests=false"],
            controlGroup: group.folder)
        let port = try await server.port
        #expect(try await LoopbackRequest.get("/_/plain/local:///small.png@png", port: port).status == 200)
        #expect(try group.limit(to: group.byteCount() + (8 << 20)))
        let answer = try await LoopbackRequest.get("/_/plain/local:///large.png@webp", port: port, atMost: 60)
        #expect(answer.status == 503, "\(String(decoding: answer.body, as: UTF8.self))")
        #expect(group.limit(to: 400 << 20))
        #expect(try await LoopbackRequest.get("/_/plain/local:///large.png@webp", port: port, atMost: 60).status == 200)
        #expect(try await server.stop().status == 0)
    }

    @Test(.enabled(if: canMakeGroups, "no control group can be made here"))
    func manyClientsDoNotEndIt() async throws {
        let group = try #require(MemoryGroup(byteLimit: 200 << 20))
        let directory = try TemporaryDirectory()
        let image = try Image(
            color: Color(red: 1, green: 0.5, blue: 0), size: PointSize(width: 4000, height: 3000))
        try directory.write(try CodecRegistry.shared.encode(image, as: .jpeg), to: "photos/a.jpg")
        try directory.write(try CodecRegistry.shared.encode(image, as: .png), to: "photos/b.png")
        let server = try ServerProcess(
            [
                "--unsigned", "--bind=127.0.0.1:0", "--local-root", directory.path("photos"), "--log-requests=false",
                "--timeout=120",
                "--max-decode-time=60",
            ], controlGroup: group.folder)
        let port = try await server.port
        let answers = try await (0..<16).concurrentMap(width: 16) { number in
            let source = number.isMultiple(of: 3) ? "b.png" : "a.jpg"
            return try await LoopbackRequest.get(
                "/_/w:\(number.isMultiple(of: 2) ? 2000 + number : 200 + number)/plain/local:///\(source)@jpg",
                port: port, atMost: 120)
        }
        let statuses = Dictionary(grouping: answers, by: \.status).mapValues(\.count)
        #expect(statuses == [200: 16])
        #expect(try await LoopbackRequest.get("/health", port: port).status == 200)
        #expect(try await server.stop().status == 0)
    }
}
