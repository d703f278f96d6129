public import FoundationEssentials
import WebImageCore

/// The server of `Tests/Servers/reverse_server.py`, which answers the newest request first.
public final class ReverseServer: Sendable {
    private let port: Int
    private let process: ChildProcess

    /// Starts the server; it stops with its last reference or the process.
    public init() throws {
        process = try ChildProcess(["python3", TestServers.path("reverse_server.py")])
        guard let port = Int(process.readLine()) else {
            throw TestServerError("the reverse server does not start")
        }
        self.port = port
    }

    /// The URL of an image of one colour.
    public func url(red: UInt8, green: UInt8, blue: UInt8) throws -> URL {
        try TestServers.url(port: port, path: "/\(red)/\(green)/\(blue)")
    }
}
