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

        private func limit(to byteCount: Int) -> Bool {
            guard let file = FileHandle(forWritingAtPath: folder + "/" + limitFile) else { return false }
            return (try? file.write(contentsOf: Data("\(byteCount)".utf8))) != nil
        }
    }

    private static let canMakeGroups = MemoryGroup(byteLimit: 200 << 20) != nil

    @Test(.enabled(if: canMakeGroups, "no control group can be made here"))
    func manyClientsDoNotEndIt() async throws {
        let group = try #require(MemoryGroup(byteLimit: 200 << 20))
        let directory = try TemporaryDirectory()
        let image = try Image(
            color: Color(red: 1, green: 0.5, blue: 0), size: PointSize(width: 2600, height: 2000))
        try directory.write(try CodecRegistry.shared.encode(image, as: .jpeg), to: "photos/a.jpg")
        try directory.write(try CodecRegistry.shared.encode(image, as: .png), to: "photos/b.png")
        let server = try ServerProcess(
            [
                "--unsigned", "--bind=127.0.0.1:0", "--local-root", directory.path("photos"), "--log-requests=false",
                "--timeout=120",
                "--max-decode-time=60",
            ], controlGroup: group.folder)
        let port = try await server.port
        let answers = try await (0..<8).concurrentMap(width: 8) { number in
            let source = number.isMultiple(of: 3) ? "b.png" : "a.jpg"
            return try await LoopbackRequest.get(
                "/_/w:\(number.isMultiple(of: 2) ? 1000 + number : 200 + number)/plain/local:///\(source)@jpg",
                port: port, atMost: 150)
        }
        // On a machine with much other work, some wait for longer than the limit of the server.
        #expect(answers.allSatisfy { [200, 504].contains($0.status) })
        #expect(answers.contains { $0.status == 200 })
        #expect(try await LoopbackRequest.get("/health", port: port).status == 200)
        #expect(try await server.stop().status == 0)
    }
}

/// What the kernel does to a decoder when memory is short: it ends it with SIGKILL. Which process of a group it ends is its choice, so
/// that the test does it.
@Suite(.timeLimit(.minutes(3)))
struct EndedDecoderTests {
    /// The processes that a process has started.
    private func children(of process: Int32) -> [Int32] {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return tasks.flatMap { task in
            let text = (try? String(contentsOfFile: "/proc/\(process)/task/\(task)/children", encoding: .utf8)) ?? ""
            return text.split(separator: " ").compactMap { Int32($0) }
        }
    }

    /// In clock ticks; the 14th and 15th field, behind the name in parentheses.
    private func processorTime(of process: Int32) -> Int {
        let text = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        return fields.count > 13 ? (Int(fields[12]) ?? 0) + (Int(fields[13]) ?? 0) : 0
    }

    @Test func itIsNoFaultOfTheSource() async throws {
        let directory = try TemporaryDirectory()
        let rules = (0..<20_000).map { "g g g g g g rect:nth-child(\($0)){fill:red}" }.joined()
        let shapes = "<g><g><g><g><g><g>\(String(repeating: "<rect/>", count: 5000))</g></g></g></g></g></g>"
        for (name, content) in [("quick", "<rect/>"), ("slow", "<style>\(rules)</style>\(shapes)")] {
            let text = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'>\(content)</svg>"
            try directory.write(Data(text.utf8), to: "photos/\(name).svg")
        }
        let server = try ServerProcess(
            [
                "--unsigned", "--bind=127.0.0.1:0", "--local-root", directory.path("photos"), "--log-requests=false",
                "--max-decode-time=60",
            ])
        let port = try await server.port
        #expect(try await LoopbackRequest.get("/_/plain/local:///quick.svg@png", port: port).status == 200)
        let identifier = server.identifier
        let killing = Task {
            var ended: Set<Int32> = []
            while !Task.isCancelled {
                // A tenth of a second: it decodes. Those that only start take less.
                let decoders = children(of: identifier).flatMap(children)
                for decoder in decoders where processorTime(of: decoder) >= 10 {
                    kill(decoder, SIGKILL)
                    ended.insert(decoder)
                }
                await Task.yield()
            }
            return ended.count
        }
        let answer = try await LoopbackRequest.get("/_/plain/local:///slow.svg@png", port: port, atMost: 60)
        killing.cancel()
        #expect(await killing.value == 1, "it was not sent to another process")
        #expect(answer.status == 503, "\(String(decoding: answer.body, as: UTF8.self))")
        #expect(try await LoopbackRequest.get("/_/plain/local:///quick.svg@png", port: port).status == 200)
        #expect(try await server.stop().status == 0)
    }
}
