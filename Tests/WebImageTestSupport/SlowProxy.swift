import FoundationEssentials
import Glibc

/// A port of 127.0.0.1 that passes connections on to another one, and what comes back later; see
/// `Tests/Servers/slow_proxy.py`.
public final class SlowProxy: Sendable {
    /// Where it listens.
    public let port: Int
    private let process: ChildProcess

    /// Starts it; it stops with its last reference or the process.
    public init(to port: Int, milliseconds: Int) throws {
        process = try ChildProcess(["python3", TestServers.path("slow_proxy.py"), "\(port)", "\(milliseconds)"])
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(process.output, &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
        guard let port = Int(String(decoding: line, as: UTF8.self)) else {
            throw TestServerError("the slow proxy does not start")
        }
        self.port = port
    }
}
