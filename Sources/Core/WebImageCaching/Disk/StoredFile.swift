public import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// The bytes of an entry in a file of its own, which are read as they are needed. They stay when the entry is replaced or removed.
public final class StoredFile: Sendable {
    /// The length.
    public let byteCount: Int
    private let descriptor: Int32

    /// Takes over the descriptor.
    init(_ descriptor: Int32, byteCount: Int) { (self.descriptor, self.byteCount) = (descriptor, byteCount) }

    deinit { close(descriptor) }

    /// Fills a buffer with the bytes at an offset; returns `false` if they cannot be read. Blocks.
    ///
    /// - Parameters:
    ///   - offset: of the first byte.
    ///   - buffer: gets as many bytes as it has.
    public func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        (try? ValueFile.read(descriptor, at: Int64(offset), into: buffer)) ?? false
    }

    /// Returns bytes; `nil` if the file has become shorter. Blocks.
    func read(_ range: Range<Int>) throws(DiskFault) -> Data? {
        try ValueFile.read(descriptor, at: Int64(range.lowerBound), byteCount: range.count)
    }

    /// Returns bytes; `nil` if they cannot be read.
    public func bytes(_ range: Range<Int>) async -> Data? {
        await withCheckedContinuation { continuation in
            DiskCache.readingQueue.submit { continuation.resume(returning: try? self.read(range)) }
        }
    }

    /// The checksum of all bytes; `nil` if they cannot be read. Blocks.
    var checksum: UInt32? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var checksum = Checksum.initial
        for offset in stride(from: 0, to: byteCount, by: buffer.count) {
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(byteCount - offset))
            guard read(at: offset, into: piece) else { return nil }
            checksum = Checksum.adding(UnsafeRawBufferPointer(piece), to: checksum)
        }
        return checksum
    }
}

extension DiskCache {
    /// A stored value with its description. Long ones stay in their files.
    public enum OpenItem: Sendable {
        /// The bytes in memory.
        case data(Data, Entry)
        /// The bytes in their file.
        case file(StoredFile, Entry)
    }

    /// Like ``item(for:)``, but opens a value of at least `byteCount` bytes, if it has a file of its own: to send it in pieces.
    ///
    /// - Parameters:
    ///   - key: of the value.
    ///   - byteCount: the length from which on a value need not be in memory.
    public func openItem(for key: String, atLeast byteCount: Int) async -> OpenItem? {
        await onReadingThread { $0.findOpenItem(key, atLeast: byteCount) }
    }

    func findOpenItem(_ key: String, atLeast byteCount: Int) -> OpenItem? {
        find(key, counting: [.use, .miss]) { data, attachments, times in
            .data(data, Entry(key: key, byteCount: data.count, attachments: attachments, times: times))
        } onDisk: { reader, staged, isGone throws(DiskFault) in
            if byteCount < .max, let record = try reader.record(for: key), !isGone(record), record.row.isInFile,
                record.row.size >= byteCount, let file = try reader.file(of: record.row),
                let entry = try reader.entry(key, record, staged: staged)
            {
                return (.file(file, entry), record)
            }
            while case .found(let data, let record) = removingDamaged(try reader.read(key, isExpired: isGone)) {
                // If it was replaced since it was read, there is now another entry.
                if let entry = try reader.entry(key, record, staged: staged) { return (.data(data, entry), record) }
            }
            return nil
        }
    }
}
