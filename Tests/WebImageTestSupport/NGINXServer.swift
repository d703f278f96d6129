public import FoundationEssentials
import Glibc
import WebImageCore

/// A real nginx on a free port of 127.0.0.1 that serves a directory.
///
/// Beside the directory it has the same files at 20 KB/s as `/slow/…`, gzip-coded for those who accept it as `/gzip/…`,
/// and for `user` with `secret` (Basic authentication) as `/private/…`; and `/page.html`, a web page with status 200.
public final class NGINXServer: Sendable {
    /// Where it listens on 127.0.0.1.
    public let port: Int
    /// The directory it serves.
    public let root: String
    private let securePorts: [TestCertificates.Name: Int]
    private let process: ChildProcess
    private let log: AccessLog

    /// A line of the access log, in the order in which answers ended.
    public struct Entry: Sendable, Equatable {
        /// Such as `GET`.
        public let method: String
        /// With its query, as it came.
        public let path: String
        /// 499 when the client closed the connection before the answer ended.
        public let status: Int
        /// Bytes of the body that were sent.
        public let byteCount: Int
        /// A number for the connection; equal for requests that shared one.
        public let connection: Int
        /// `HTTP/1.1` or `HTTP/2.0`.
        public let httpVersion: String
        /// The request's `Range` and `If-Range`; `nil` where it had none.
        public var range: String?, ifRange: String?
    }

    /// Starts nginx; it stops with its last reference or the process.
    ///
    /// - Parameters:
    ///   - root: the directory to serve; `nil` for an empty one of its own, removed with the server.
    ///   - certificates: with which to serve the same over TLS, each on a port of its own.
    ///   - offersHTTP2: whether it offers HTTP/2 over TLS.
    ///   - locations: more of nginx's configuration, such as `location /x { return 500; }`.
    public init(
        root: String? = nil, certificates: [TestCertificates.Name] = [], offersHTTP2: Bool = true,
        locations: String = ""
    ) throws {
        for _ in 0..<4 {
            let (port, securePorts) = (try LoopbackRequest.unusedPort(), try Self.unusedPorts(for: certificates))
            let listeners = try Self.listeners(port: port, securePorts: securePorts, offersHTTP2: offersHTTP2)
            // Another process may take a port before nginx does; it then does not answer as ours would.
            if let started = try Self.start(port: port, listeners: listeners, root: root, locations: locations) {
                (self.port, self.securePorts) = (port, securePorts)
                (self.root, process, log) = started
                return
            }
        }
        throw TestServerError("nginx does not start; is it installed?")
    }

    /// Adds a file to what it serves.
    public func write(_ data: Data, to name: String) throws {
        try data.write(to: URL(filePath: root + "/" + name, directoryHint: .notDirectory))
    }

    /// Stops it now.
    public func stop() { process.stop() }

    /// A URL on it; `path` begins with a slash.
    public func url(_ path: String) throws -> URL { try TestServers.url(port: port, path: path) }

    /// An `https:` URL on it; `path` begins with a slash.
    ///
    /// - Parameters:
    ///   - certificate: one of those it was started with.
    ///   - host: `127.0.0.1`, or a name at or below `localhost`, which libcurl itself takes for this machine.
    public func secureURL(
        _ path: String, certificate: TestCertificates.Name = .valid, host: String = "127.0.0.1"
    ) throws -> URL {
        guard let port = securePorts[certificate] else { throw TestServerError("nginx has no '\(certificate)'") }
        return try TestServers.url(scheme: "https", host: host, port: port, path: path)
    }

    /// Every request whose answer has ended so far.
    public func accessLog() async throws -> [Entry] {
        // One process writes the log in the order of events: once this request is in it, all before it are.
        let mark = "/.mark/\(log.nextMark())"
        _ = try await LoopbackRequest.get(mark, port: port)
        try await log.wait(for: mark)
        return log.entries
    }

    /// Forgets the entries so far.
    public func clearAccessLog() async throws {
        _ = try await accessLog()
        log.clear()
    }

    /// Waits until a request for `path` is in the log, its answer complete or not.
    public func waitForEntry(path: String) async throws -> Entry {
        try await log.wait(for: path)
    }

