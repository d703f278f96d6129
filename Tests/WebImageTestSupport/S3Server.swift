import FoundationEssentials
import Glibc
import WebImageCore

/// A real S3 store on 127.0.0.1: Ceph's radosgw, see `Tests/Servers/s3_server.sh`. It starts in about two seconds.
public final class S3Server: Sendable {
    /// Where it listens.
    public let port: Int
    /// The keys of its account.
    public let (keyID, secret) = ("testkey", "testsecret")
    private let process: ChildProcess
    /// Held while a command runs.
    private let commands = LockBox(())

    /// Whether Debian's packages radosgw, ceph-mon, ceph-osd and faketime are there.
    public static let isInstalled = ["radosgw", "ceph-mon", "ceph-osd", "faketime"].allSatisfy {
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

    /// Stops the gateway; the objects stay.
    public func stopGateway() throws { try command("stop") }

    /// Starts the gateway again.
    ///
    /// - Parameter offset: how wrong its clock is, such as `+20m`.
    public func startGateway(clockOffset offset: String = "") throws { try command("start " + offset) }

    /// Runs `radosgw-admin`; no argument may contain a space.
    public func administer(_ arguments: String...) throws {
        try command((["admin"] + arguments).joined(separator: " "))
    }

    private func command(_ line: String) throws {
        try commands.withLock { _ in
            process.writeLine(line)
            guard process.readLine() == "done" else { throw TestServerError("radosgw: \(line) failed") }
        }
    }
}

/// A real S3 store without conditional writes on 127.0.0.1: OpenStack Swift, see `Tests/Servers/swift_store.py`.
public final class OpenStackServer: Sendable {
    /// Where it listens.
    public let port: Int
    /// The keys of its account.
    public let (keyID, secret) = ("test:key", "testsecret")
    private let process: ChildProcess

    /// Whether Debian's packages swift-proxy, swift-account, swift-container and swift-object are there.
    public static let isInstalled = ["proxy", "account", "container", "object"].allSatisfy {
        access("/usr/bin/swift-\($0)-server", X_OK) == 0
    }

    /// Starts the store; it stops with its last reference or the process.
    public init() throws {
        let directory = try ServerDirectory(for: "openstack").path
        process = try ChildProcess(["/usr/bin/python3", TestServers.path("swift_store.py"), directory])
        guard let port = Int(process.readLine()) else { throw TestServerError("OpenStack Swift does not start") }
        self.port = port
    }
}

/// An S3 store that only lists; see `Tests/Servers/listing_server.py`.
public final class ListingServer: Sendable {
    /// Where it listens.
    public let port: Int
    private let process: ChildProcess

    /// Starts it; it stops with its last reference or the process.
    ///
    /// - Parameter count: the number of objects.
    public init(count: Int) throws {
        process = try ChildProcess(["python3", TestServers.path("listing_server.py"), "\(count)"])
        guard let port = Int(process.readLine()) else { throw TestServerError("the listing server does not start") }
        self.port = port
    }
}
