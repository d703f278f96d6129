public import FoundationEssentials

/// The server of `Tests/Servers/connection_server.py`, whose first lines name what it can do.
public final class ConnectionServer: Sendable {
    private let ports: [Port: Int]
    private let process: ChildProcess

    /// The protocol of a port.
    public enum Port: String, CaseIterable, Sendable {
        case plain, tls, http2 = "h2"
        /// HTTP/2 whose bodies are cut by a reset without an error.
        case http2Reset = "h2-reset"
        /// HTTP/2 whose bodies come on another stream.
        case http2Stray = "h2-stray"
        /// HTTP/2 that refuses every password, without a body.
        case http2Digest = "h2-digest"
    }

    /// The events so far, by the raw value of a port.
    public struct Statistics: Decodable, Sendable {
        public let connections: [String: Int], requests: [String: Int]
    }

    /// The body of its responses, and of the unsolicited response.
    public static let body = FaultServer.pattern(10), strayBody = Data("STRAY".utf8)

    /// Starts the server with ``TestCertificates/Name/valid``; it stops with its last reference or the process.
    public init() throws {
        let certificates = try TestCertificates.shared.get()
        process = try ChildProcess([
            "python3", TestServers.path("connection_server.py"), certificates.certificate(.valid),
            certificates.privateKey(.valid),
        ])
        let numbers = process.readLine().split(separator: " ").compactMap { Int($0) }
        guard numbers.count == Port.allCases.count else {
            throw TestServerError("the connection server does not start")
        }
        ports = Dictionary(uniqueKeysWithValues: zip(Port.allCases, numbers))
    }

    /// A URL on it; `path` begins with a slash.
    public func url(_ port: Port, _ path: String) throws -> URL {
        try TestServers.url(scheme: port == .plain ? "http" : "https", port: ports[port] ?? 0, path: path)
    }

    /// Makes it send what `/kept` and `/close-kept` announce, and waits until it has. Returns the number of
    /// connections.
    public func push() async throws -> Int {
        let body = try await LoopbackRequest.get("/control/push", port: ports[.plain] ?? 0).body
        return Int(String(decoding: body, as: UTF8.self)) ?? 0
    }

    /// The events so far.
    public func statistics() async throws -> Statistics {
        let body = try await LoopbackRequest.get("/control/statistics", port: ports[.plain] ?? 0).body
        return try JSONDecoder().decode(Statistics.self, from: Data(body))
    }
}
