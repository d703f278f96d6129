internal import CWebImageDeflate
internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// The beginning of a body on disk, locked for the load that holds it.
///
/// ```
///  "WebImgP1" | byte count, checksum, JSON of the head | byte count, checksum, bytes | byte count, checksum, bytes | …
/// ```
///
/// The file is only appended to, record by record. A record that is incomplete or was lost in a power failure fails its
/// checksum. It is ignored, with everything after it. The checksums of body records start with that of the head, so
/// that remains of an older body are not taken for part of this one.
final class PartialFile: Sendable {
    /// The position of a piece of the body.
    struct Record: Sendable {
        let offset: Int64
        let byteCount: Int
    }

    /// The contents of a file.
    struct Contents {
        let head: PartialHead
        let records: [Record]

        /// The number of bytes of the body in the file.
        var byteCount: Int64 { records.reduce(0) { $0 + Int64($1.byteCount) } }
    }

    /// The longest piece in one record; longer ones are treated as damage.
    static let recordByteLimit = 256 << 10
    private static let headByteLimit = 64 << 10
    private static let signature = Array("WebImgP1".utf8)
    /// The byte count and checksum, four bytes each, little-endian.
    private static let prefixByteCount = 8

    private struct State {
        /// The position of the next record.
        var end: Int64 = 0
        var headChecksum: UInt32 = 0
    }

    private let name: String
    private let descriptor: Int32
    private let write: PartialBodyStore.Write
    private let state = Lock(State())

    /// - Parameter descriptor: an open and locked file; closed with this object.
    init(name: String, descriptor: Int32, write: @escaping PartialBodyStore.Write) {
        self.name = name
        self.descriptor = descriptor
        self.write = write
    }

    deinit { close(descriptor) }

    /// The length of the file in bytes.
    var byteCount: Int64 { state.withLock { $0.end } }

    /// Releases the lock, even if other references to this object exist.
    func unlock() { flock(descriptor, LOCK_UN) }

    // MARK: Reading

    /// Reads and verifies the whole file, and truncates it after the last valid record. Returns `nil` without a valid
    /// head.
    func read() -> Contents? {
        guard bytes(at: 0, count: Self.signature.count) == Self.signature else { return nil }
        var offset = Int64(Self.signature.count)
        guard let json = record(at: offset, limit: Self.headByteLimit, checksum: 0),
            let head = try? JSONDecoder().decode(PartialHead.self, from: Data(json.bytes))
        else { return nil }
        offset += Int64(Self.prefixByteCount + json.bytes.count)
        var records: [Record] = []
        while let record = record(at: offset, limit: Self.recordByteLimit, checksum: json.checksum) {
            let start = offset + Int64(Self.prefixByteCount)
            records.append(Record(offset: start, byteCount: record.bytes.count))
            offset = start + Int64(record.bytes.count)
        }
        guard ftruncate(descriptor, off_t(offset)) == 0 else { return nil }
        state.withLock { $0 = State(end: offset, headChecksum: json.checksum) }
        // Marks the file as just used, for the order of deletion.
        futimens(descriptor, nil)
        return Contents(head: head, records: records)
    }

    /// Reads the first bytes of a record and verifies it again; `nil` if it has changed on disk.
    func bytes(of record: Record, atMost limit: Int) -> Data? {
        let checksum = state.withLock { $0.headChecksum }
        let start = record.offset - Int64(Self.prefixByteCount)
        guard let found = self.record(at: start, limit: Self.recordByteLimit, checksum: checksum),
            found.bytes.count == record.byteCount
        else { return nil }
        return Data(found.bytes.prefix(limit))
    }

    private func record(at offset: Int64, limit: Int, checksum: UInt32) -> (bytes: [UInt8], checksum: UInt32)? {
        guard let prefix = bytes(at: offset, count: Self.prefixByteCount) else { return nil }
        let (count, expected) = (Self.number(prefix[..<4]), Self.number(prefix[4...]))
        guard count > 0, count <= UInt32(limit),
            let bytes = bytes(at: offset + Int64(Self.prefixByteCount), count: Int(count))
        else { return nil }
        let found = bytes.withUnsafeBytes { libdeflate_crc32(checksum, $0.baseAddress, $0.count) }
        return found == expected ? (bytes, found) : nil
    }

    private func bytes(at offset: Int64, count: Int) -> [UInt8]? {
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, received in
            let memory = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<count])
            received = (try? RegularFile.readAll(descriptor, at: offset, into: memory)) ?? 0
        }
        return bytes.count == count ? bytes : nil
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    // MARK: Writing

    /// Starts a new body, replacing the old contents; returns whether this succeeded.
    func begin(_ head: PartialHead) -> Bool {
        state.withLock { $0 = State() }
        let json = (try? JSONEncoder().encode(head)) ?? Data()
        guard !json.isEmpty, json.count <= Self.headByteLimit, ftruncate(descriptor, 0) == 0 else { return false }
        let (record, checksum) = Self.record([json], checksum: 0)
        guard put(Self.signature + record) else { return false }
        state.withLock { $0.headChecksum = checksum }
        return true
    }

    /// Appends to the body; returns whether all of it was written. Incomplete records are ignored by readers.
    func append(_ pieces: [Data]) -> Bool {
        let checksum = state.withLock { $0.headChecksum }
        var waiting: [Data] = []
        var waitingByteCount = 0
        func flush() -> Bool {
            defer { (waiting, waitingByteCount) = ([], 0) }
            return waiting.isEmpty || put(Self.record(waiting, checksum: checksum).bytes)
        }
        for piece in pieces {
            var rest = piece[...]
            while !rest.isEmpty {
                let part = rest.prefix(Self.recordByteLimit - waitingByteCount)
                rest = rest.dropFirst(part.count)
                waiting.append(part)
                waitingByteCount += part.count
                if waitingByteCount == Self.recordByteLimit, !flush() { return false }
            }
        }
        return flush()
    }

    private static func record(_ pieces: [Data], checksum: UInt32) -> (bytes: [UInt8], checksum: UInt32) {
        var checksum = checksum
        for piece in pieces where !piece.isEmpty {
            checksum = piece.withUnsafeBytes { libdeflate_crc32(checksum, $0.baseAddress, $0.count) }
        }
        let count = pieces.reduce(0) { $0 + $1.count }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(prefixByteCount + count)
        for number in [UInt32(count), checksum] {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }
        for piece in pieces { bytes.append(contentsOf: piece) }
        return (bytes, checksum)
    }

    private func put(_ bytes: [UInt8]) -> Bool {
        let end = byteCount
        let isWritten = bytes.withUnsafeBytes { bytes in
            (try? RegularFile.writeAll(bytes) { rest, written in write(descriptor, rest, end + Int64(written)) }) != nil
        }
        guard isWritten else {
            ftruncate(descriptor, off_t(end))
            return false
        }
        state.withLock { $0.end = end + Int64(bytes.count) }
        return true
    }

    /// Deletes the file. Its name can be reused while this object still holds the lock.
    func remove(from directory: PartialDirectory) {
        directory.withDescriptor { directory in
            var (opened, named) = (stat(), stat())
            guard fstat(descriptor, &opened) == 0, fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0,
                opened.st_ino == named.st_ino, opened.st_dev == named.st_dev
            else { return }
            unlinkat(directory, name, 0)
        }
    }
}
