internal import WebImageCore

/// The entries in order of use, with the table that finds them; guarded by the lock of a ``MemoryShard``.
///
/// Each entry has a position in chunks of memory that never move. A doubly linked list of positions goes from the
/// newest to the oldest entry, and an open-addressing table finds the position of a key:
///
/// ```
///  buckets  [ · | 2 | · | 0 | 1 | · ]        hash → position; linear probing, at most three quarters full
///                 │       │   │
///  chunks   [ stamp, newer, older | … ] [ key, value, cost, … | … ]
/// ```
///
/// An evicted value that is still alive elsewhere keeps its slot, with a weak reference instead of the value. Such a
/// slot is in the table but not in the list.
///
/// `Dictionary` would hash under the lock, twice for an insertion; here the caller hashes before it locks. With growing
/// arrays, an entry took 2.2 times as much memory.
@usableFromInline
struct LRUStore<Key: Hashable & Sendable, Value: Sendable>: ~Copyable {
    @usableFromInline typealias Reference = ValueRevival<Value>.Reference

    @usableFromInline
    struct Slot {
        /// The first field, so that a slot's address is its key's.
        @usableFromInline let key: Key
        /// `nil` after an eviction; then ``LRUStore/references`` has the slot's weak reference.
        @usableFromInline var value: Value?
        @usableFromInline var cost: Int
        @usableFromInline var deadline: SlotDeadline
        @usableFromInline let hash: UInt32

        @inlinable
        init(key: Key, value: Value?, cost: Int, deadline: SlotDeadline, hash: UInt32) {
            self.key = key
            self.value = value
            self.cost = cost
            self.deadline = deadline
            self.hash = hash
        }
    }

    @usableFromInline
    struct Link {
        /// When the entry was last used, in nanoseconds: later than every older one.
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

    /// The hash beside the position avoids looking at slots of other keys.
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

    /// The content of an entry, to be released without the lock, since deallocating keys and values may run code of the
    /// app.
    @usableFromInline
    struct Displaced: Sendable {
        /// `nil` where a weak reference is left.
        @usableFromInline var key: Key?
        @usableFromInline var value: Value?

        @inlinable
        init(key: Key?, value: Value?) {
            self.key = key
            self.value = value
        }
    }

    // The fields that each use touches come first: with the lock, they are in two cache lines.

    /// All initialized: `bucketMask + 1` of them.
    @usableFromInline var buckets: UnsafeMutablePointer<Bucket>
    @usableFromInline var bucketMask = 15
    /// Each chunk has ``chunkCount`` links, then as many slots.
    @usableFromInline var chunks: UnsafeMutablePointer<UnsafeMutableRawPointer>
    @usableFromInline var newest: Int32 = -1
    @usableFromInline var oldest: Int32 = -1
    /// The last stamp; the next one is later.
    @usableFromInline var lastStamp = Int64.min
    @usableFromInline var hitCount = 0
    @usableFromInline var missCount = 0
    /// How long an entry is kept without being used, in nanoseconds; `.max` for no limit.
    @usableFromInline var ageLimit: Int64
    /// The stamp of the oldest entry; `.max` without entries.
    @usableFromInline var oldestStamp = Int64.max
    /// The oldest stamp that other shards know.
    @usableFromInline var announcedStamp = Int64.max
    @usableFromInline var count = 0
    @usableFromInline var totalCost = 0
    @usableFromInline var insertionCount = 0
    /// No deadline passes before this time, in microseconds; the first one may be later.
    @usableFromInline var earliestDeadline = Int64.max
    /// The first free position below ``usedCapacity``; -1 if there is none.
    @usableFromInline var firstFree: Int32 = -1
    /// Positions from here on have never been used.
    @usableFromInline var usedCapacity: Int32 = 0
    @usableFromInline var chunkCapacity = 4
    /// For evicted values that were alive elsewhere. The link of such a slot has the index in `newer`.
    @usableFromInline var references: [(position: Int32, reference: Reference)] = []
    /// The number of references at which dead ones are removed.
    @usableFromInline var sweepCount = Self.minimumSweepCount
    @usableFromInline let expirationExtension: ExpirationExtension
    @usableFromInline var weakHitCount = 0
    @usableFromInline var evictionCounts = MemoryCacheStatistics.EvictionCounts()

