import FoundationEssentials
import Glibc

/// Reads and writes open files. Each function blocks the thread.
enum FileBytes {
    /// Writes all of `data` at a place of the file.
    static func write(_ data: Data, to descriptor: Int32, at place: Int = 0) throws(SystemError) {
        try data.bytes.withUnsafeBytes { bytes throws(SystemError) in
            var length = 0
            while length < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[length...])
                let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(place + length))
                if count < 0, errno == EINTR { continue }
                // A call that writes nothing does not set `errno`.
                guard count > 0 else { throw SystemError(number: count < 0 ? errno : EIO) }
                length += count
            }
        }
    }

    /// Returns the bytes at a place of the file.
    static func read(_ range: Range<Int>, of descriptor: Int32) throws(SystemError) -> Data {
        var data = Data(count: range.count)
        let failure = data.withUnsafeMutableBytes { bytes -> SystemError? in
            var length = 0
            while length < bytes.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[length...])
                let count = pread(descriptor, rest.baseAddress, rest.count, off_t(range.lowerBound + length))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return SystemError(number: count < 0 ? errno : EIO) }
                length += count
            }
            return nil
        }
        if let failure { throw failure }
        return data
    }
}

/// The error number of a call of the system, with its text for users.
struct SystemError: Error, Equatable, CustomStringConvertible {
    let number: Int32

    var description: String { String(cString: strerror(number)) }
}
