internal import Glibc
public import WebImageCore

/// The cookies of a downloader's requests that handle them (``LoaderRequest/handlesCookies``); empty at first.
///
/// The rules are libcurl's: RFC 6265 with the `__Host-` and `__Secure-` prefixes and the public suffix list, so that no site
/// can set cookies for all of `co.uk`. Each hop of a redirect sends and takes only its own host's. `SameSite` is passed over:
/// there are no sites to be the same as. A cookie has at most 4,096 bytes; of more than about 50 a domain, or 3,000 in all,
/// the oldest go.
public final class CookieJar: Sendable {
    private let transport: any HTTPTransport

    init(transport: any HTTPTransport) { self.transport = transport }

    /// All of them, without those that have ended.
    public func cookies() async -> [Cookie] { await withStore { $0.cookies() } }

    /// Puts one in, in place of one with the same name, domain and path. One for a whole public suffix is taken, too.
    public func insert(_ cookie: Cookie) async { await withStore { $0.insert([cookie]) } }

    /// Takes one out.
    public func remove(_ cookie: Cookie) async { await withStore { $0.remove([cookie]) } }

    /// Takes them all out.
    public func removeAll() async { await withStore { $0.removeAll() } }

    /// Writes them to a file in Netscape's format, which curl and wget read, with those that have no end.
    ///
    /// Only its owner may read the file. It is replaced as a whole or not at all.
    /// - Throws: ``WebImageError/file(path:errno:)``.
    public func save(to path: String) async throws(WebImageError) {
        let lines = await cookies().map(\.netscapeLine)
        let text = "# Netscape HTTP Cookie File\n\n" + lines.map { $0 + "\n" }.joined()
        try await Self.onFileThread { () throws(WebImageError) in try CookieFile.write(text, to: path) }
    }

    /// Adds those of a file that ``save(to:)``, curl or wget has written; lines that are no cookies are passed over.
    ///
    /// - Throws: ``WebImageError/file(path:errno:)``, with `EFBIG` for more than 16 MiB.
    public func load(from path: String) async throws(WebImageError) {
        let text = try await Self.onFileThread { () throws(WebImageError) in try CookieFile.read(path) }
        let cookies = text.split(whereSeparator: \.isNewline).compactMap { Cookie(netscapeLine: $0) }
        await withStore { $0.insert(cookies) }
    }

    private func withStore<Value: Sendable>(_ body: @escaping @Sendable (any CookieStore) -> Value) async -> Value {
        // Without a thread it waits until a later load gets one.
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

/// Where the transport keeps cookies. Used on its thread alone.
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
