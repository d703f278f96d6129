extension LRUStore {
    /// A place of the table; the hash beside the position saves looking at slots of other keys.
    @usableFromInline
    struct Bucket {
        @usableFromInline var hash: UInt32
        @usableFromInline var position: Int32

        @inlinable
        init(hash: UInt32, position: Int32) {
            self.hash = hash
            self.position = position
        }

        @inlinable static var empty: Bucket { Bucket(hash: 0, position: -1) }
        @inlinable var isEmpty: Bool { position < 0 }
    }

    @inlinable
    func bucketIndex(of key: Key, hash: UInt32) -> Int? {
        let mask = buckets.count - 1
        var index = Int(hash) & mask
        while !buckets[index].isEmpty {
            let bucket = buckets[index]
            if bucket.hash == hash, slots[Int(bucket.position)].key == key { return index }
            index = (index + 1) & mask
        }
        return nil
    }

    /// The bucket of an entry that is known to be in the table.
    @inlinable
    func bucketIndex(holding position: Int32) -> Int {
        let mask = buckets.count - 1
        var index = Int(slots[Int(position)].hash) & mask
        while buckets[index].position != position { index = (index + 1) & mask }
        return index
    }

    @inlinable
    mutating func place(_ bucket: Bucket) {
        let mask = buckets.count - 1
        var index = Int(bucket.hash) & mask
        while !buckets[index].isEmpty { index = (index + 1) & mask }
        buckets[index] = bucket
    }

    /// Moves later entries of the probe sequence up, so that no sequence has a gap.
    @inlinable
    mutating func emptyBucket(_ index: Int) {
        let mask = buckets.count - 1
        var gap = index
        var next = (gap + 1) & mask
        while !buckets[next].isEmpty {
            let home = Int(buckets[next].hash) & mask
            // It may move to the gap unless its home lies behind the gap.
            if (next &- home) & mask >= (next &- gap) & mask {
                buckets[gap] = buckets[next]
                gap = next
            }
            next = (next + 1) & mask
        }
        buckets[gap] = .empty
    }

    @inlinable
    mutating func growTable() {
        let old = buckets
        buckets = ContiguousArray(repeating: .empty, count: old.count * 2)
        for bucket in old where !bucket.isEmpty { place(bucket) }
    }
}
