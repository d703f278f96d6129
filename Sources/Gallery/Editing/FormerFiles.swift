import FoundationEssentials
import Glibc
import WebImageGTK

/// The former contents of files that were replaced, for Undo.
///
/// They are in one file without a name, which the system removes with this value, also if the program crashes. In memory, those of a
/// thousand photographs would be gigabytes.
final class FormerFiles: Sendable {
    private let descriptor: Int32
    private let end = Lock(0)

    /// Throws the error number. Blocks the thread.
    ///
    /// - Parameter folder: where the file is; that for temporary files on disk by default.
    init(in folder: String = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/var/tmp") throws(SystemError) {
        var pattern = Array((folder + "/gallery-XXXXXX").utf8CString)
        descriptor = mkstemp(&pattern)
        guard descriptor >= 0 else { throw SystemError(number: errno) }
        // Not for programs that this one starts.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unlink(pattern)
    }

    deinit { close(descriptor) }

    /// Keeps a content, and returns its place. Blocks the thread.
    func add(_ data: Data) throws(SystemError) -> Range<Int> {
        let range = end.withLock { end in
            defer { end += data.count }
            return end..<end + data.count
        }
        let failure = data.withUnsafeBytes { bytes -> Int32? in
            var offset = 0
            while offset < bytes.count {
                let count = pwrite(
                    descriptor, bytes.baseAddress.map { $0 + offset }, bytes.count - offset, range.lowerBound + offset)
                guard count > 0 || count < 0 && errno == EINTR else { return count < 0 ? errno : ENOSPC }
                offset += max(0, count)
            }
            return nil
        }
        if let failure { throw SystemError(number: failure) }
        return range
    }

    /// Returns the content at a place. Blocks the thread.
    func content(at range: Range<Int>) throws(SystemError) -> Data {
        var data = Data(count: range.count)
        let failure = data.withUnsafeMutableBytes { bytes -> Int32? in
            var offset = 0
            while offset < bytes.count {
                let count = pread(
                    descriptor, bytes.baseAddress.map { $0 + offset }, bytes.count - offset, range.lowerBound + offset)
                guard count > 0 || count < 0 && errno == EINTR else { return count < 0 ? errno : EIO }
                offset += max(0, count)
            }
            return nil
        }
        if let failure { throw SystemError(number: failure) }
        return data
    }
}

/// The error number of a call of the system, with its text for users.
struct SystemError: Error, Equatable, CustomStringConvertible {
    let number: Int32

    var description: String { String(cString: strerror(number)) }
}