    @inlinable static var chunkCount: Int32 { 32 }
    @inlinable static var minimumSweepCount: Int { 64 }

    init(ageLimit: Int64 = .max, expirationExtension: ExpirationExtension = .none) {
        self.ageLimit = ageLimit
        self.expirationExtension = expirationExtension
        chunks = .allocate(capacity: 4)
        buckets = .allocate(capacity: 16)
        buckets.initialize(repeating: .empty, count: 16)
    }

    // Inlinable because the setter of the property that holds a store is inlinable and runs it.
    @inlinable
    deinit {
        var position = oldest
        while position >= 0 {
            slot(position).deinitialize(count: 1)
            position = link(position).pointee.newer
        }
        for (position, _) in references { slot(position).deinitialize(count: 1) }
        for index in 0..<Int((usedCapacity + Self.chunkCount - 1) / Self.chunkCount) { chunks[index].deallocate() }
        chunks.deallocate()
        buckets.deallocate()
    }

    @inlinable
    static func hash(_ key: Key) -> UInt32 { UInt32(truncatingIfNeeded: key.hashValue) }

    /// Returns an empty store with the same settings and statistics.
    func successor() -> LRUStore {
        var successor = LRUStore(ageLimit: ageLimit, expirationExtension: expirationExtension)
        (successor.lastStamp, successor.announcedStamp) = (lastStamp, announcedStamp)
        successor.statistics = statistics
        return successor
    }

    /// The setter only sets the counts of events.
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

    // MARK: Positions

    @inlinable
    @inline(__always)
    func link(_ position: Int32) -> UnsafeMutablePointer<Link> {
        chunks[Int(position / Self.chunkCount)].assumingMemoryBound(to: Link.self) + Int(position % Self.chunkCount)
    }

    @inlinable
    @inline(__always)
    func slot(_ position: Int32) -> UnsafeMutablePointer<Slot> {
        (chunks[Int(position / Self.chunkCount)] + Self.slotsOffset).assumingMemoryBound(to: Slot.self)
            + Int(position % Self.chunkCount)
    }

    @inlinable static var slotsOffset: Int {
        let (size, alignment) = (Int(chunkCount) * MemoryLayout<Link>.stride, MemoryLayout<Slot>.alignment)
        return (size + alignment - 1) / alignment * alignment
    }

    /// Returns the position of the key's slot, with or without a value; -1 if there is none.
    @inlinable
    @inline(__always)
    func position(of key: Key, hash: UInt32) -> Int32 {
        var index = Int(hash) & bucketMask
        while true {
            let bucket = buckets[index]
            if bucket.isEmpty || bucket.hash == hash && Self.isKey(of: slot(bucket.position), key) {
                return bucket.position
            }
            index = (index &+ 1) & bucketMask
        }
    }

    /// Whether `key` is the slot's. A copy has the same bytes in memory, which can be compared without a reference to
    /// what the slot's key refers to.
    @inlinable
    @inline(__always)
    static func isKey(of slot: UnsafeMutablePointer<Slot>, _ key: Key) -> Bool {
        let isCopy = withUnsafeBytes(of: key) { key in
            let own = UnsafeRawPointer(slot)
            guard let other = key.baseAddress, key.count % 8 == 0 else { return false }
            for offset in stride(from: 0, to: key.count, by: 8)
            where own.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                != other.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            { return false }
            return true
        }
        return isCopy || isEqual(slot, key)
    }