    private static func unusedPorts(
        for certificates: [TestCertificates.Name]
    ) throws -> [TestCertificates.Name: Int] {
        var ports: [TestCertificates.Name: Int] = [:]
        for certificate in certificates { ports[certificate] = try LoopbackRequest.unusedPort() }
        return ports
    }

    private static func start(
        port: Int, listeners: [Listener], root: String?, locations: String
    ) throws -> (String, ChildProcess, AccessLog)? {
        let directory = try ServerDirectory(for: "nginx")
        let root = root ?? directory.path + "/root"
        mkdir(root, 0o755)
        let token = "\(UInt64.random(in: 1...UInt64.max))"
        try Data("user:{PLAIN}secret\n".utf8).write(to: URL(filePath: directory.path + "/passwords"))
        let locations = Self.locations(root: root, directory: directory.path, token: token) + locations
        let text = configuration(listeners: listeners, root: root, directory: directory.path, locations: locations)
        try Data(text.utf8).write(to: URL(filePath: directory.path + "/nginx.conf"))
        let process = try ChildProcess([
            "sh", TestServers.path("run_until_eof.sh"), directory.path,
            "/usr/sbin/nginx", "-p", directory.path, "-c", "nginx.conf", "-e", "error.log",
        ])
        let log = AccessLog()
        process.readLines { log.append(line: $0) }

        let deadline = ContinuousClock.now + .seconds(10)
        while ContinuousClock.now < deadline {
            if let answer = try? LoopbackRequest.getBlocking("/.ready", port: port, atMost: 2) {
                return answer.body == Array(token.utf8) ? (root, process, log) : nil
            }
            usleep(5000)
        }
        return nil
    }
}

/// Where a server keeps its files. It is removed by the script that runs the server, which outlives the tests, and not by us.
struct ServerDirectory {
    let path: String

    init(for server: String) throws {
        path = try makeTemporaryDirectory(in: systemTemporaryDirectory, named: "webimage-\(server)-XXXXXX")
    }
}

/// The entries so far, and the readers that wait for one.
private final class AccessLog: Sendable {
    private struct State {
        var entries: [NGINXServer.Entry] = []
        var marks: Set<String> = []
        var lastMark = 0
        var waiters: [(path: String, countdown: Countdown)] = []
    }

    private let state = LockBox(State())

    var entries: [NGINXServer.Entry] { state.withLock { $0.entries } }

    func clear() { state.withLock { $0.entries = [] } }

    func nextMark() -> Int {
        state.withLock { state in
            state.lastMark += 1
            return state.lastMark
        }
    }

    func append(line: String) {
        let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
        let parts = fields[0].split(separator: " ")
        guard fields.count == 3, parts.count == 6, let status = Int(parts[2]), let byteCount = Int(parts[3]),
            let connection = Int(parts[4])
        else { return }
        let path = String(parts[1])
        let entry = NGINXServer.Entry(
            method: String(parts[0]), path: path, status: status, byteCount: byteCount, connection: connection,
            httpVersion: String(parts[5]), range: Self.value(fields[1]), ifRange: Self.value(fields[2]))
        let woken = state.withLock { state in
            if path.hasPrefix("/.mark/") { state.marks.insert(path) } else { state.entries.append(entry) }
            let woken = state.waiters.filter { $0.path == path }
            state.waiters.removeAll { $0.path == path }
            return woken
        }
        woken.forEach { $0.countdown.signal() }
    }

    /// Of a header that may be missing; quotation marks come escaped.
    private static func value(_ field: Substring) -> String? {
        field == "-" ? nil : String(field.replacing("\\x22", with: "\""))
    }

    @discardableResult
    func wait(for path: String) async throws -> NGINXServer.Entry {
        let countdown = Countdown()
        state.withLock { state in
            if state.marks.contains(path) || state.entries.contains(where: { $0.path == path }) {
                countdown.signal()
            } else {
                state.waiters.append((path, countdown))
            }
        }
        try await countdown.wait()
        return entries.last { $0.path == path }
            ?? NGINXServer.Entry(method: "GET", path: path, status: 204, byteCount: 0, connection: 0, httpVersion: "")
    }
}
