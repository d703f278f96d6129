internal import FoundationEssentials

extension DiskWriter {
    /// Removes what the keys of a batch held before, as its values did not fit; whether there was no room even for that.
    ///
    /// Old values that stayed would be found again, after a store or a removal of their keys.
    func withdraw(_ batch: DiskStaging.Batch, from index: DiskIndex) throws(DiskFault) -> Bool {
        var isOutOfDate = false
        for pending in batch.changes where !isOutOfDate { isOutOfDate = try index.row(for: pending.key).0 != nil }
        guard isOutOfDate else { return false }
        do throws(DiskFault) {
            try commit(batch, to: index, stores: false)
            return false
        } catch let fault where fault.isFullDisk {
            // Once copied into the database, the log is empty, and has room for this.
            guard (try? index.emptyLog()) != nil, (try? commit(batch, to: index, stores: false)) != nil else {
                return true
            }
            return false
        }
    }
}