    /// Compares text by its bytes, as the disk does. Specialization removes the test of the type.
    @inlinable
    @inline(never)
    static func isEqual(_ slot: UnsafeMutablePointer<Slot>, _ key: Key) -> Bool {
        guard Key.self == String.self else { return slot.pointee.key == key }
        return haveSameBytes(
            unsafeBitCast(slot.pointee.key, to: String.self), unsafeBitCast(key, to: String.self))
    }

    @inlinable
    mutating func place(_ bucket: Bucket) {
        var index = Int(bucket.hash) & bucketMask
        while !buckets[index].isEmpty { index = (index &+ 1) & bucketMask }
        buckets[index] = bucket
    }

    /// Empties the bucket of a slot and moves later buckets of the probe sequence up, so that no sequence has a gap.
    @inlinable
    mutating func emptyBucket(holding position: Int32) {
        var gap = Int(slot(position).pointee.hash) & bucketMask
        while buckets[gap].position != position { gap = (gap &+ 1) & bucketMask }
        var next = (gap &+ 1) & bucketMask
        while !buckets[next].isEmpty {
            let home = Int(buckets[next].hash) & bucketMask
            // It may move to the gap unless its home is after the gap.
            if (next &- home) & bucketMask >= (next &- gap) & bucketMask {
                buckets[gap] = buckets[next]
                gap = next
            }
            next = (next &+ 1) & bucketMask
        }
        buckets[gap] = .empty
    }

    /// Puts the slot into the table; its link is initialized but not in the list.
    @inlinable
    mutating func addSlot(_ new: consuming Slot) -> Int32 {
        let hash = new.hash
        if (count + references.count) * 4 >= (bucketMask + 1) * 3 { growTable() }
        var position = firstFree
        if position >= 0 {
            firstFree = link(position).pointee.older
        } else {
            position = usedCapacity
            if position % Self.chunkCount == 0 { addChunk() }
            usedCapacity += 1
            link(position).initialize(to: Link(stamp: .min, newer: -1, older: -1))
        }
        slot(position).initialize(to: new)
        place(Bucket(hash: hash, position: position))
        return position
    }

    /// Takes the slot, whose entry has left the list, out of the table.
    @inlinable
    mutating func takeSlot(_ position: Int32) -> Slot {
        emptyBucket(holding: position)
        link(position).pointee.older = firstFree
        firstFree = position
        return slot(position).move()
    }

    @usableFromInline
    mutating func addChunk() {
        let index = Int(usedCapacity / Self.chunkCount)
        if index == chunkCapacity {
            let newChunks = UnsafeMutablePointer<UnsafeMutableRawPointer>.allocate(capacity: 2 * index)
            newChunks.moveInitialize(from: chunks, count: index)
            chunks.deallocate()
            (chunks, chunkCapacity) = (newChunks, 2 * index)
        }
        (chunks + index).initialize(
            to: .allocate(
                byteCount: Self.slotsOffset + Int(Self.chunkCount) * MemoryLayout<Slot>.stride,
                alignment: max(16, MemoryLayout<Slot>.alignment)))
    }

    @usableFromInline
    mutating func growTable() {
        let (old, oldCount) = (buckets, bucketMask + 1)
        bucketMask = oldCount * 2 - 1
        buckets = .allocate(capacity: bucketMask + 1)
        buckets.initialize(repeating: .empty, count: bucketMask + 1)
        for index in 0..<oldCount where !old[index].isEmpty { place(old[index]) }
        old.deallocate()
    }

    // MARK: Entries

    /// Returns why the entry must not be returned any more; `nil` for a valid one.
    @inlinable
    @inline(__always)
    func evictionCause(_ position: Int32, at now: Int64) -> EvictionCause? {
        if slot(position).pointee.deadline.isPassed(at: now) { return .expiration }
        return ageLimit != .max && now &- link(position).pointee.stamp >= ageLimit ? .age : nil
    }

