public import FoundationEssentials
import WebImageCore

/// The server of `Tests/Servers/origin_server.py`, which answers as it is told.
public final class OriginServer: Sendable {
    /// Its port on 127.0.0.1.
    public let port: Int
    private let process: LockBox<ChildProcess?>

    /// A request that has arrived.
    public struct Request: Decodable, Sendable {
        /// As it came.
        public let method: String, path: String
        /// The response.
        public let status: Int
        /// Its fields, with names in lower case.
        public let headers: [String: String]
    }

    /// Starts the server; it stops with its last reference or the process.
    public init() throws {
        let process = try ChildProcess(["python3", TestServers.path("origin_server.py")])
        guard let port = Int(process.readLine()) else {
            throw TestServerError("the origin server does not start")
        }
        self.port = port
        self.process = LockBox(process)
    }

    /// A URL on it; `path` begins with a slash.
    public func url(_ path: String) throws -> URL { try TestServers.url(port: port, path: path) }

    /// Tells it what `path` answers from now on.
    ///
    /// - Parameter headers: a field a line.
    public func answer(_ path: String, status: Int = 200, _ headers: String = "", body: Data = Data()) async throws {
        var target = "/control/answer?path=\(Self.escaped(path))&status=\(status)"
        for header in headers.split(separator: "\n") { target += "&header=\(Self.escaped(String(header)))" }
        let text = body.base64EncodedString().map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }
        target += "&body=\(Self.escaped(String(text)))"
        _ = try await LoopbackRequest.get(target, port: port)
    }

    /// All requests so far.
    public func requests() async throws -> [Request] {
        let body = try await LoopbackRequest.get("/control/log", port: port).body
        return try JSONDecoder().decode([Request].self, from: Data(body))
    }

    /// Stops it; its address refuses connections from now on.
    public func stop() async throws {
        process.withLock { $0 = nil }
        while (try? await LoopbackRequest.get("/control/log", port: port)) != nil {}
    }

    private static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain =
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || byte == 0x2D || byte == 0x5F
            let digits = String(byte, radix: 16)
            return isPlain ? String(UnicodeScalar(byte)) : "%" + (digits.count == 1 ? "0" : "") + digits
        }.joined()
    }
}
