public import FoundationEssentials
import Glibc
import WebImageCore

/// The server of `Tests/Servers/fault_server.py`, whose first lines name what it can do.
public final class FaultServer: Sendable {
    /// The ports of its two origins on 127.0.0.1.
    public let port: Int, otherPort: Int
    private let process: ChildProcess

    /// The events so far.
    public struct Statistics: Decodable, Sendable {
        /// Requests by path and by parent path.
        public let requests: [String: Int]
        /// Requests whose client closed the connection early, by path and by parent path.
        public let dropped: [String: Int]
        /// The maximum number of requests answered at once, by path and by parent path.
        public let peak: [String: Int]
        /// Answers of `/flaky` that were whole, by path and by parent path.
        public let whole: [String: Int]
        /// Answers of `/flaky` that were not, by kind.
        public let faults: [String: Int]
        /// Connections since the start.
        public let accepted: Int
    }

    /// The events that ``wait(for:path:count:atMost:)`` waits for.
    public enum Event: String, Sendable {
        case requests, dropped
    }

    /// Starts the server; it stops with its last reference or the process.
    public init() throws {
        process = try ChildProcess(["python3", TestServers.path("fault_server.py")])
        let ports = try Self.readPorts(from: process)
        (port, otherPort) = (ports[0], ports[1])
    }

    /// A URL on it; `path` begins with a slash.
    public func url(_ path: String) throws -> URL { try TestServers.url(port: port, path: path) }

    /// The same on its other origin.
    public func otherOriginURL(_ path: String) throws -> URL { try TestServers.url(port: otherPort, path: path) }

    /// Lets `/held/...` answer, now and from now on.
    public func release(_ path: String) async throws {
        _ = try await LoopbackRequest.get("/control/release?path=\(path)", port: port)
    }

    /// Waits until something has happened `count` times to `path`, or to any path one level below it.
    public func wait(for event: Event, path: String, count: Int = 1, atMost seconds: Int = 20) async throws {
        let target = "/control/wait?event=\(event.rawValue)&path=\(path)&count=\(count)&seconds=\(seconds)"
        let status = try await LoopbackRequest.get(target, port: port, atMost: seconds + 10).status
        guard status == 200 else {
            throw TestServerError("\(path) has not seen \(count) \(event.rawValue) within \(seconds) s")
        }
    }

    /// The events so far.
    public func statistics() async throws -> Statistics {
        let body = try await LoopbackRequest.get("/control/statistics", port: port).body
        return try JSONDecoder().decode(Statistics.self, from: Data(body))
    }

    /// The bytes of its `/bytes` and of every body it cuts.
    public static func pattern(_ size: Int) -> Data {
        var data = Data(capacity: size)
        while data.count < size { data += period.prefix(size - data.count) }
        return data
    }

    /// After 251 × 256 bytes both terms repeat.
    private static let period = (0..<251 * 256).map { UInt8(truncatingIfNeeded: $0 * 31 + $0 / 251) }

    private static func readPorts(from process: ChildProcess) throws -> [Int] {
        let ports = process.readLine().split(separator: " ").compactMap { Int($0) }
        guard ports.count == 2 else { throw TestServerError("the fault server does not start") }
        return ports
    }
}

enum TestServers {
    /// `Tests/Servers/name`, next to this directory.
    static func path(_ name: String, file: String = #filePath) -> String {
        let parts = file.split(separator: "/", omittingEmptySubsequences: false).dropLast(2)
        return (parts + ["Servers", Substring(name)]).joined(separator: "/")
    }

    static func url(
        scheme: String = "http", host: String = "127.0.0.1", port: Int, path: String
    ) throws -> URL {
        guard let url = URL(string: "\(scheme)://\(host):\(port)\(path)") else {
            throw TestServerError("\(path) is no path")
        }
        return url
    }
}
