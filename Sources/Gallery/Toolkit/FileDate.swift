import FoundationEssentials
import Glibc

/// The dates of files.
enum FileDate {
    /// When a file was modified; `nil` if there is none. Blocks the thread.
    static func modified(of file: URL) -> Date? {
        var status = stat()
        guard stat(file.path(percentEncoded: false), &status) == 0 else { return nil }
        return Date(timeIntervalSince1970: Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1e9)
    }
}
