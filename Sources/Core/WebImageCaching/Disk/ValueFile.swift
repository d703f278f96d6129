internal import FoundationEssentials
internal import Glibc
internal import WebImageCore

/// Values in separate files. Uses system calls, since Foundation syncs every file that it writes to disk.
enum ValueFile {
    /// Writes a new file, replacing a leftover one. An incompletely written file is deleted.
    static func write(_ data: Data, to path: String) throws(DiskFault) {
        let descriptor = try make(path)
        var failure: Int32?
        data.withUnsafeBytes { bytes in
            do throws(RegularFile.Failure) {
                try RegularFile.writeAll(bytes) { rest, _ in Glibc.write(descriptor, rest.baseAddress, rest.count) }
            } catch {
                failure = error.errno
            }
        }
        // Network file systems report a full disk here.
        if close(descriptor) != 0, failure == nil { failure = errno }
        if let failure {
            unlink(path)
            throw .system(errno: failure)
        }
    }

    /// Creates a file; one that exists already is deleted first.
    private static func make(_ path: String) throws(DiskFault) -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_EXCL
        do throws(RegularFile.Failure) {
            do throws(RegularFile.Failure) {
                return try RegularFile.open(path, flags)
            } catch let failure where failure.errno == EEXIST {
                if RegularFile.isObstructed(path) { throw RegularFile.Failure(errno: EOPNOTSUPP) }
                unlink(path)
                return try RegularFile.open(path, flags)
            }
        } catch {
            throw DiskFault(error, path: path)
        }
    }

    /// Returns the contents; `nil` if there is no such file, or its length is not `byteCount`.
    static func read(_ path: String, byteCount: Int64) throws(DiskFault) -> Data? {
        guard let file = try open(path, byteCount: byteCount) else { return nil }
        return try file.read(0..<file.byteCount)
    }

    /// Opens a file; `nil` if it is missing, or its length is not `byteCount`.
    static func open(_ path: String, byteCount: Int64) throws(DiskFault) -> StoredFile? {
        guard let descriptor = try open(path) else { return nil }
        // Closes the descriptor in any case.
        let file = StoredFile(descriptor, byteCount: Int(byteCount))
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system(errno: errno) }
        return status.st_size == byteCount ? file : nil
    }

    /// Opens a file for reading; `nil` if there is none, or the name belongs to something else.
    static func open(_ path: String) throws(DiskFault) -> Int32? {
        do throws(RegularFile.Failure) {
            return try RegularFile.open(path, O_RDONLY)
        } catch {
            if error.errno == ENOENT || error.isObstacle { return nil }
            throw .system(errno: error.errno)
        }
    }

    /// Reads bytes of an open file; `nil` if the file is too short.
    static func read(_ descriptor: Int32, at offset: Int64, byteCount: Int) throws(DiskFault) -> Data? {
        guard let bytes = malloc(max(1, byteCount)) else { throw .system(errno: ENOMEM) }
        var isRead = false
        defer { if !isRead { free(bytes) } }
        isRead = try read(
            descriptor, at: offset, into: UnsafeMutableRawBufferPointer(start: bytes, count: byteCount))
        // It copies a few bytes, and frees them at once.
        return isRead ? Data(bytesNoCopy: bytes, count: byteCount, deallocator: .free) : nil
    }

    /// Fills a buffer with bytes of an open file; returns `false` if the file is too short.
    static func read(
        _ descriptor: Int32, at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(DiskFault) -> Bool {
        do throws(RegularFile.Failure) {
            return try RegularFile.readAll(descriptor, at: offset, into: buffer) == buffer.count
        } catch {
            throw .system(errno: error.errno)
        }
    }
}

/// Many values in one file that is only appended to: one write for a whole batch, and no file to create or open for
/// each value.
///
/// Data before the end recorded in the index never changes, so that a reader with a row can read its bytes. Data after
/// the end was left by a writer that died before its commit, and is overwritten.
///
/// ```
///  0 ───────────────────────────────── end ─ ─ ─ ─ ─ ─
///  │ value │ value │  dead  │ value   │  leftover
///                     └ of a removed entry: freed when the segment is emptied or compacted
/// ```
enum SegmentFile {
    /// A value that would make a segment longer than this starts the next one. Measured with 4 and 20 KB on tmpfs and
    /// ext4: segments of 8, 32 and 128 MiB are equally fast to read and write. Smaller ones become empty sooner, but
    /// each needs a descriptor.
    static let capacity: Int64 = 32 << 20

