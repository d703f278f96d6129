internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// Memory through which files go to one decoder process, or results come from it. It is kept from one image to the next, because new
/// pages cost more than a copy.
///
///     program ── write ─▶ input ── mapped ─▶ decoder
///             ◀─ read ── output ◀─ mapped ──
///
/// A result is copied out of it before the process gets another request, so that nothing can change it afterwards. The
/// memory cannot be made smaller, so that reading it cannot end the program.
struct KeptMemory {
    private(set) var memory: SharedMemory?
    /// Where results are in this process; `nil` without address space for it.
    private(set) var mapping: SharedMemory.Mapping?

    /// Makes room for `byteCount` bytes. Returns memory that the process does not have yet.
    ///
    /// - Parameter isMapped: whether it is mapped, which makes reading twice as fast.
    mutating func reserved(byteCount: Int, isMapped: Bool) throws(UnavailableDecoder) -> SharedMemory? {
        if let memory, memory.byteCount >= byteCount, memory.isOpen { return nil }
        do throws(RegularFile.Failure) {
            let new = try SharedMemory(byteCount: max(byteCount, Self.leastByteCount))
            (memory, mapping) = (new, isMapped ? new.mapped(.reading) : nil)
            return new
        } catch {
            throw UnavailableDecoder(sharingMemory: error)
        }
    }

    /// Copies a file to the beginning of the memory.
    ///
    /// - Throws: the system's error number.
    func write(_ file: Data) throws(RegularFile.Failure) {
        let result = file.withUnsafeBytes { bytes in
            Result { () throws(RegularFile.Failure) in try memory?.write(bytes) }
        }
        try result.get()
    }

    /// The minimum size, in bytes: addresses, of which only what is written takes memory. Longer files are in memory of
    /// their own.
    static let leastByteCount = 64 << 20

    /// Copies a part of the memory.
    ///
    /// - Parameter isLast: whether nothing needs that part any more. The pages of a large one are given back while it is copied, so that it
    ///   is not in memory twice.
    /// - Throws: the system's error number; `EBADF` if the program has closed its descriptors.
    func read(at offset: Int, into bytes: UnsafeMutableRawBufferPointer, isLast: Bool) throws(RegularFile.Failure) {
        if isLast, bytes.count >= Self.leastByteCount { return try move(at: offset, into: bytes) }
        if let mapping, let destination = bytes.baseAddress {
            precondition(offset >= 0 && offset <= mapping.byteCount - bytes.count)
            memcpy(destination, mapping.address + offset, bytes.count)
            return
        }
        guard let memory, memory.isOpen else { throw RegularFile.Failure(errno: EBADF) }
        try memory.read(at: offset, into: bytes)
    }

    private func move(at offset: Int, into bytes: UnsafeMutableRawBufferPointer) throws(RegularFile.Failure) {
        guard let memory, memory.isOpen else { throw RegularFile.Failure(errno: EBADF) }
        for start in stride(from: 0, to: bytes.count, by: Self.pieceByteCount) {
            let end = min(bytes.count, start + Self.pieceByteCount)
            // Without the mapping, whose pages would count twice in this process.
            try memory.read(at: offset + start, into: UnsafeMutableRawBufferPointer(rebasing: bytes[start..<end]))
            memory.clear(offset + start..<offset + end)
        }
    }

    private static let pieceByteCount = 16 << 20

    /// Gives its pages back to the system.
    func clear() {
        if let memory, memory.isOpen { memory.clear(0..<memory.byteCount) }
    }
}
