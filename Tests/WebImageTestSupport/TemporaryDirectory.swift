public import FoundationEssentials
import Glibc

/// A directory of its own for a test, removed with everything in it when the last reference goes.
public final class TemporaryDirectory: Sendable {
    /// Absolute, without a slash at the end.
    public let path: String

    /// Makes an empty directory under the system's temporary directory.
    ///
    /// - Parameter inMemory: whether it is on `/dev/shm`, if that has 1 GiB free: there, tests that make the file
    ///   system write its cache to the disk do not wait for it.
    public init(inMemory: Bool = false) throws {
        var status = statvfs()
        let isInMemory = inMemory && statvfs("/dev/shm", &status) == 0 && status.f_bavail * status.f_frsize >= 1 << 30
        var template = Array("\(isInMemory ? "/dev/shm" : "/tmp")/webimage-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TestServerError("no temporary directory: errno \(errno)") }
        path = template.withUnsafeBufferPointer {
            String(decoding: $0.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    deinit { Self.remove(path) }

    /// Removes a directory with everything in it, also while the caches in it close: they remove files of their own, and a file that is gone
    /// ends `FileManager`'s removal.
    public static func remove(_ path: String) {
        for _ in 0..<100 {
            try? FileManager.default.removeItem(atPath: path)
            if !FileManager.default.fileExists(atPath: path) { return }
        }
    }

    /// The path of an entry in it, there or not.
    public func path(_ name: String) -> String { path + "/" + name }

    /// A `file:` URL of an entry in it.
    public func url(_ name: String) -> URL { URL(filePath: path(name), directoryHint: .notDirectory) }

    /// Writes a file, with the directories on the way to it.
    @discardableResult
    public func write(_ data: Data, to name: String) throws -> URL {
        let url = url(name)
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try data.write(to: url)
        return url
    }
}