    /// Whether the slot has a value that may be returned.
    @inlinable
    @inline(__always)
    func isValid(_ position: Int32, at now: Int64) -> Bool {
        slot(position).pointee.value != nil && evictionCause(position, at: now) == nil
    }

    /// Returns the value of a valid entry, which becomes the newest.
    @inlinable
    mutating func use(_ position: Int32, at now: Int64) -> Value? {
        let slot = slot(position)
        if !slot.pointee.deadline.isNever { slot.pointee.deadline.extend(by: expirationExtension, at: now) }
        moveToFront(position, at: now)
        return slot.pointee.value
    }

    /// Adds an entry for a key that has no slot.
    @inlinable
    mutating func insert(
        _ value: consuming Value, for key: Key, hash: UInt32, cost: Int, deadline: SlotDeadline, at now: Int64
    ) {
        let position = addSlot(Slot(key: key, value: value, cost: cost, deadline: deadline, hash: hash))
        countIn(position, at: now)
    }

    /// Gives the slot another value and makes its entry the newest; returns the value that it had.
    @inlinable
    mutating func replace(
        _ position: Int32, by value: consuming Value, cost: Int, deadline: SlotDeadline, at now: Int64
    ) -> Value? {
        let slot = slot(position)
        guard slot.pointee.value != nil else {
            removeReference(position)
            (slot.pointee.value, slot.pointee.cost, slot.pointee.deadline) = (value, cost, deadline)
            countIn(position, at: now)
            return nil
        }
        if deadline.time < earliestDeadline { earliestDeadline = deadline.time }
        moveToFront(position, at: now)
        totalCost &+= cost &- slot.pointee.cost
        slot.pointee.cost = cost
        slot.pointee.deadline = deadline
        return exchange(&slot.pointee.value, with: value)
    }

    /// Makes the slot's value the newest entry.
    @inlinable
    mutating func countIn(_ position: Int32, at now: Int64) {
        let slot = slot(position)
        if slot.pointee.deadline.time < earliestDeadline { earliestDeadline = slot.pointee.deadline.time }
        totalCost &+= slot.pointee.cost
        count &+= 1
        linkAsNewest(position, at: now)
    }

    /// Takes the entry out of the list; its slot stays.
    @inlinable
    mutating func countOut(_ position: Int32) {
        totalCost &-= slot(position).pointee.cost
        count &-= 1
        unlink(position)
    }

    /// Removes the slot, with its value or weak reference.
    @inlinable
    mutating func remove(_ position: Int32) -> Displaced {
        if slot(position).pointee.value != nil { countOut(position) } else { removeReference(position) }
        let slot = takeSlot(position)
        return Displaced(key: slot.key, value: slot.value)
    }

    /// Evicts an entry. Its slot stays if the value is alive elsewhere and may be found again.
    @inlinable
    mutating func evict(
        _ position: Int32, because cause: EvictionCause, revival: ValueRevival<Value>?
    ) -> Displaced {
        evictionCounts[cause] &+= 1
        guard let revival, cause != .expiration else { return remove(position) }
        guard var value = slot(position).pointee.value.take() else { preconditionFailure("no entry") }
        countOut(position)
        if let reference = revival.makeReference(&value) {
            addReference(reference, at: position)
            return Displaced(key: nil, value: value)
        }
        return Displaced(key: takeSlot(position).key, value: value)
    }

    // MARK: Values that are alive elsewhere

    /// Adds a slot that has only a weak reference.
    @inlinable
    mutating func insert(
        _ reference: consuming Reference, for key: Key, hash: UInt32, cost: Int, deadline: SlotDeadline
    ) {
        addReference(
            reference, at: addSlot(Slot(key: key, value: nil, cost: cost, deadline: deadline, hash: hash)))
    }

    @inlinable
    mutating func addReference(_ reference: consuming Reference, at position: Int32) {
        link(position).pointee.newer = Int32(truncatingIfNeeded: references.count)
        references.append((position, reference))
    }

