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
            var template = Array("/tmp/webimage-s3-XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { throw TestServerError("no temporary directory: errno \(errno)") }
            let directory = template.withUnsafeBufferPointer {
                String(decoding: $0.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            }
            let port = try LoopbackRequest.unusedPort()
            let process = try ChildProcess(["bash", TestServers.path("s3_server.sh"), directory, "\(port)"])
            var line = [UInt8](repeating: 0, count: 16)
            if read(process.output, &line, line.count) > 0, String(decoding: line, as: UTF8.self).hasPrefix("ready") {
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
