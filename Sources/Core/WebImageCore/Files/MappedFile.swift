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
        Self.files.withLock { $0[start] = nil }
        if let address = UnsafeMutableRawPointer(bitPattern: start) { cwi_unmap_file(address, byteCount) }
        close(descriptor)
    }

    private struct Entry: Sendable {
        weak var file: MappedFile?
    }

    /// By the address of their bytes.
    private static let files = Lock<[UInt: Entry]>([:])

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
        files.withLock { $0[file.start] = Entry(file: file) }
        return Data(
            bytesNoCopy: address, count: byteCount,
            deallocator: .custom { _, _ in withExtendedLifetime(file) {} })
    }

    /// Returns the file that has all these bytes, and no others; `nil` if they are elsewhere.
    package static func file(of data: Data) -> MappedFile? {
        data.withUnsafeBytes { bytes in
            guard let file = files.withLock({ $0[UInt(bitPattern: bytes.baseAddress)]?.file }) else { return nil }
            return file.byteCount == bytes.count ? file : nil
        }
    }
}
