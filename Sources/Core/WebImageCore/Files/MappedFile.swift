internal import CWebImageSystem
package import FoundationEssentials
internal import Glibc

/// A file whose bytes are read where they are: no copy is made, and only what is used is read.
///
///     file ──▶ pages ──▶ `Data` of this process
///       └────▶ descriptor ──▶ a decoder process, which maps it, too
///
/// The bytes change with the file. Where another program makes it shorter, they are zeros.
package final class MappedFile: Sendable {
    /// A descriptor for reading, valid while this object exists.
    package let descriptor: Int32
    private let start: UInt
    private let byteCount: Int

    private init(_ descriptor: Int32, start: UInt, byteCount: Int) {
        (self.descriptor, self.start, self.byteCount) = (descriptor, start, byteCount)
    }

    deinit {
        if let address = UnsafeMutableRawPointer(bitPattern: start) {
            Self.removeMapping(at: address)
            cwi_unmap_file(address, byteCount)
        }
        close(descriptor)
    }

    /// Memory that maps a file. Memory that other processes have too counts as a file.
    private struct Mapping: Sendable {
        let byteCount: Int
        /// `nil` for such memory.
        weak var file: MappedFile?
    }

    /// By the first address.
    private static let mappings = Lock<[UInt: Mapping]>([:])

    /// Maps the first bytes of an open file, whose descriptor is copied; `nil` if the system has no address space for it, or too many files
    /// are mapped.
    package static func data(of descriptor: Int32, byteCount: Int) -> Data? {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { return nil }
        guard let address = cwi_map_file(copy, byteCount) else {
            close(copy)
            return nil
        }
        let file = MappedFile(copy, start: UInt(bitPattern: address), byteCount: byteCount)
        addMapping(at: address, byteCount: byteCount, of: file)
        return Data(
            bytesNoCopy: address, count: byteCount,
            deallocator: .custom { _, _ in withExtendedLifetime(file) {} })
    }

    /// Returns the file that has all these bytes, and no others; `nil` if they are elsewhere.
    package static func file(of data: Data) -> MappedFile? {
        data.withUnsafeBytes { bytes in
            guard let file = mappings.withLock({ $0[UInt(bitPattern: bytes.baseAddress)]?.file }) else { return nil }
            return file.byteCount == bytes.count ? file : nil
        }
    }

    // MARK: Giving back pages

    /// Lets ``release(_:)`` give back pages of a mapping, until ``removeMapping(at:)``.
    package static func addMapping(at start: UnsafeRawPointer, byteCount: Int, of file: MappedFile? = nil) {
        mappings.withLock { $0[UInt(bitPattern: start)] = Mapping(byteCount: byteCount, file: file) }
    }

    package static func removeMapping(at start: UnsafeRawPointer) {
        mappings.withLock { $0[UInt(bitPattern: start)] = nil }
    }

    /// Gives back the memory of bytes of a file, which must stay mapped meanwhile. What is needed again is read again.
    /// Other bytes stay where they are.
    ///
    /// - Returns: whether they are bytes of a file, and contain a page.
    @discardableResult package static func release(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let first = UInt(bitPattern: bytes.baseAddress)
        let end = first + UInt(bytes.count)
        let isMapped = mappings.withLock { mappings in
            mappings.contains { $0.key <= first && end <= $0.key + UInt($0.value.byteCount) }
        }
        // Only pages that are wholly inside.
        let (start, stop) = (
            (first + pageByteCount - 1) / pageByteCount * pageByteCount, end / pageByteCount * pageByteCount
        )
        guard isMapped, start < stop, let address = UnsafeMutableRawPointer(bitPattern: start) else {
            return false
        }
        return madvise(address, Int(stop - start), MADV_DONTNEED) == 0
    }

    private static let pageByteCount = UInt(sysconf(Int32(_SC_PAGESIZE)))
}
