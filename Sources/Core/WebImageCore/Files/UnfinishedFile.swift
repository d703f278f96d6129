package import FoundationEssentials
internal import Glibc
package import SystemText

/// A file that gets its name once all its bytes are written, so that other programs see the former file or the new one as a whole.
///
/// The bytes go to a temporary file in the same directory. It is removed with this object, unless ``finish()`` has renamed it. Links are
/// followed, and a replaced file keeps its permissions. Used by one thread at a time; each call blocks.
package final class UnfinishedFile {
    /// The file to replace, without links.
    private let path: SystemString
    private let temporaryPath: SystemString
    /// -1 after ``finish()``.
    private var descriptor: Int32
    /// The number of bytes so far.
    package private(set) var byteCount = 0

    /// Creates the temporary file.
    ///
    /// - Throws: ``WebImageError/file(path:errno:)``, also for a path of anything but a regular file, or of nothing.
    package init(replacing path: SystemString) throws(WebImageError) {
        let target = Self.resolved(path)
        var status = stat()
        let exists = target.withCString { stat($0, &status) } == 0
        if exists, status.st_mode & S_IFMT != S_IFREG {
            throw .file(path: path.description, errno: status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EOPNOTSUPP)
        }
        let folder = SystemString(target.bytes[...(target.bytes.lastIndex(of: UInt8(ascii: "/")) ?? -1)])
        // Users who cannot read the former file must not be able to read the new one, even while it is written.
        let (descriptor, temporaryPath) = try Self.temporaryFile(
            in: folder, permissions: exists ? 0o600 : 0o666, for: path)
        // This fails on a file system without permissions, which has none to preserve.
        if exists { fchmod(descriptor, status.st_mode & 0o777) }
        (self.path, self.temporaryPath, self.descriptor) = (target, temporaryPath, descriptor)
    }

    deinit { remove() }

    /// Writes bytes behind those so far.
    package func append(_ data: Data) throws(WebImageError) {
        try write(data, at: byteCount)
        byteCount += data.count
    }

    /// Replaces bytes that were written.
    package func overwrite(_ data: Data, at offset: Int) throws(WebImageError) { try write(data, at: offset) }

    /// Drops all bytes, to begin anew.
    package func clear() throws(WebImageError) {
        guard ftruncate(descriptor, 0) == 0 else { throw error(errno) }
        byteCount = 0
    }

    /// Gives the file its name. Call it once, after the last byte.
    package func finish() throws(WebImageError) {
        // Some file systems say only now that they are full.
        let isClosed = close(descriptor) == 0
        descriptor = -1
        let isRenamed =
            isClosed && temporaryPath.withCString { from in path.withCString { to in rename(from, to) == 0 } }
        guard isRenamed else {
            let failure = error(errno)
            _ = temporaryPath.withCString { unlink($0) }
            throw failure
        }
    }

    private func remove() {
        guard descriptor >= 0 else { return }
        close(descriptor)
        _ = temporaryPath.withCString { unlink($0) }
    }

    private func write(_ data: Data, at start: Int) throws(WebImageError) {
        do throws(RegularFile.Failure) {
            try data.bytes.withUnsafeBytes { (bytes) throws(RegularFile.Failure) in
                try RegularFile.writeAll(bytes) { rest, offset in
                    pwrite(descriptor, rest.baseAddress, rest.count, off_t(start + offset))
                }
            }
        } catch {
            throw self.error(error.errno)
        }
    }

    private func error(_ number: Int32) -> WebImageError { .file(path: path.description, errno: number) }

    /// Follows links, whether or not there is a file behind them.
    private static func resolved(_ path: SystemString) -> SystemString {
        var resolved = path
        // The same number of links that the system follows. More are an error of the system.
        for _ in 0..<40 {
            var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = resolved.withCString { readlink($0, &bytes, bytes.count) }
            guard count > 0 else { break }
            let target = SystemString(bytes[..<count].map(UInt8.init(bitPattern:)))
            let slash = resolved.bytes.lastIndex(of: UInt8(ascii: "/")) ?? -1
            resolved = target.hasPrefix("/") ? target : SystemString(resolved.bytes[...slash]) + target
        }
        return resolved
    }

    /// - Parameter path: for errors.
    private static func temporaryFile(
        in folder: SystemString, permissions: mode_t, for path: SystemString
    ) throws(WebImageError) -> (Int32, SystemString) {
        for _ in 0..<100 {
            // Short: the file's own name may be as long as names can be.
            let temporaryPath = folder + ".webimage-\(String(UInt32.random(in: 0 ... .max), radix: 36))"
            let descriptor = temporaryPath.withCString {
                open($0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, permissions)
            }
            if descriptor >= 0 { return (descriptor, temporaryPath) }
            guard errno == EEXIST else { throw .file(path: path.description, errno: errno) }
        }
        throw .file(path: path.description, errno: EEXIST)
    }
}
