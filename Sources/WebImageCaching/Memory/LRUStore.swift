/// Entries in order of use, with limits: the value inside a ``MemoryCache``'s lock.
///
/// Entries sit side by side in one array, without a hole and without an object each. A doubly linked list of positions
/// runs through them from the newest to the oldest, and an open-addressing table of positions finds them:
///
/// ```
///  buckets  [ · | 2 | · | 0 | 1 | · ]        hash → position; linear probing, at most half full
///                 │       │   │
///  slots    [ key, value, cost, newer, older | … | … ]
///            newest → … → oldest, linked by position
/// ```
///
/// `Dictionary` could take the table's place, but it hashes under the lock, twice for an insertion; here the caller
/// hashes before it locks, so that the lock is held for a few tens of nanoseconds.
@usableFromInline
struct LRUStore<Key: Hashable, Value> {
    @usableFromInline
    struct Slot {
        @usableFromInline let key: Key
        @usableFromInline var value: Value
        @usableFromInline var cost: Int
        @usableFromInline let hash: UInt32
        @usableFromInline var newer: Int32
        @usableFromInline var older: Int32

        @inlinable
        init(key: Key, value: Value, cost: Int, hash: UInt32, newer: Int32, older: Int32) {
            self.key = key
            self.value = value
            self.cost = cost
            self.hash = hash
            self.newer = newer
            self.older = older
        }
    }

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

    @usableFromInline var slots: ContiguousArray<Slot> = []
    @usableFromInline var buckets = ContiguousArray(repeating: Bucket.empty, count: 16)
    @usableFromInline var newest: Int32 = -1
    @usableFromInline var oldest: Int32 = -1
    @usableFromInline var totalCost = 0
    @usableFromInline var costLimit: Int
    @usableFromInline var countLimit: Int

    @inlinable
    init(costLimit: Int, countLimit: Int) {
        self.costLimit = costLimit
        self.countLimit = countLimit
    }

    @inlinable
    static func hash(_ key: Key) -> UInt32 { UInt32(truncatingIfNeeded: key.hashValue) }

    // MARK: Entries

    @inlinable
    func contains(_ key: Key, hash: UInt32) -> Bool { bucketIndex(of: key, hash: hash) != nil }

    /// The value, which becomes the newest.
    @inlinable
    mutating func use(_ key: Key, hash: UInt32) -> Value? {
        guard let bucket = bucketIndex(of: key, hash: hash) else { return nil }
        let position = buckets[bucket].position
        moveToFront(position)
        return slots[Int(position)].value
    }

    /// Stores the value as the newest and hands out what had to go, for the caller to release outside the lock.
    @inlinable
    mutating func set(_ value: Value, for key: Key, hash: UInt32, cost: Int, displaced: inout Displaced) {
        guard cost <= costLimit else {
            if let slot = remove(key, hash: hash) { displaced.append(slot.value) }
            return
        }
        if let bucket = bucketIndex(of: key, hash: hash) {
            let position = buckets[bucket].position
            moveToFront(position)
            totalCost += cost - slots[Int(position)].cost
            slots[Int(position)].cost = cost
            displaced.first = slots[Int(position)].value
            slots[Int(position)].value = value
        } else {
            insert(value, for: key, hash: hash, cost: cost)
        }
        evict(toCost: costLimit, toCount: countLimit, displaced: &displaced)
    }

    @inlinable
    mutating func remove(_ key: Key, hash: UInt32) -> Slot? {
        guard let bucket = bucketIndex(of: key, hash: hash) else { return nil }
        return removeSlot(at: buckets[bucket].position, inBucket: bucket)
    }

    /// Takes the oldest entries until both limits hold.
    @inlinable
    mutating func evict(toCost cost: Int, toCount count: Int, displaced: inout Displaced) {
        while totalCost > cost || slots.count > count, oldest >= 0 {
            let bucket = bucketIndex(holding: oldest)
            displaced.append(removeSlot(at: oldest, inBucket: bucket).value)
        }
    }

    /// Values on their way out. The first has a place of its own, so that replacing or evicting one allocates nothing.
    @usableFromInline
    struct Displaced {
        @usableFromInline var first: Value?
        @usableFromInline var others: [Value] = []

        @inlinable init() {}

        @inlinable
        mutating func append(_ value: Value) {
            if first == nil { first = value } else { others.append(value) }
        }
    }

    // MARK: Slots

    @inlinable
    mutating func insert(_ value: Value, for key: Key, hash: UInt32, cost: Int) {
        if (slots.count + 1) * 2 > buckets.count { growTable() }
        let position = Int32(slots.count)
        slots.append(Slot(key: key, value: value, cost: cost, hash: hash, newer: -1, older: newest))
        if newest >= 0 { slots[Int(newest)].newer = position } else { oldest = position }
        newest = position
        place(Bucket(hash: hash, position: position))
        totalCost += cost
    }

    /// Removes the entry and fills its place with the last one.
    @inlinable
    mutating func removeSlot(at position: Int32, inBucket bucket: Int) -> Slot {
        unlink(position)
        emptyBucket(bucket)
        let last = Int32(slots.count - 1)
        if position != last {
            buckets[bucketIndex(holding: last)].position = position
            let (newer, older) = (slots[Int(last)].newer, slots[Int(last)].older)
            if newer >= 0 { slots[Int(newer)].older = position } else { newest = position }
            if older >= 0 { slots[Int(older)].newer = position } else { oldest = position }
            slots.swapAt(Int(position), Int(last))
        }
        let slot = slots.removeLast()
        totalCost -= slot.cost
        return slot
    }

    @inlinable
    mutating func moveToFront(_ position: Int32) {
        guard position != newest else { return }
        unlink(position)
        slots[Int(position)].newer = -1
        slots[Int(position)].older = newest
        slots[Int(newest)].newer = position
        newest = position
    }

    @inlinable
    mutating func unlink(_ position: Int32) {
        let (newer, older) = (slots[Int(position)].newer, slots[Int(position)].older)
        if newer >= 0 { slots[Int(newer)].older = older } else { newest = older }
        if older >= 0 { slots[Int(older)].newer = newer } else { oldest = newer }
    }

    // MARK: Table

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
