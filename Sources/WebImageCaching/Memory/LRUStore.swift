/// Entries in order of use: the value inside the lock of a ``MemoryShard``.
///
/// Entries sit side by side in one array, without a hole and without an object each. A doubly linked list of positions
/// runs through them from the newest to the oldest, and an open-addressing table of positions finds them:
///
/// ```
///  buckets  [ · | 2 | · | 0 | 1 | · ]        hash → position; linear probing, at most half full
///                 │       │   │
///  slots    [ key, value, cost, stamp, newer, older | … | … ]
///            newest → … → oldest, linked by position; stamps fall strictly from one to the next
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
        /// When it was used last, in nanoseconds: later than every older slot's.
        @usableFromInline var stamp: Int64
        @usableFromInline var deadline: SlotDeadline
        @usableFromInline let hash: UInt32
        @usableFromInline var newer: Int32 = -1
        @usableFromInline var older: Int32 = -1

        @inlinable
        init(key: Key, value: Value, cost: Int, deadline: SlotDeadline, hash: UInt32) {
            self.key = key
            self.value = value
            self.cost = cost
            self.stamp = .min
            self.deadline = deadline
            self.hash = hash
        }
    }

    @usableFromInline var slots: ContiguousArray<Slot> = []
    @usableFromInline var buckets = ContiguousArray(repeating: Bucket.empty, count: 16)
    @usableFromInline var newest: Int32 = -1
    @usableFromInline var oldest: Int32 = -1
    @usableFromInline var totalCost = 0
    /// The stamp of the oldest slot; `.max` when there is none.
    @usableFromInline var oldestStamp = Int64.max
    /// The last stamp given: the next one is later.
    @usableFromInline var lastStamp = Int64.min
    /// No deadline passes before this time, in microseconds; the first one to pass may be later.
    @usableFromInline var earliestDeadline = Int64.max
    /// How long an entry is kept without being used, in nanoseconds; `.max` for ever.
    @usableFromInline var ageLimit: Int64
    @usableFromInline var expirationExtension: ExpirationExtension
    @usableFromInline var statistics = MemoryCacheStatistics()

    @inlinable
    init(ageLimit: Int64 = .max, expirationExtension: ExpirationExtension = .none) {
        self.ageLimit = ageLimit
        self.expirationExtension = expirationExtension
    }

    /// An empty store with the settings and statistics of one that is done with.
    @inlinable
    init(succeeding old: LRUStore) {
        self.init(ageLimit: old.ageLimit, expirationExtension: old.expirationExtension)
        (statistics, lastStamp) = (old.statistics, old.lastStamp)
    }

    @inlinable
    static func hash(_ key: Key) -> UInt32 { UInt32(truncatingIfNeeded: key.hashValue) }

    // MARK: Entries

    /// Whether there is an entry that may still be handed out.
    @inlinable
    func contains(_ key: Key, hash: UInt32, clock: MemoryClock) -> Bool {
        guard let bucket = bucketIndex(of: key, hash: hash) else { return false }
        return causeToGo(Int(buckets[bucket].position), at: clock.now()) == nil
    }

    /// The value, which becomes the newest.
    @inlinable
    mutating func use(_ key: Key, hash: UInt32, clock: MemoryClock, displaced: inout Displaced) -> Value? {
        guard let bucket = bucketIndex(of: key, hash: hash) else { return nil }
        let position = buckets[bucket].position
        let now = clock.now()
        if let cause = causeToGo(Int(position), at: now) {
            statistics.evictionCounts[cause] &+= 1
            displaced.append(removeSlot(at: position, inBucket: bucket))
            return nil
        }
        if !slots[Int(position)].deadline.isNever {
            slots[Int(position)].deadline.extend(by: expirationExtension, at: now)
        }
        moveToFront(position, now: now)
        return slots[Int(position)].value
    }

    /// Stores the value as the newest and hands out the one in whose place it came.
    @inlinable
    mutating func set(
        _ value: Value, for key: Key, hash: UInt32, cost: Int, deadline: SlotDeadline, now: Int64,
        displaced: inout Displaced
    ) {
        statistics.insertionCount &+= 1
        earliestDeadline = min(earliestDeadline, deadline.time)
        guard let bucket = bucketIndex(of: key, hash: hash) else {
            insert(Slot(key: key, value: value, cost: cost, deadline: deadline, hash: hash), now: now)
            return
        }
        let position = buckets[bucket].position
        moveToFront(position, now: now)
        totalCost &+= cost &- slots[Int(position)].cost
        displaced.append(slots[Int(position)].value)
        slots[Int(position)].cost = cost
        slots[Int(position)].deadline = deadline
        slots[Int(position)].value = value
    }

    @inlinable
    mutating func remove(_ key: Key, hash: UInt32) -> Slot? {
        guard let bucket = bucketIndex(of: key, hash: hash) else { return nil }
        return removeSlot(at: buckets[bucket].position, inBucket: bucket)
    }

    /// Takes the oldest entry, if there is one.
    @inlinable
    mutating func removeOldest(because cause: EvictionCause) -> Slot? {
        guard oldest >= 0 else { return nil }
        statistics.evictionCounts[cause] &+= 1
        return removeSlot(at: oldest, inBucket: bucketIndex(holding: oldest))
    }

    /// Takes all entries whose deadline has passed.
    mutating func removeExpired(at now: Int64) -> [Slot] {
        guard earliestDeadline != .max, earliestDeadline <= now / 1_000 else { return [] }
        let expired = removeAll(because: .expiration) { $0.deadline.isPassed(at: now) }
        earliestDeadline = slots.reduce(.max) { min($0, $1.deadline.time) }
        return expired
    }

    /// Takes all entries that `isGone` names.
    mutating func removeAll(because cause: EvictionCause, where isGone: (Slot) -> Bool) -> [Slot] {
        var gone: [Slot] = []
        // Backwards: the last slot, which fills a removed one's place, has been looked at.
        for position in slots.indices.reversed() where isGone(slots[position]) {
            statistics.evictionCounts[cause] &+= 1
            let position = Int32(position)
            gone.append(removeSlot(at: position, inBucket: bucketIndex(holding: position)))
        }
        return gone
    }

    /// Why the entry may not be handed out any more.
    @inlinable
    func causeToGo(_ position: Int, at now: Int64) -> EvictionCause? {
        if slots[position].deadline.isPassed(at: now) { return .expiration }
        return isIdle(stamp: slots[position].stamp, at: now) ? .age : nil
    }

    @inlinable
    func isIdle(stamp: Int64, at now: Int64) -> Bool { ageLimit != .max && now &- stamp >= ageLimit }

    // MARK: Slots

    @inlinable
    mutating func insert(_ slot: Slot, now: Int64) {
        if (slots.count + 1) * 2 > buckets.count { growTable() }
        let position = Int32(slots.count)
        slots.append(slot)
        totalCost &+= slot.cost
        place(Bucket(hash: slot.hash, position: position))
        linkAsNewest(position, now: now)
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
        totalCost &-= slot.cost
        return slot
    }

    @inlinable
    mutating func moveToFront(_ position: Int32, now: Int64) {
        if position == newest {
            stamp(position, now: now)
        } else {
            unlink(position)
            linkAsNewest(position, now: now)
        }
    }

    @inlinable
    mutating func linkAsNewest(_ position: Int32, now: Int64) {
        slots[Int(position)].newer = -1
        slots[Int(position)].older = newest
        if newest >= 0 { slots[Int(newest)].newer = position } else { oldest = position }
        newest = position
        stamp(position, now: now)
    }

    /// Gives the newest slot its stamp, which is later than all others' even where the clock was read earlier.
    @inlinable
    mutating func stamp(_ position: Int32, now: Int64) {
        lastStamp = max(now, lastStamp &+ 1)
        slots[Int(position)].stamp = lastStamp
        if position == oldest { oldestStamp = lastStamp }
    }

    @inlinable
    mutating func unlink(_ position: Int32) {
        let (newer, older) = (slots[Int(position)].newer, slots[Int(position)].older)
        if older >= 0 { slots[Int(older)].newer = newer }
        if newer >= 0 { slots[Int(newer)].older = older } else { newest = older }
        if older < 0 {
            oldest = newer
            oldestStamp = newer >= 0 ? slots[Int(newer)].stamp : .max
        }
    }
}

extension LRUStore {
    /// What is on its way out, to be released outside the lock. The first value has a place of its own, so that replacing
    /// or evicting one allocates nothing.
    @usableFromInline
    struct Displaced {
        @usableFromInline var first: Value?
        @usableFromInline var others: [Value] = []
        /// What the release of a key does is its owner's affair as well.
        @usableFromInline var firstKey: Key?
        @usableFromInline var otherKeys: [Key] = []

        @inlinable init() {}

        @inlinable var isEmpty: Bool { first == nil }

        @inlinable
        mutating func append(_ value: Value) {
            if first == nil { first = value } else { others.append(value) }
        }

        @inlinable
        mutating func append(_ slot: Slot) {
            append(slot.value)
            if firstKey == nil { firstKey = slot.key } else { otherKeys.append(slot.key) }
        }
    }
}
