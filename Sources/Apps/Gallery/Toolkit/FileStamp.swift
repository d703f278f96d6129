import FoundationEssentials
import Glibc
import ProgramSupport
import WebImageGTK

/// Tells whether a file has changed: which file it is, its size, and when it was changed last.
struct FileStamp: Sendable, Hashable {
    private let device: UInt
    private let number: UInt
    private let size: Int
    /// Of the content, which programs can set, and of content and status, which they cannot.
    private let times: [Int]

    init(_ status: stat) {
        (device, number, size) = (UInt(status.st_dev), UInt(status.st_ino), Int(status.st_size))
        times = [status.st_mtim, status.st_ctim].flatMap { [$0.tv_sec, $0.tv_nsec] }
    }

    /// `nil` with an error number if the file cannot be found. Follows links. Blocks the thread.
    init?(path: SystemString) {
        var status = stat()
        guard path.withCString({ stat($0, &status) }) == 0 else { return nil }
        self.init(status)
    }

    /// Like the initializer above, for a file URL.
    init?(of file: URL) { self.init(path: file.filePath) }
}
