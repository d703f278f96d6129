// The table that finds entries, and the room for them.
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

    /// Where the key's entry is; -1 when it has none.
    @inlinable
    @inline(__always)
    func position(of key: Key, hash: UInt32) -> Int32 {
        var index = Int(hash) & bucketMask
        while true {
            let bucket = buckets[index]
            if bucket.isEmpty || bucket.hash == hash && ExactKey.isSame(slots[Int(bucket.position)].key, key) {
                return bucket.position
            }
            index = (index &+ 1) & bucketMask
        }
    }

    @inlinable
    mutating func place(_ bucket: Bucket) {
        var index = Int(bucket.hash) & bucketMask
        while !buckets[index].isEmpty { index = (index &+ 1) & bucketMask }
        buckets[index] = bucket
    }

    /// Empties the bucket of an entry, and moves later ones of the probe sequence up, so that no sequence has a gap.
    @inlinable
    mutating func emptyBucket(holding position: Int32) {
        var gap = Int(slots[Int(position)].hash) & bucketMask
        while buckets[gap].position != position { gap = (gap &+ 1) & bucketMask }
        var next = (gap &+ 1) & bucketMask
        while !buckets[next].isEmpty {
            let home = Int(buckets[next].hash) & bucketMask
            // It may move to the gap unless its home lies behind the gap.
            if (next &- home) & bucketMask >= (next &- gap) & bucketMask {
                buckets[gap] = buckets[next]
                gap = next
            }
            next = (next &+ 1) & bucketMask
        }
        buckets[gap] = .empty
    }

    /// A position without an entry, whose link is initialized.
    @inlinable
    mutating func takeFreePosition() -> Int32 {
        if firstFree >= 0 {
            let position = firstFree
            firstFree = links[Int(position)].older
            return position
        }
        if usedCapacity == capacity { grow() }
        (links + usedCapacity).initialize(to: Link(stamp: .min, newer: -1, older: -1))
        usedCapacity &+= 1
        return Int32(truncatingIfNeeded: usedCapacity &- 1)
    }

    /// Doubles the room, where every position has an entry.
    @inlinable
    mutating func grow() {
        precondition(capacity <= Int(Int32.max) / 2, "a shard has no room for more than 2^31 entries")
        let newCapacity = capacity * 2
        let (newSlots, newLinks) = (
            UnsafeMutablePointer<Slot>.allocate(capacity: newCapacity),
            UnsafeMutablePointer<Link>.allocate(capacity: newCapacity)
        )
        newSlots.moveInitialize(from: slots, count: capacity)
        newLinks.moveInitialize(from: links, count: capacity)
        slots.deallocate()
        links.deallocate()
        buckets.deallocate()
        (slots, links, capacity) = (newSlots, newLinks, newCapacity)
        bucketMask = newCapacity * 2 - 1
        buckets = .allocate(capacity: bucketMask + 1)
        buckets.initialize(repeating: .empty, count: bucketMask + 1)
        for position in 0..<usedCapacity { place(Bucket(hash: slots[position].hash, position: Int32(position))) }
    }
}
