import FoundationEssentials

/// The proxies of `Tests/Servers/proxy_server.py`. They take every name for 127.0.0.1.
public final class TestProxy: Sendable {
    /// Their ports on 127.0.0.1.
    public let httpPort: Int, socksPort: Int
    private let process: ChildProcess

    /// The request of a client.
    public struct Entry: Decodable, Sendable {
        /// `forward`, `connect`, `socks4`, `socks4a`, `socks5` or `socks5h`.
        public let kind: String
        /// `HOST:PORT` as it came.
        public let target: String
        /// The `Proxy-Authorization` header.
        public let authorization: String?
    }

    /// Starts them; they stop with the last reference or the process.
    ///
    /// - Parameter credential: `USER:PASSWORD` to ask for.
    public init(credential: String? = nil) throws {
        let arguments = credential.map { ["--credential", $0] } ?? []
        process = try ChildProcess(["python3", TestServers.path("proxy_server.py")] + arguments)
        let ports = process.readLine().split(separator: " ").compactMap { Int($0) }
        guard ports.count == 2 else { throw TestServerError("the proxies do not start") }
        (httpPort, socksPort) = (ports[0], ports[1])
    }

    /// Everything asked for so far.
    public func log() async throws -> [Entry] {
        let body = try await LoopbackRequest.get("http://control/log", port: httpPort).body
        return try JSONDecoder().decode([Entry].self, from: Data(body))
    }
}
