public import FoundationEssentials
internal import Glibc
public import WebImageCore

/// The cookies of a downloader's requests with ``LoaderRequest/handlesCookies``; empty at first.
///
/// The rules are libcurl's: RFC 6265 with the `__Host-` and `__Secure-` prefixes and the public suffix list, so that no
/// site can set cookies for all of `co.uk`. Each hop of a redirect sends and receives only its own host's cookies.
/// `SameSite` is ignored, since there are no sites. A cookie has at most 4,096 bytes. Beyond about 50 cookies per
/// domain, or 3,000 in total, the oldest are removed.
public final class CookieJar: Sendable {
    private let transport: any HTTPTransport

    init(transport: any HTTPTransport) { self.transport = transport }

    /// Returns all cookies that have not expired.
    func cookies() async -> [Cookie] { await withStore { $0.cookies() } }

    /// Inserts a cookie; it replaces one with the same name, domain and path. A cookie for a whole public suffix is
    /// accepted too.
    ///
    /// - Parameters:
    ///   - domain: the host.
    ///   - includesSubdomains: whether it is also sent to subdomains of `domain`.
    ///   - path: the path below which it is sent.
    ///   - isSecure: whether it is sent only over https, and to this machine.
    ///   - expires: `nil` for a session cookie, which lasts as long as the jar.
    /// - Returns: `false` if a part contains a line break, tab or semicolon, if name or domain are empty, or if the
    ///   path does not begin with `/`. Then nothing is inserted.
    @discardableResult
    public func insert(
        name: String, value: String, domain: String, includesSubdomains: Bool = false, path: String = "/",
        isSecure: Bool = false, expires: Date? = nil
    ) async -> Bool {
        let cookie = Cookie(
            name: name, value: value, domain: domain, includesSubdomains: includesSubdomains, path: path,
            isSecure: isSecure, expires: expires)
        guard let cookie else { return false }
        await insert(cookie)
        return true
    }

    func insert(_ cookie: Cookie) async { await withStore { $0.insert([cookie]) } }

    /// Removes a cookie.
    func remove(_ cookie: Cookie) async { await withStore { $0.remove([cookie]) } }

    /// Removes all cookies.
    public func removeAll() async { await withStore { $0.removeAll() } }

    /// Writes all cookies to a file in Netscape's format, which curl and wget read, including session cookies.
    ///
    /// Only its owner may read the file. It is replaced atomically.
    /// - Throws: ``WebImageError/file(path:errno:)``.
    public func save(to path: String) async throws(WebImageError) {
        let lines = await cookies().map(\.netscapeLine)
        let text = "# Netscape HTTP Cookie File\n\n" + lines.map { $0 + "\n" }.joined()
        try await Self.onFileThread { () throws(WebImageError) in try CookieFile.write(text, to: path) }
    }

    /// Inserts the cookies of a file written by ``save(to:)``, curl or wget. Other lines are ignored.
    ///
    /// - Throws: ``WebImageError/file(path:errno:)``, with `EFBIG` for more than 16 MiB.
    public func load(from path: String) async throws(WebImageError) {
        let text = try await Self.onFileThread { () throws(WebImageError) in try CookieFile.read(path) }
        let cookies = text.split(whereSeparator: \.isNewline).compactMap { Cookie(netscapeLine: String($0)) }
        await withStore { $0.insert(cookies) }
    }

    private func withStore<Value: Sendable>(_ body: @escaping @Sendable (any CookieStore) -> Value) async -> Value {
        // If the system has no thread to give, this waits until a later load gets one.
        _ = transport.prepare()
        return await withCheckedContinuation { continuation in
            transport.withCookies { continuation.resume(returning: body($0)) }
        }
    }

    private static let fileQueue = WorkQueue(label: "webimage-cookies", threadCount: 1)

    private static func onFileThread<Value: Sendable>(
        _ body: @escaping @Sendable () throws(WebImageError) -> Value
    ) async throws(WebImageError) -> Value {
        let result = await withCheckedContinuation { continuation in
            _ = fileQueue.submit(priority: .normal) {
                continuation.resume(returning: Result { () throws(WebImageError) in try body() })
            }
        }
        return try result.get()
    }
}

/// The transport's cookies. Used on its thread only.
package protocol CookieStore {
    func cookies() -> [Cookie]
    func insert(_ cookies: [Cookie])
    func remove(_ cookies: [Cookie])
    func removeAll()
}

