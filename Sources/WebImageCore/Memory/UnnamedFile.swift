internal import CWebImageSystem
internal import FoundationEssentials
internal import Glibc

/// A temporary file without a name: it is gone with this object, also when the process is killed.
package final class UnnamedFile: Sendable {
    /// Open for reading and writing as long as this object lives.
    package let descriptor: Int32
    /// Where it lies.
    package let directory: String

    /// Makes an empty file.
    ///
    /// - Throws: ``WebImageError/temporaryFile(directory:errno:)``.
    package init(in directory: String = UnnamedFile.defaultDirectory) throws(WebImageError) {
        let descriptor = cwi_open_unnamed_file(directory)
        guard descriptor >= 0 else { throw .temporaryFile(directory: directory, errno: errno) }
        self.descriptor = descriptor
        self.directory = directory
    }

    deinit { close(descriptor) }

    /// Whether the file system keeps its files in memory, so that nothing is gained by writing there.
    package var isInMemory: Bool { cwi_is_in_memory(descriptor) == 1 }

    /// `TMPDIR` where that is set, else `/var/tmp`: `/tmp` is in memory on many systems.
    package static var defaultDirectory: String {
        let path = ProcessInfo.processInfo.environment["TMPDIR"] ?? ""
        return path.isEmpty ? "/var/tmp" : path
    }
}
