internal import CWebImageSystem
internal import FoundationEssentials
internal import Glibc

/// A temporary file without a name. It is deleted with this object, also when the process is killed.
package final class UnnamedFile: Sendable {
    /// The descriptor, open for reading and writing while this object exists.
    package let descriptor: Int32
    /// The directory of the file.
    package let directory: String

    /// Creates an empty file.
    ///
    /// - Throws: ``WebImageError/ResourceFailure/temporaryFile(directory:errno:)``.
    package init(in directory: String = UnnamedFile.defaultDirectory) throws(WebImageError) {
        let descriptor = cwi_open_unnamed_file(directory)
        guard descriptor >= 0 else { throw .outOfResources(reason: .temporaryFile(directory: directory, errno: errno)) }
        self.descriptor = descriptor
        self.directory = directory
    }

    deinit { close(descriptor) }

    /// Whether the file system keeps its files in memory, so that writing there saves none.
    package var isInMemory: Bool { cwi_is_in_memory(descriptor) == 1 }

    /// `TMPDIR` if it is set, otherwise `/var/tmp`, since `/tmp` is in memory on many systems.
    package static var defaultDirectory: String {
        let path = ProcessInfo.processInfo.environment["TMPDIR"] ?? ""
        return path.isEmpty ? "/var/tmp" : path
    }
}
