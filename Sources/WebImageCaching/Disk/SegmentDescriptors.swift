internal import FoundationEssentials
internal import Glibc

/// Open segments, so that reading a value is one call to the system.
struct SegmentDescriptors: ~Copyable {
    /// As many as a cache of the largest default size (1 GiB) has.
    private static let countLimit = 32

    private var open: [Int64: Int32] = [:]
    /// The one read last, which is often the next.
    private var last: (segment: Int64, descriptor: Int32)?

    deinit { for descriptor in open.values { close(descriptor) } }

    var isEmpty: Bool { open.isEmpty }

    /// A value's bytes; `nil` when they are not there.
    mutating func read(_ row: DiskIndex.Row, in folder: String) throws(DiskFault) -> Data? {
        guard row.size != 0 else { return Data() }
        guard 0...SegmentFile.largestValue ~= row.size, row.offset >= 0 else { return nil }
        guard let descriptor = try descriptor(of: row.segment, in: folder) else { return nil }
        return try ValueFile.read(descriptor, at: row.offset, byteCount: Int(row.size))
    }

    /// `nil` when there is no such file.
    private mutating func descriptor(of segment: Int64, in folder: String) throws(DiskFault) -> Int32? {
        if let last, last.segment == segment { return last.descriptor }
        let descriptor: Int32
        if let known = open[segment] {
            descriptor = known
        } else {
            if open.count >= Self.countLimit { closeAll() }
            guard let opened = try ValueFile.open("\(folder)/\(SegmentFile.name(segment))") else { return nil }
            descriptor = opened
            open[segment] = descriptor
        }
        last = (segment, descriptor)
        return descriptor
    }

    mutating func closeAll() {
        for descriptor in open.values { close(descriptor) }
        open = [:]
        last = nil
    }

    /// Closes those whose file has no name any more.
    mutating func closeDeleted() {
        for (segment, descriptor) in open {
            var status = stat()
            if fstat(descriptor, &status) == 0, status.st_nlink > 0 { continue }
            close(descriptor)
            open[segment] = nil
        }
        last = nil
    }
}
