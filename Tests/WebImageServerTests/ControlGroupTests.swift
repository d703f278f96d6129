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
        let folder: String

        init?(byteLimit: Int) {
            let name = "webimage-test-\(getpid())-\(UInt32.random(in: 0 ... .max))"
            let places = [("/sys/fs/cgroup/memory/", "memory.limit_in_bytes"), ("/sys/fs/cgroup/", "memory.max")]
            for (parent, file) in places where mkdir(parent + name, 0o755) == 0 {
                if let limit = FileHandle(forWritingAtPath: parent + name + "/" + file) {
                    limit.write(Data("\(byteLimit)".utf8))
                    folder = parent + name
                    return
                }
                rmdir(parent + name)
            }
            return nil
        }

        deinit { rmdir(folder) }
    }

    @Test(.enabled(if: MemoryGroup(byteLimit: 200 << 20) != nil, "no control group can be made here"))
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
        let answers = try await (0..<32).concurrentMap(width: 32) { number in
            let source = number.isMultiple(of: 3) ? "b.png" : "a.jpg"
            return try await LoopbackRequest.get(
                "/_/w:\(number.isMultiple(of: 2) ? 2000 + number : 200 + number)/plain/local:///\(source)@webp",
                port: port, atMost: 120)
        }
        let statuses = Dictionary(grouping: answers, by: \.status).mapValues(\.count)
        #expect(statuses == [200: 32])
        #expect(try await LoopbackRequest.get("/health", port: port).status == 200)
        #expect(try await server.stop().status == 0)
    }
}
