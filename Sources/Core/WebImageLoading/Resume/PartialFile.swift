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
    /// The longest piece in one record; longer ones are treated as damage.
    static let recordByteLimit = 256 << 10
    private static let headByteLimit = 64 << 10
    private static let signature = Data("WebImgP1".utf8)
    /// The byte count and checksum, four bytes each, little-endian.
    private static let prefixByteCount = 8

    private let name: String
    private let descriptor: Int32
    private let write: PartialBodyStore.Write

    /// - Parameter descriptor: an open and locked file; closed with this object.
    init(name: String, descriptor: Int32, write: @escaping PartialBodyStore.Write) {
        self.name = name
        self.descriptor = descriptor
        self.write = write
    }

    deinit { close(descriptor) }

    /// Releases the lock, even if other references to this object exist.
    func unlock() { flock(descriptor, LOCK_UN) }

    /// Deletes the file. Its name can be reused while this object still holds the lock.
    func remove(from directory: PartialDirectory) {
        _ = directory.withDescriptor { PartialDirectory.remove(name, of: descriptor, in: $0) }
    }

    // MARK: Reading

    /// Reads and verifies the whole file, and truncates it after the last valid record. Returns `nil` without a valid
    /// head or bytes, and if there is no space for them.
    func read() -> PartialBeginning? {
        var offset = Int64(Self.signature.count)
        guard bytes(at: 0, count: Self.signature.count) == Self.signature,
            let json = record(at: offset, limit: Self.headByteLimit, checksum: 0),
            let head = try? JSONDecoder().decode(PartialHead.self, from: json.bytes)
        else { return nil }
        offset += Int64(Self.prefixByteCount + json.bytes.count)
        var body = Data()
        do throws(WebImageError) {
            let (size, storage) = (Int64(lseek(descriptor, 0, SEEK_END)), BodyStorage())
            let isLong = size > Int64(storage.memoryByteLimit)
            let copy = isLong ? try SpoolFile(in: storage.temporaryDirectory, for: size) : nil
            var byteCount = 0
            while let record = record(at: offset, limit: Self.recordByteLimit, checksum: json.checksum) {
                if let copy { try copy.write(record.bytes, at: Int64(byteCount)) } else { body.append(record.bytes) }
                byteCount += record.bytes.count
                offset += Int64(Self.prefixByteCount + record.bytes.count)
            }
            if let copy { body = try copy.map(byteCount) }
        } catch { return nil }
        guard ftruncate(descriptor, off_t(offset)) == 0 else { return nil }
        // Marks the file as just used, for the order of deletion.
        futimens(descriptor, nil)
        return PartialBeginning(head: head, stored: body)
    }

    private func record(at offset: Int64, limit: Int, checksum: UInt32) -> (bytes: Data, checksum: UInt32)? {
        guard let prefix = bytes(at: offset, count: Self.prefixByteCount) else { return nil }
        let (count, expected) = (Self.number(prefix[..<4]), Self.number(prefix[4...]))
        guard count > 0, count <= UInt32(limit),
            let bytes = bytes(at: offset + Int64(Self.prefixByteCount), count: Int(count))
        else { return nil }
        let found = Self.checksum(bytes, from: checksum)
        return found == expected ? (bytes, found) : nil
    }

    private func bytes(at offset: Int64, count: Int) -> Data? {
        var bytes = Data(count: count)
        let received = bytes.withUnsafeMutableBytes { try? RegularFile.readAll(descriptor, at: offset, into: $0) }
        return received == count ? bytes : nil
    }

    private static func number(_ bytes: Data) -> UInt32 { bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) } }

    private static func checksum(_ bytes: Data, from start: UInt32) -> UInt32 {
        bytes.withUnsafeBytes { libdeflate_crc32(start, $0.baseAddress, $0.count) }
    }

    // MARK: Writing

    /// Starts a new body, replacing the old contents; returns whether this succeeded.
    func begin(_ head: PartialHead) -> Bool {
        guard let json = try? JSONEncoder().encode(head), json.count <= Self.headByteLimit else { return false }
        return ftruncate(descriptor, 0) == 0 && put(Self.signature + Self.record(json, checksum: 0))
    }

    /// Appends to the body; returns whether all of it was written. Incomplete records are ignored by readers.
    func append(_ bytes: Data) -> Bool {
        guard let checksum = headChecksum else { return false }
        var rest = bytes
        while !rest.isEmpty {
            guard put(Self.record(rest.prefix(Self.recordByteLimit), checksum: checksum)) else { return false }
            rest = rest.dropFirst(Self.recordByteLimit)
        }
        return true
    }

    private var headChecksum: UInt32? { bytes(at: Int64(Self.signature.count + 4), count: 4).map(Self.number) }

    private static func record(_ bytes: Data, checksum: UInt32) -> Data {
        var record = Data(capacity: prefixByteCount + bytes.count)
        for number in [UInt32(bytes.count), Self.checksum(bytes, from: checksum)] {
            withUnsafeBytes(of: number.littleEndian) { record.append(contentsOf: $0) }
        }
        return record + bytes
    }

    private func put(_ bytes: Data) -> Bool {
        let end = Int64(lseek(descriptor, 0, SEEK_END))
        let isWritten = bytes.withUnsafeBytes { bytes in
            (try? RegularFile.writeAll(bytes) { rest, written in write(descriptor, rest, end + Int64(written)) }) != nil
        }
        if !isWritten { ftruncate(descriptor, off_t(end)) }
        return isWritten
    }
}
