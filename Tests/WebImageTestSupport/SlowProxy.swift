import FoundationEssentials

/// A port of 127.0.0.1 that passes connections on to another one, and what comes back later; see
/// `Tests/Servers/slow_proxy.py`.
public final class SlowProxy: Sendable {
    /// Where it listens.
    public let port: Int
    private let process: ChildProcess

    /// Starts it; it stops with its last reference or the process.
    public init(to port: Int, milliseconds: Int) throws {
        process = try ChildProcess(["python3", TestServers.path("slow_proxy.py"), "\(port)", "\(milliseconds)"])
        guard let port = Int(process.readLine()) else {
            throw TestServerError("the slow proxy does not start")
        }
        self.port = port
    }
}
