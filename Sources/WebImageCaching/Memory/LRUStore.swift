/// Entries in order of use: what the lock of a ``MemoryShard`` guards.
///
/// An entry is a position in two arrays. A doubly linked list of positions runs through them from the newest to the
/// oldest, and an open-addressing table of positions finds them:
///
/// ```
///  buckets  [ · | 2 | · | 0 | 1 | · ]        hash → position; linear probing, at most half full
///                 │       │   │
///  slots    [ key, value, cost, … | … | … | free ]
///  links    [ stamp, newer, older | … | … | next free ]
///            newest → … → oldest, linked by position; stamps fall strictly from one to the next
/// ```
///
/// The links have an array of their own since a use changes those of four entries: side by side they are in few cache lines.
/// `Dictionary` could take the table's place, but it hashes under the lock, twice for an insertion; here the caller
/// hashes before it locks. The arrays are bare memory: an `Array` checks for each access that it has one owner, and moves
/// whole slots.
@usableFromInline
struct LRUStore<Key: Hashable, Value>: ~Copyable {
    @usableFromInline
    struct Slot {
        @usableFromInline let key: Key
        @usableFromInline var value: Value
        @usableFromInline var cost: Int
        @usableFromInline var deadline: SlotDeadline
        @usableFromInline let hash: UInt32

        @inlinable
        init(key: Key, value: Value, cost: Int, deadline: SlotDeadline, hash: UInt32) {
            self.key = key
            self.value = value
            self.cost = cost
            self.deadline = deadline
            self.hash = hash
        }
    }

    @usableFromInline
    struct Link {
        /// When the entry was used last, in nanoseconds: later than every older one.
        @usableFromInline var stamp: Int64
        /// The position of the next newer entry; -1 for the newest.
        @usableFromInline var newer: Int32
        /// The position of the next older entry, -1 for the oldest; for a free position, the next free one.
        @usableFromInline var older: Int32

        @inlinable
        init(stamp: Int64, newer: Int32, older: Int32) {
            (self.stamp, self.newer, self.older) = (stamp, newer, older)
        }
    }

    // First, in the order of need, what each use touches: with the lock, it is in two cache lines.

    /// All initialized: `bucketMask + 1` of them, twice as many as ``capacity``.
    @usableFromInline var buckets: UnsafeMutablePointer<Bucket>
    @usableFromInline var bucketMask: Int
    /// Initialized where there is an entry: at the positions that the list goes through.
    @usableFromInline var slots: UnsafeMutablePointer<Slot>
    /// Initialized below ``usedCapacity``.
    @usableFromInline var links: UnsafeMutablePointer<Link>
    @usableFromInline var newest: Int32 = -1
    @usableFromInline var oldest: Int32 = -1
    /// The last stamp given: the next one is later.
    @usableFromInline var lastStamp = Int64.min
    @usableFromInline var hitCount = 0
    @usableFromInline var missCount = 0
    /// How long an entry is kept without being used, in nanoseconds; `.max` for ever.
    @usableFromInline var ageLimit: Int64
    /// The stamp of the oldest entry; `.max` when there is none.
    @usableFromInline var oldestStamp = Int64.max
    /// The one that other shards know of.
    @usableFromInline var announcedStamp = Int64.max
    @usableFromInline var count = 0
    @usableFromInline var totalCost = 0
    @usableFromInline var insertionCount = 0
    /// No deadline passes before this time, in microseconds; the first one to pass may be later.
    @usableFromInline var earliestDeadline = Int64.max
    /// The first position of the free ones below ``usedCapacity``, -1 if there is none.
    @usableFromInline var firstFree: Int32 = -1
    /// Positions that have been used; those from here on never were.
    @usableFromInline var usedCapacity = 0
    /// Positions there is room for.
    @usableFromInline var capacity: Int
    @usableFromInline let expirationExtension: ExpirationExtension
    @usableFromInline var weakHitCount = 0
    @usableFromInline var evictionCounts = MemoryCacheStatistics.EvictionCounts()

    init(ageLimit: Int64 = .max, expirationExtension: ExpirationExtension = .none) {
        self.ageLimit = ageLimit
        self.expirationExtension = expirationExtension
        capacity = 8
        bucketMask = 15
        slots = .allocate(capacity: 8)
        links = .allocate(capacity: 8)
        buckets = .allocate(capacity: 16)
        buckets.initialize(repeating: .empty, count: 16)
    }

    // Inlinable since the setter of whoever holds a store is, and runs this.
    @inlinable
    deinit {
        var position = oldest
        while position >= 0 {
            (slots + Int(position)).deinitialize(count: 1)
            position = links[Int(position)].newer
        }
        slots.deallocate()
        links.deallocate()
        buckets.deallocate()
    }

    @inlinable
    static func hash(_ key: Key) -> UInt32 { UInt32(truncatingIfNeeded: key.hashValue) }

    /// An empty store with its settings and counts.
    func successor() -> LRUStore {
        var successor = LRUStore(ageLimit: ageLimit, expirationExtension: expirationExtension)
        (successor.lastStamp, successor.announcedStamp) = (lastStamp, announcedStamp)
        (successor.hitCount, successor.missCount, successor.weakHitCount) = (hitCount, missCount, weakHitCount)
        (successor.insertionCount, successor.evictionCounts) = (insertionCount, evictionCounts)
        return successor
    }

