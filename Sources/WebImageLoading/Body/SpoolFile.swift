internal import CWebImageSystem
internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// A temporary file without a name. It is deleted with its last descriptor and mapping, also when the process is
/// killed.
final class SpoolFile: Sendable {
    private let descriptor: Int32
    private let directory: String

    init(in directory: URL) throws(WebImageError) {
        let path = directory.path(percentEncoded: false)
        let descriptor = cwi_open_unnamed_file(path)
        guard descriptor >= 0 else { throw .outOfResources(reason: .temporaryFile(directory: path, errno: errno)) }
        self.descriptor = descriptor
        self.directory = path
    }

    deinit { close(descriptor) }

    func write(_ bytes: Data, at offset: Int64) throws(WebImageError) {
        let failure = bytes.withUnsafeBytes { bytes -> Int32 in
            do throws(RegularFile.Failure) {
                try RegularFile.writeAll(bytes) { rest, written in
                    pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(written))
                }
                return 0
            } catch {
                return error.errno
            }
        }
        guard failure == 0 else { throw .outOfResources(reason: .temporaryFile(directory: directory, errno: failure)) }
    }

    /// Maps the first bytes, which must have been written. The mapping lives as long as the data.
    func map(_ byteCount: Int) throws(WebImageError) -> Data {
        guard byteCount > 0 else { return Data() }
        // Writable and private: `Data` is copied on write, so nothing writes to the mapping. If something did, only
        // private pages would change.
        let start = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0)
        guard let start, start != MAP_FAILED else {
            throw .outOfResources(reason: .temporaryFile(directory: directory, errno: errno))
        }
        return Data(bytesNoCopy: start, count: byteCount, deallocator: .custom { start, count in munmap(start, count) })
    }
}
