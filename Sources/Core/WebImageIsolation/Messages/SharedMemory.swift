internal import CWebImageIsolation
import FoundationEssentials
internal import Glibc
import WebImageCore

/// Memory that a program and a decoder process share, by a descriptor. Closed with this object.
package final class SharedMemory: Sendable {
    /// The descriptor, valid while this object exists.
    package let descriptor: Int32
    /// In bytes.
    package let byteCount: Int
    private let inode: UInt64
    /// The file of which this is a copy.
    private let original: Data?

    private init(_ descriptor: Int32, byteCount: Int, original: Data? = nil) {
        self.descriptor = descriptor
        self.byteCount = byteCount
        inode = cwi_inode(descriptor)
        self.original = original
    }

    // The program may have closed all descriptors, so that another file has the number.
    deinit { cwi_close_same(descriptor, inode) }

    /// Whether the descriptor still is that of this memory.
    var isOpen: Bool { cwi_inode(descriptor) == inode }

    /// Creates memory, which takes no memory before it is written.
    ///
    /// - Throws: the system's error number.
    convenience init(byteCount: Int) throws(RegularFile.Failure) {
        let descriptor = cwi_memory_create(byteCount)
        guard descriptor >= 0 else { throw RegularFile.Failure(errno: errno) }
        self.init(descriptor, byteCount: byteCount)
    }

    /// Creates memory with these bytes, which no process can change.
    ///
    /// - Parameter original: the owner of the bytes, which exists as long as this.
    /// - Throws: the system's error number.
    convenience init(
        constant bytes: UnsafeRawBufferPointer, of original: Data? = nil
    ) throws(RegularFile.Failure) {
        let descriptor = cwi_memory_create_constant(bytes.baseAddress, bytes.count)
        guard descriptor >= 0 else { throw RegularFile.Failure(errno: errno) }
        self.init(descriptor, byteCount: bytes.count, original: original)
    }

    /// Copies the descriptor of a file, so that a decoder gets it.
    ///
    /// - Throws: the system's error number.
    convenience init(copyOf descriptor: Int32) throws(RegularFile.Failure) {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw RegularFile.Failure(errno: errno) }
        self.init(copy, byteCount: Int(max(0, cwi_memory_length(copy))))
    }

    /// Takes over a descriptor that came with a message.
    ///
    /// - Parameter isFromProgram: whether it may be a file that can change its length.
    convenience init?(received descriptor: Int32, isFromProgram: Bool) {
        let byteCount = isFromProgram ? cwi_memory_length(descriptor) : cwi_memory_fixed_length(descriptor)
        guard byteCount > 0 else {
            close(descriptor)
            return nil
        }
        self.init(descriptor, byteCount: Int(byteCount))
    }

    /// Copies bytes to the beginning. Does not map the memory.
    ///
    /// - Throws: the system's error number.
    func write(_ bytes: UnsafeRawBufferPointer) throws(RegularFile.Failure) {
        let error = cwi_memory_write(descriptor, bytes.baseAddress, bytes.count)
        guard error == 0 else { throw RegularFile.Failure(errno: error) }
    }

    /// Copies bytes from `offset` on. Does not map the memory.
    ///
    /// - Throws: the system's error number.
    func read(at offset: Int, into bytes: UnsafeMutableRawBufferPointer) throws(RegularFile.Failure) {
        let error = cwi_memory_read(descriptor, offset, bytes.baseAddress, bytes.count)
        guard error == 0 else { throw RegularFile.Failure(errno: error) }
    }

    /// Gives the pages that are wholly inside a range back to the system.
    func clear(_ range: Range<Int>) { cwi_memory_clear(descriptor, range.lowerBound, range.count) }

    /// The use of mapped memory.
    package enum Access {
        /// Both processes see what is written.
        case shared
        /// Reading only.
        case reading
        /// Bytes that are written stay in this process.
        case copying

        fileprivate var access: cwi_access {
            switch self {
            case .shared: CWI_ACCESS_SHARED
            case .reading: CWI_ACCESS_READ
            case .copying: CWI_ACCESS_COPY
            }
        }
    }

    /// Maps the memory; `nil` if the system has no address space for it.
    ///
    /// - Precondition: the memory is not empty.
    package func mapped(_ access: Access) -> Mapping? {
        precondition(byteCount > 0)
        return cwi_memory_map(descriptor, 0, byteCount, access.access).map {
            Mapping($0, byteCount: byteCount, isFile: access == .reading)
        }
    }

    /// Where shared memory is in this process. Unmapped with this object.
    package final class Mapping: PixelMemorySource, @unchecked Sendable {
        // `@unchecked`: an address, which stays the same.
        package let address: UnsafeMutableRawPointer
        package let byteCount: Int

        /// Whether decoders read it as a file, and give back what they have read.
        private let isFile: Bool

        fileprivate init(_ address: UnsafeMutableRawPointer, byteCount: Int, isFile: Bool) {
            (self.address, self.byteCount, self.isFile) = (address, byteCount, isFile)
            if isFile { MappedFile.addMapping(at: address, byteCount: byteCount) }
        }

        deinit {
            if isFile { MappedFile.removeMapping(at: address) }
            cwi_memory_unmap(address, byteCount)
        }

        package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: address, count: byteCount) }

        /// Pixels are in memory that exists.
        package func take(byteCount: Int) -> UnsafeMutableRawPointer? { nil }

        /// The memory is unmapped with the last reference.
        package func release(_ address: UnsafeMutableRawPointer, byteCount: Int) {}

        /// Gives a part back to the system: it is zero then, and takes no memory.
        package func discard(_ address: UnsafeMutableRawPointer, byteCount: Int) {
            cwi_memory_discard(address, byteCount)
        }
    }
}