    /// Of a cache with that limit: a small one has smaller segments, because a segment that is not full yet, and the
    /// gaps in others, count towards the limit too.
    static func capacity(sizeLimit: Int64) -> Int64 { min(capacity, max(64 << 10, sizeLimit / 32)) }

    /// The longest value in a segment; a row with a longer one is damaged.
    static let largestValue: Int64 = 8 << 20

    /// The number of values per system call; each is a level of recursion.
    private static let callCount = 64

    static func name(_ number: Int64) -> String { "segment-" + String(number, radix: 16) }

    /// Returns the number in a segment's file name; `nil` for other names.
    static func number(_ name: String) -> Int64? {
        name.hasPrefix("segment-") ? Int64(name.dropFirst("segment-".count), radix: 16) : nil
    }

    /// Writes the values one after the other.
    ///
    /// - Throws: ``DiskFault/missingSegment`` if the file ends before `offset`. Writing would fill the gap, where rows
    ///   refer to other values, with zeros.
    static func write(_ values: [Data], to path: String, at offset: Int64) throws(DiskFault) {
        let descriptor: Int32
        do throws(RegularFile.Failure) {
            descriptor = try RegularFile.open(path, O_WRONLY | (offset == 0 ? O_CREAT : 0))
        } catch {
            throw error.errno == ENOENT && offset > 0 ? .missingSegment : DiskFault(error, path: path)
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size >= offset else {
            close(descriptor)
            throw .missingSegment
        }
        var failure: Int32?
        var (rest, offset) = (values[...], offset)
        while !rest.isEmpty, failure == nil {
            let some = rest.prefix(callCount)
            rest = rest.dropFirst(callCount)
            var buffers: [iovec] = []
            buffers.reserveCapacity(callCount)
            withBuffers(of: some, in: &buffers) { failure = write($0, to: descriptor, at: offset) }
            offset += some.reduce(0) { $0 + Int64($1.count) }
        }
        // Network file systems report a full disk here.
        if close(descriptor) != 0, failure == nil { failure = errno }
        if let failure { throw .system(errno: failure) }
    }

    /// Removes data after the end, left by a writer that died.
    static func cut(_ path: String, at end: Int64) {
        guard end >= 0, let descriptor = try? RegularFile.open(path, O_WRONLY) else { return }
        defer { close(descriptor) }
        var status = stat()
        if fstat(descriptor, &status) == 0, status.st_size > end { ftruncate(descriptor, off_t(end)) }
    }

    /// Calls `body` with the bytes of all values at once. Nested scopes, since each value's bytes are valid in its own
    /// scope only.
    private static func withBuffers(
        of values: ArraySlice<Data>, in buffers: inout [iovec], _ body: ([iovec]) -> Void
    ) {
        guard let first = values.first else { return body(buffers) }
        first.withUnsafeBytes { bytes in
            let start = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
            if !bytes.isEmpty { buffers.append(iovec(iov_base: start, iov_len: bytes.count)) }
            withBuffers(of: values.dropFirst(), in: &buffers, body)
        }
    }

    /// Returns the system's error number if it fails.
    private static func write(_ buffers: [iovec], to descriptor: Int32, at offset: Int64) -> Int32? {
        var (rest, offset) = (buffers[...], off_t(offset))
        while let first = rest.first {
            let count = rest.withUnsafeBufferPointer { pwritev(descriptor, $0.baseAddress, Int32($0.count), offset) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count < 0 ? errno : EIO }
            offset += off_t(count)
            var written = count
            var next = first
            while written >= next.iov_len {
                written -= next.iov_len
                rest = rest.dropFirst()
                guard let following = rest.first else { return nil }
                next = following
            }
            rest[rest.startIndex] = iovec(iov_base: next.iov_base.map { $0 + written }, iov_len: next.iov_len - written)
        }
        return nil
    }
}
