internal import FoundationEssentials
internal import WebImageCore

/// The files that are in shared memory. A file that is read in place is shared as it is. All operations on the same bytes use one copy, which exists as long as one of them.
///
///     decode ──┐
///     info ────┼─▶ copy of the bytes ─▶ processes
///     frames ──┘
final class SharedFiles: Sendable {
    private let copies = Lock<[Place: Copy]>([:])

    /// Where bytes are. It identifies them, because their copy keeps them there.
    private struct Place: Hashable {
        let address: UInt
        let byteCount: Int
    }

    private struct Copy: Sendable {
        weak var memory: SharedMemory?
    }

    /// Returns memory with the bytes of a file.
    ///
    /// - Throws: the system's error number.
    func memory(of file: Data) throws(RegularFile.Failure) -> SharedMemory {
        if let mapped = MappedFile.file(of: file) { return try SharedMemory(copyOf: mapped.descriptor) }
        let memory = file.withUnsafeBytes { bytes in
            Result { () throws(RegularFile.Failure) in
                guard bytes.count >= Self.leastByteCount else { return try SharedMemory(constant: bytes) }
                let place = Place(address: UInt(bitPattern: bytes.baseAddress), byteCount: bytes.count)
                if let known = copies.withLock({ $0[place]?.memory }) { return known }
                let memory = try SharedMemory(constant: bytes, of: file)
                copies.withLock { copies in
                    copies = copies.filter { $0.value.memory != nil }
                    copies[place] = Copy(memory: memory)
                }
                return memory
            }
        }
        return try memory.get()
    }

    /// The number of copies.
    var count: Int { copies.withLock { $0.values.count { $0.memory != nil } } }

    /// Short files are copied faster than found, and the shortest have no place of their own.
    private static let leastByteCount = 16 << 10
}
