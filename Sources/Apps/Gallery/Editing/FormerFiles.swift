import FoundationEssentials
import Glibc
import WebImageGTK

/// The former contents of files that were replaced, for Undo.
///
/// They are in one file without a name, which the system removes with this value, also if the program crashes. In memory, those of a
/// thousand photographs would be gigabytes.
final class FormerFiles: Sendable {
    private let file: UnnamedFile
    private let end = Lock(0)

    /// Throws the error number. Blocks the thread.
    ///
    /// - Parameter folder: where the file is; that for temporary files on disk by default.
    init(in folder: String = UnnamedFile.defaultDirectory) throws(SystemError) {
        do throws(WebImageError) {
            file = try UnnamedFile(in: folder)
        } catch {
            guard case .outOfResources(.temporaryFile(_, let number), _) = error else { throw SystemError(number: EIO) }
            throw SystemError(number: number)
        }
    }

    /// Keeps a content, and returns its place. Blocks the thread.
    func add(_ data: Data) throws(SystemError) -> Range<Int> {
        let range = end.withLock { end in
            defer { end += data.count }
            return end..<end + data.count
        }
        do throws(RegularFile.Failure) {
            try data.bytes.withUnsafeBytes { bytes throws(RegularFile.Failure) in
                try RegularFile.writeAll(bytes) { rest, offset in
                    pwrite(file.descriptor, rest.baseAddress, rest.count, range.lowerBound + offset)
                }
            }
        } catch {
            throw SystemError(number: error.errno)
        }
        return range
    }

    /// Returns the content at a place. Blocks the thread.
    func content(at range: Range<Int>) throws(SystemError) -> Data {
        var data = Data(count: range.count)
        let length = data.withUnsafeMutableBytes { bytes in
            Result { () throws(RegularFile.Failure) in
                try RegularFile.readAll(file.descriptor, at: Int64(range.lowerBound), into: bytes)
            }
        }
        switch length {
        case .success(data.count): return data
        case .success: throw SystemError(number: EIO)
        case .failure(let failure): throw SystemError(number: failure.errno)
        }
    }
}

/// The error number of a call of the system, with its text for users.
struct SystemError: Error, Equatable, CustomStringConvertible {
    let number: Int32

    var description: String { String(cString: strerror(number)) }
}
