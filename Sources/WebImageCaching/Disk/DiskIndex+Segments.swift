/// All of this runs inside a transaction.
extension DiskIndex {
    /// Where a value is, or will be.
    struct SegmentPlace: Hashable, Sendable {
        let segment: Int64
        let offset: Int64
    }

    /// How many entries and bytes a segment gains or loses.
    struct SegmentChange {
        private(set) var count: Int64 = 0
        private(set) var size: Int64 = 0

        mutating func add(_ count: Int64, _ size: Int64) {
            self.count += count
            self.size += size
        }
    }

    /// A place behind everything there is; it is the caller's to write the bytes there before the transaction ends.
    func reserve(_ size: Int64) throws(DiskFault) -> SegmentPlace {
        var end = try currentEnd()
        if totals.segment == 0 || end > 0 && end + size > SegmentFile.capacity {
            try settleEnd()
            totals.segment = totals.nextSegment
            totals.nextSegment += 1
            try statements.insertSegment.run(totals.segment)
            end = 0
        }
        segmentEnd = end + size
        return SegmentPlace(segment: totals.segment, offset: end)
    }

    /// Lets the next value begin another segment: the file of this one is not what it was.
    func leaveSegment() {
        totals.segment = 0
        segmentEnd = nil
    }

    private func currentEnd() throws(DiskFault) -> Int64 {
        if let segmentEnd { return segmentEnd }
        guard totals.segment != 0 else { return 0 }
        var size: Int64?
        try statements.segmentSize.run(totals.segment) { size = $0.integer(0) }
        // A segment without a row has no values, so another one is begun.
        guard let size, 0...DiskDirectory.largestByteCount ~= size else {
            totals.segment = 0
            return 0
        }
        return size
    }

    private func settleEnd() throws(DiskFault) {
        guard let end = segmentEnd, totals.segment != 0 else { return }
        try statements.setSegmentSize.run(totals.segment, end)
        segmentEnd = nil
    }

    /// Writes down where the last segment ends and what each holds; drops those that hold nothing any more.
    func settleSegments() throws(DiskFault) {
        try settleEnd()
        for (number, change) in segmentChanges {
            try statements.changeSegment.run(number, change.count, change.size)
            guard change.count <= 0 else { continue }
            var isEmpty = false
            try statements.findEmpty.run(number) { _ in isEmpty = true }
            if isEmpty { try drop(segment: number) }
        }
        segmentChanges = [:]
    }

    /// Forgets a segment; its file goes with the transaction.
    func drop(segment number: Int64) throws(DiskFault) {
        try statements.deleteSegment.run(number)
        abandon(SegmentFile.name(number))
        if totals.segment == number { totals.segment = 0 }
    }

    /// The segment with the fewest live bytes of those that are less than half alive; not the one that grows.
    func sparseSegment() throws(DiskFault) -> Int64? {
        var number: Int64?
        try statements.findSparse.run(totals.segment) { number = $0.integer(0) }
        return number
    }

    /// Gives an entry's bytes another place, which holds them already when the transaction ends.
    func move(_ row: Row, to place: SegmentPlace) throws(DiskFault) {
        try statements.move.run(row.id, place.segment, place.offset)
        segmentChanges[row.segment, default: SegmentChange()].add(-1, -row.size)
        segmentChanges[place.segment, default: SegmentChange()].add(1, row.size)
    }

    /// Where the segment ends; `nil` for one of which no entry has bytes.
    func end(ofSegment number: Int64) throws(DiskFault) -> Int64? {
        var end: Int64?
        try statements.segmentSize.run(number) { end = $0.integer(0) }
        return end
    }
}
