import FoundationEssentials
import Glibc
import WebImageCore

/// A real S3 store on 127.0.0.1: Ceph's radosgw, see `Tests/Servers/s3_server.sh`. It starts in about ten seconds.
public final class S3Server: Sendable {
    /// Where it listens.
    public let port: Int
    /// The keys of its account.
    public let (keyID, secret) = ("testkey", "testsecret")
    private let process: ChildProcess

    /// Whether Debian's packages radosgw, ceph-mon and ceph-osd are there.
    public static let isInstalled = ["radosgw", "ceph-mon", "ceph-osd"].allSatisfy {
        access("/usr/bin/" + $0, X_OK) == 0
    }

    /// Starts the store; it stops with its last reference or the process.
    public init() throws {
        for _ in 0..<3 {
            let directory = try ServerDirectory(for: "s3").path
            let port = try LoopbackRequest.unusedPort()
            let process = try ChildProcess(["bash", TestServers.path("s3_server.sh"), directory, "\(port)"])
            if process.readLine() == "ready" {
                (self.port, self.process) = (port, process)
                return
            }
            process.stop()
        }
        throw TestServerError("radosgw does not start")
    }

    /// Stops it now.
    public func stop() { process.stop() }
}
