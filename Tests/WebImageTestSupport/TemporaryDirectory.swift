public import FoundationEssentials
import Glibc
import WebImageCore

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
        path = try makeTemporaryDirectory(
            in: isInMemory ? Self.folderInMemory.get() : Self.folder.get(), named: "XXXXXX")
    }

    /// What is written after this goes when the process ends.
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

    // MARK: The directories of the process

    /// All directories of the process are in these, which go when it ends: threads of a cache may write after a test, and static
    /// objects have no other end.
    private static let folder = Result { try makeFolder(in: systemTemporaryDirectory) }
    private static let folderInMemory = Result { try makeFolder(in: "/dev/shm") }
    private static let folders = LockBox<[String]>([])
    /// A process that this one forks does not remove them.
    private static let owner = getpid()

    private static func makeFolder(in place: String) throws -> String {
        let folder = try makeTemporaryDirectory(in: place, named: "webimage-test-XXXXXX")
        // Programs that run as another user find what they may read.
        chmod(folder, 0o711)
        let isFirst = folders.withLock { folders in
            folders.append(folder)
            return folders.count == 1
        }
        if isFirst {
            _ = owner
            atexit {
                guard getpid() == TemporaryDirectory.owner else { return }
                TemporaryDirectory.folders.withLock { $0 }.forEach(TemporaryDirectory.remove)
            }
        }
        return folder
    }
}

/// `TMPDIR`, or `/tmp`.
let systemTemporaryDirectory = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"

/// - Parameter name: ends with `XXXXXX`, for which other characters stand then.
func makeTemporaryDirectory(in place: String, named name: String) throws -> String {
    var template = Array("\(place)/\(name)".utf8CString)
    guard mkdtemp(&template) != nil else { throw TestServerError("no temporary directory: errno \(errno)") }
    return template.withUnsafeBufferPointer {
        String(decoding: $0.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