    @inlinable
    mutating func removeReference(_ position: Int32) {
        let index = link(position).pointee.newer
        let last = references.removeLast()
        guard last.position != position else { return }
        references[Int(index)] = last
        link(last.position).pointee.newer = index
    }

    /// Returns the value of a slot without a valid entry, if it is alive elsewhere and has not expired.
    @inlinable
    func revivableValue(_ position: Int32, at now: Int64, revival: ValueRevival<Value>?) -> Value? {
        let slot = slot(position)
        guard let revival, !slot.pointee.deadline.isPassed(at: now) else { return nil }
        guard var value = slot.pointee.value.take() else {
            return references[Int(link(position).pointee.newer)].reference.value
        }
        // The entry is too old, but has not been evicted yet.
        let isRevivable = revival.makeReference(&value) != nil
        slot.pointee.value = value
        return isRevivable ? value : nil
    }

    /// Removes the slots of dead values once the number of references has doubled since the last time.
    ///
    /// - Returns: values to release without the lock, including living ones, since this may hold their last reference.
    @inlinable
    mutating func sweepReferencesIfNeeded() -> [Displaced] {
        references.count < sweepCount ? [] : sweepReferences()
    }

    @usableFromInline
    mutating func sweepReferences() -> [Displaced] {
        var displaced: [Displaced] = []
        for (position, reference) in references {
            if let value = reference.value {
                displaced.append(Displaced(key: nil, value: value))
            } else {
                displaced.append(remove(position))
            }
        }
        sweepCount = max(Self.minimumSweepCount, 2 * references.count)
        return displaced
    }

    // MARK: Evicting several

    /// Removes all entries that have expired.
    mutating func evictExpired(at now: Int64) -> [Displaced] {
        guard earliestDeadline != .max, earliestDeadline <= now / 1_000 else { return [] }
        let expired = evictAll(because: .expiration, revival: nil) { $0.deadline.isPassed(at: now) }
        var earliest = Int64.max
        forEach { earliest = min(earliest, slot($0).pointee.deadline.time) }
        earliestDeadline = earliest
        return expired
    }

    /// Evicts all entries for which `isGone` returns `true`, oldest first.
    mutating func evictAll(
        because cause: EvictionCause, revival: ValueRevival<Value>?, where isGone: (borrowing Slot) -> Bool
    ) -> [Displaced] {
        var positions: [Int32] = []
        forEach { if isGone(slot($0).pointee) { positions.append($0) } }
        return positions.map { evict($0, because: cause, revival: revival) }
    }

    /// Calls `body` with the positions of all entries, oldest first.
    func forEach(_ body: (_ position: Int32) -> Void) {
        var position = oldest
        while position >= 0 {
            body(position)
            position = link(position).pointee.newer
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
        let link = link(position)
        (link.pointee.newer, link.pointee.older) = (-1, newest)
        if newest >= 0 { self.link(newest).pointee.newer = position } else { oldest = position }
        newest = position
        stamp(position, at: now)
    }

    /// Gives the newest entry its stamp, which is later than all others' even where the clock was read earlier.
    @inlinable
    mutating func stamp(_ position: Int32, at now: Int64) {
        lastStamp = max(now, lastStamp &+ 1)
        link(position).pointee.stamp = lastStamp
        if position == oldest { oldestStamp = lastStamp }
    }

    @inlinable
    mutating func unlink(_ position: Int32) {
        let (newer, older) = (link(position).pointee.newer, link(position).pointee.older)
        if newer >= 0 { link(newer).pointee.older = older } else { newest = older }
        if older >= 0 {
            link(older).pointee.newer = newer
        } else {
            oldest = newer
            oldestStamp = newer >= 0 ? link(newer).pointee.stamp : .max
        }
    }
}

@usableFromInline
func haveSameBytes(_ first: String, _ second: String) -> Bool { first.hasSameBytes(as: second) }