    /// What it holds and has done; setting it sets what it has done.
    var statistics: MemoryCacheStatistics {
        get {
            var statistics = MemoryCacheStatistics()
            (statistics.hitCount, statistics.weakHitCount, statistics.missCount) = (hitCount, weakHitCount, missCount)
            (statistics.insertionCount, statistics.evictionCounts) = (insertionCount, evictionCounts)
            (statistics.count, statistics.totalCost) = (count, totalCost)
            return statistics
        }
        set {
            (hitCount, weakHitCount, missCount) = (newValue.hitCount, newValue.weakHitCount, newValue.missCount)
            (insertionCount, evictionCounts) = (newValue.insertionCount, newValue.evictionCounts)
        }
    }

    // MARK: Entries

    /// Why the entry may not be handed out any more; `nil` for a good one.
    @inlinable
    @inline(__always)
    func causeToGo(_ position: Int32, at now: Int64) -> EvictionCause? {
        if slots[Int(position)].deadline.isPassed(at: now) { return .expiration }
        return ageLimit != .max && now &- links[Int(position)].stamp >= ageLimit ? .age : nil
    }

    /// Where the key has an entry that may still be handed out; -1 where it has none.
    @inlinable
    @inline(__always)
    func goodPosition(of key: Key, hash: UInt32, clock: MemoryClock) -> Int32 {
        let position = position(of: key, hash: hash)
        return position >= 0 && causeToGo(position, at: clock.now()) == nil ? position : -1
    }

    /// The value of a good entry, which becomes the newest.
    @inlinable
    mutating func use(_ position: Int32, at now: Int64) -> Value {
        if !slots[Int(position)].deadline.isNever {
            slots[Int(position)].deadline.extend(by: expirationExtension, at: now)
        }
        moveToFront(position, at: now)
        return slots[Int(position)].value
    }

    /// Gives the entry another value and makes it the newest.
    ///
    /// - Returns: the value it had.
    @inlinable
    mutating func replace(
        _ position: Int32, by value: consuming Value, cost: Int, deadline: SlotDeadline, at now: Int64
    ) -> Value {
        if deadline.time < earliestDeadline { earliestDeadline = deadline.time }
        moveToFront(position, at: now)
        let slot = slots + Int(position)
        totalCost &+= cost &- slot.pointee.cost
        slot.pointee.cost = cost
        slot.pointee.deadline = deadline
        return exchange(&slot.pointee.value, with: value)
    }

    /// Adds an entry for a key that has none.
    @inlinable
    mutating func insert(_ slot: consuming Slot, at now: Int64) {
        let (hash, cost, deadline) = (slot.hash, slot.cost, slot.deadline)
        if deadline.time < earliestDeadline { earliestDeadline = deadline.time }
        let position = takeFreePosition()
        (slots + Int(position)).initialize(to: slot)
        totalCost &+= cost
        count &+= 1
        place(Bucket(hash: hash, position: position))
        linkAsNewest(position, at: now)
    }

    /// Takes the entry out.
    @inlinable
    mutating func remove(_ position: Int32) -> Slot {
        unlink(position)
        emptyBucket(holding: position)
        links[Int(position)].older = firstFree
        firstFree = position
        count &-= 1
        let slot = (slots + Int(position)).move()
        totalCost &-= slot.cost
        return slot
    }

    /// Takes an entry out that has to go for this cause.
    @inlinable
    mutating func evict(_ position: Int32, because cause: EvictionCause) -> Slot {
        evictionCounts[cause] &+= 1
        return remove(position)
    }

    /// Takes all entries whose deadline has passed.
    mutating func evictExpired(at now: Int64) -> [Slot] {
        guard earliestDeadline != .max, earliestDeadline <= now / 1_000 else { return [] }
        let expired = evictAll(because: .expiration) { $0.deadline.isPassed(at: now) }
        var earliest = Int64.max
        forEach { earliest = min(earliest, slots[Int($0)].deadline.time) }
        earliestDeadline = earliest
        return expired
    }

    /// Takes all entries that `isGone` names, oldest first.
    mutating func evictAll(because cause: EvictionCause, where isGone: (borrowing Slot) -> Bool) -> [Slot] {
        var positions: [Int32] = []
        forEach { if isGone(slots[Int($0)]) { positions.append($0) } }
        return positions.map { evict($0, because: cause) }
    }

    /// All positions with an entry, oldest first.
    func forEach(_ body: (_ position: Int32) -> Void) {
        var position = oldest
        while position >= 0 {
            body(position)
            position = links[Int(position)].newer
        }
    }

    // MARK: Order

    @inlinable
    mutating func moveToFront(_ position: Int32, at now: Int64) {
        if position == newest {
            stamp(position, at: now)
        } else {
            unlink(position)
            linkAsNewest(position, at: now)
        }
    }

    @inlinable
    mutating func linkAsNewest(_ position: Int32, at now: Int64) {
        links[Int(position)].newer = -1
        links[Int(position)].older = newest
        if newest >= 0 { links[Int(newest)].newer = position } else { oldest = position }
        newest = position
        stamp(position, at: now)
    }

    /// Gives the newest entry its stamp, which is later than all others' even where the clock was read earlier.
    @inlinable
    mutating func stamp(_ position: Int32, at now: Int64) {
        lastStamp = max(now, lastStamp &+ 1)
        links[Int(position)].stamp = lastStamp
        if position == oldest { oldestStamp = lastStamp }
    }

    @inlinable
    mutating func unlink(_ position: Int32) {
        let link = links[Int(position)]
        if link.newer >= 0 { links[Int(link.newer)].older = link.older } else { newest = link.older }
        if link.older >= 0 {
            links[Int(link.older)].newer = link.newer
        } else {
            oldest = link.newer
            oldestStamp = link.newer >= 0 ? links[Int(link.newer)].stamp : .max
        }
    }
}
