internal import FoundationEssentials
internal import Glibc

/// A segment that is less than half alive is emptied: what lives moves to the end of the segment that grows.
///
/// ```
///  segment 3 │ a │ dead │ dead │ b │ dead │   ──►   segment 9 │ … │ a │ b │      segment 3 is deleted
/// ```
///
/// So the files take at most twice what the values take, and one segment more. It goes in short transactions, so that
/// what is stored meanwhile need not wait; one that dies in between leaves a segment with fewer live bytes.
extension DiskWriter {
    private static let stepCount = 128
    private static let stepByteCount: Int64 = 1 << 20

    /// Moves some values; whether there are more to be moved.
    func compactStep() -> Bool {
        withIndex { index throws(DiskFault) in try compactStep(index) } ?? false
    }

    func compact(_ index: DiskIndex) throws(DiskFault) {
        while try compactStep(index) {}
    }

    private func compactStep(_ index: DiskIndex) throws(DiskFault) -> Bool {
        guard try index.sparseSegment() != nil else { return false }
        do throws(DiskFault) {
            return try change(index) { () throws(DiskFault) in try moveValues(in: index) }
        } catch let fault where fault.isFullDisk {
            // There is no room to move them to, and this is how room is made.
            return try change(index) { () throws(DiskFault) in
                guard let segment = try index.sparseSegment() else { return false }
                let rows = try index.rows(inSegment: segment, limit: Self.stepCount)
                for row in rows { try index.delete(row) }
                index.totals.evictions += Int64(rows.count)
                return !rows.isEmpty
            }
        }
    }

    private func moveValues(in index: DiskIndex) throws(DiskFault) -> Bool {
        guard let segment = try index.sparseSegment() else { return false }
        let rows = try index.rows(inSegment: segment, limit: Self.stepCount)
        if rows.isEmpty { try index.drop(segment: segment) }
        let folder = directory.valuesPath(generation: index.generation)
        var descriptors = SegmentDescriptors()
        var appends = SegmentAppends()
        var byteCount: Int64 = 0
        for row in rows where byteCount < Self.stepByteCount {
            // What can't be read here can't be read by anybody.
            guard let data = try descriptors.read(row, in: folder), Checksum.of(data) == row.checksum else {
                try index.delete(row)
                continue
            }
            let place = try index.reserve(row.size)
            try index.move(row, to: place)
            appends.add(data, at: place)
            byteCount += row.size
        }
        try appends.write(to: folder)
        return true
    }
}