/// A jar's file on disk.
private enum CookieFile {
    private static let byteLimit = 16 << 20

    static func write(_ text: String, to path: String) throws(WebImageError) {
        let temporary = path + ".\(getpid()).\(UInt32.random(in: 0...UInt32.max))"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .file(path: path, errno: errno) }
        var failure: Int32 = 0
        Array(text.utf8).withUnsafeBytes { bytes in
            do throws(RegularFile.Failure) {
                try RegularFile.writeAll(bytes) { rest, _ in Glibc.write(descriptor, rest.baseAddress, rest.count) }
            } catch {
                failure = error.errno
            }
        }
        if close(descriptor) != 0, failure == 0 { failure = errno }
        if failure == 0, rename(temporary, path) != 0 { failure = errno }
        guard failure == 0 else {
            unlink(temporary)
            throw .file(path: path, errno: failure)
        }
    }

    static func read(_ path: String) throws(WebImageError) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .file(path: path, errno: errno) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count != 0 else { return String(decoding: bytes, as: UTF8.self) }
            if count > 0 { bytes += buffer[..<count] } else if errno != EINTR { throw .file(path: path, errno: errno) }
            guard bytes.count <= byteLimit else { throw .file(path: path, errno: EFBIG) }
        }
    }
}

/// A cookie in a ``CookieJar`` (RFC 6265 §5.3).
package struct Cookie: Sendable, Hashable {
    /// The name.
    var name: String
    /// The value.
    var value: String
    /// The host, without a leading dot.
    var domain: String
    /// Whether it is also sent to subdomains of ``domain``.
    var includesSubdomains: Bool
    /// The path below which it is sent.
    var path: String
    /// Whether it is sent only over https, and to this machine.
    var isSecure: Bool
    /// Whether scripts of web pages should not see it. It has no effect here.
    var isHTTPOnly: Bool
    /// When it expires; `nil` for a session cookie, which lasts as long as the jar.
    var expires: Date?

    /// Creates a cookie; `nil` if a part contains a line break, tab or semicolon, if name or domain are empty, or if
    /// the path does not begin with `/`.
    init?(
        name: String, value: String, domain: String, includesSubdomains: Bool = false, path: String = "/",
        isSecure: Bool = false, isHTTPOnly: Bool = false, expires: Date? = nil
    ) {
        let isForbidden: (Unicode.Scalar) -> Bool = { $0.value < 0x20 || $0 == ";" || $0.value == 0x7F }
        for part in [name, value, domain, path] where part.unicodeScalars.contains(where: isForbidden) { return nil }
        guard !name.isEmpty, !domain.isEmpty, path.hasPrefix("/") else { return nil }
        self.name = name
        self.value = value
        self.domain = (domain.hasPrefix(".") ? String(domain.dropFirst()) : domain).lowercased()
        self.includesSubdomains = includesSubdomains
        self.path = path
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.expires = expires
    }
}

extension Cookie {
    /// Reads a line of a Netscape cookie file; `nil` for comments and anything else.
    init?(netscapeLine line: String) {
        let prefix = "#HttpOnly_"
        let isHTTPOnly = line.hasPrefix(prefix)
        let fields = String(isHTTPOnly ? line.dropFirst(prefix.count) : line[...])
            .split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 7, !line.hasPrefix("#") || isHTTPOnly, let seconds = fields[4][...].decimalNumber
        else { return nil }
        self.init(
            name: fields[5], value: fields[6], domain: fields[0], includesSubdomains: fields[1] == "TRUE",
            path: fields[2], isSecure: fields[3] == "TRUE", isHTTPOnly: isHTTPOnly,
            expires: seconds == 0 ? nil : Date(timeIntervalSince1970: Double(seconds)))
    }

    /// The line of a Netscape cookie file.
    var netscapeLine: String {
        // 0 means a session cookie, so that the beginning of 1970 becomes a second later.
        let limit = Double(1 << 52)
        let seconds = expires.map { max(1, Int64(min(max($0.timeIntervalSince1970, 1), limit))) } ?? 0
        let fields = [
            (isHTTPOnly ? "#HttpOnly_" : "") + (includesSubdomains ? "." : "") + domain,
            includesSubdomains ? "TRUE" : "FALSE", path, isSecure ? "TRUE" : "FALSE", String(seconds), name, value,
        ]
        return fields.joined(separator: "\t")
    }
}
