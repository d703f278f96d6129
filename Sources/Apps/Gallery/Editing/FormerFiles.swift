import FoundationEssentials
import Glibc
import ProgramSupport

/// The former contents of files that were replaced, for Undo.
///
/// They are in one file without a name, which the system removes with this value, also if the program crashes. In memory, those of a
/// thousand photographs would be gigabytes.
final class FormerFiles: Sendable {
    private let descriptor: Int32
    private let end = LockedBox(0)

    /// Throws the error number. Blocks the thread.
    ///
    /// - Parameter folder: where the file is; that for temporary files on disk by default.
    init(in folder: String = FormerFiles.defaultFolder) throws(SystemError) {
        var name = Array("\(folder)/gallery-XXXXXX".utf8CString)
        descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw SystemError(number: errno) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unlink(name)
    }

    deinit { close(descriptor) }

    /// `TMPDIR` if it is set, otherwise `/var/tmp`, since `/tmp` is in memory on many systems.
    private static var defaultFolder: String {
        let folder = ProcessInfo.processInfo.environment["TMPDIR"] ?? ""
        return folder.isEmpty ? "/var/tmp" : folder
    }

    /// Keeps a content, and returns its place. Blocks the thread.
    func add(_ data: Data) throws(SystemError) -> Range<Int> {
        let range = end.withLock { end in
            defer { end += data.count }
            return end..<end + data.count
        }
        try FileBytes.write(data, to: descriptor, at: range.lowerBound)
        return range
    }

    /// Returns the content at a place. Blocks the thread.
    func content(at range: Range<Int>) throws(SystemError) -> Data { try FileBytes.read(range, of: descriptor) }
}
