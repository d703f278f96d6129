internal import WebImageCore

/// The entries of a ``MemoryCache``, and what it counts and limits. The cache's lock guards it.
///
/// ```
///  index    hash ──▶ position
///  entries  [ key, value, cost, deadline │ … ]      by position
///  order    oldest ⇄ … ⇄ newest, with the time of the last use
/// ```
///
/// An evicted value that is still alive elsewhere leaves an entry with a weak reference in place of the value.
///
/// Invariants:
/// - `index` has the positions of all entries. The others are in `freePositions`, and have no key.
/// - `order` has the positions with a value; `count` and `totalCost` are theirs.
/// - Every other entry has a reference; there are `referenceCount` of them.
///
/// Nothing is released here, since deallocating keys and values may run code of the app: what leaves the table is
/// returned.
@usableFromInline
struct MemoryTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline typealias Revival = ValueRevival<Value>

    @usableFromInline
    struct Entry: Sendable {
        /// The first field, so that an entry's address is its key's. `nil` for a free position.
        @usableFromInline var key: Key?
        /// `nil` after an eviction.
        @usableFromInline var value: Value?
        @usableFromInline var reference: Revival.Reference?
        @usableFromInline var cost: Int
        @usableFromInline var deadline: ExpirationDeadline
        @usableFromInline let hash: UInt32

        @inlinable
        init(
            key: Key, value: Value?, reference: Revival.Reference? = nil, cost: Int, deadline: ExpirationDeadline,
            hash: UInt32
        ) {
            (self.key, self.value, self.reference) = (key, value, reference)
            (self.cost, self.deadline, self.hash) = (cost, deadline, hash)
        }

        /// Returns the value that it had.
        @inlinable
        mutating func setValue(_ new: consuming Value, cost: Int, deadline: ExpirationDeadline) -> Value? {
            (self.cost, self.deadline) = (cost, deadline)
            return exchange(&value, with: new)
        }
    }

    /// The key or the value of an entry, or both, that left the table.
    @usableFromInline
    struct Displaced: Sendable {
        /// `nil` where a reference or another value is left.
        @usableFromInline var key: Key?
        @usableFromInline var value: Value?

        @inlinable
        init(key: Key?, value: Value?) { (self.key, self.value) = (key, value) }
    }

    @usableFromInline var index = PositionIndex()
    @usableFromInline var entries: ContiguousArray<Entry> = []
    @usableFromInline var order = UseOrder()
    @usableFromInline var statistics = MemoryCacheStatistics()
    @usableFromInline var count = 0
    @usableFromInline var totalCost = 0
    @usableFromInline var limits: MemoryLimits
    @usableFromInline let expirationExtension: DeadlineExtension
    /// No deadline passes before this time, in microseconds; the first one may be later.
    @usableFromInline var earliestDeadline = Int64.max
    @usableFromInline var freePositions: [Int32] = []
    @usableFromInline var referenceCount = 0
    /// The number of references at which dead ones are removed.
    @usableFromInline var sweepCount = Self.minimumSweepCount

    @inlinable static var minimumSweepCount: Int { 64 }

    init(limits: MemoryLimits, expirationExtension: DeadlineExtension) {
        self.limits = limits
        self.expirationExtension = expirationExtension
    }

    @inlinable
    static func hash(_ key: Key) -> UInt32 { UInt32(truncatingIfNeeded: key.hashValue) }

    // MARK: Looking up

    /// Returns the position of the key's entry, with or without a value; -1 if there is none.
    @inlinable
    @inline(__always)
    func position(of key: Key, hash: UInt32) -> Int32 {
        index.position(hash: hash) { isCopy(of: key, $0) || Self.areEqual(entries[Int($0)].key, key) }
    }

    /// Whether an entry's key has the same bytes in memory. They can be compared without a reference to what the key
    /// refers to.
    @inlinable
    @inline(__always)
    func isCopy(of key: Key, _ position: Int32) -> Bool {
        withUnsafeBytes(of: key) { key in
            entries.withUnsafeBytes { entries in
                let start = Int(position) &* MemoryLayout<Entry>.stride
                guard key.count > 0, key.count % 8 == 0 else { return false }
                for offset in stride(from: 0, to: key.count, by: 8)
                where entries.loadUnaligned(fromByteOffset: start + offset, as: UInt64.self)
                    != key.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                { return false }
                return true
            }
        }
    }

    /// Compares text by its bytes, as the disk does. Specialization removes the test of the type.
    @inlinable
    @inline(never)
    static func areEqual(_ first: Key?, _ second: Key) -> Bool {
        guard let first else { return false }
        guard Key.self == String.self else { return first == second }
        return haveSameBytes(unsafeBitCast(first, to: String.self), unsafeBitCast(second, to: String.self))
    }

    /// Returns why the entry must not be returned any more; `nil` for a valid one.
    @inlinable
    @inline(__always)
    func evictionCause(_ position: Int32, at now: Int64) -> EvictionCause? {
        if entries[Int(position)].deadline.isPassed(at: now / 1_000) { return .expiration }
        return limits.age != .max && now &- order.time(position) >= limits.age ? .age : nil
    }

    /// Whether the entry has a value that may be returned.
    @inlinable
    @inline(__always)
    func isValid(_ position: Int32, at now: Int64) -> Bool {
        entries[Int(position)].value != nil && evictionCause(position, at: now) == nil
    }

    /// Returns the value of a valid entry, which becomes the newest.
    @inlinable
    mutating func use(_ position: Int32, at now: Int64) -> Value? {
        if !entries[Int(position)].deadline.isNever {
            _ = entries[Int(position)].deadline.extend(by: expirationExtension, at: now / 1_000)
        }
        order.moveToEnd(position, at: now)
        return entries[Int(position)].value
    }

    // MARK: Changing

    /// Stores a value for a key with this position, or for a new key if it is -1.
    ///
    /// A value that the limits do not admit leaves a reference if it is alive elsewhere.
    @inlinable
    mutating func store(
        _ value: Value, for key: Key, hash: UInt32, cost: Int, deadline: ExpirationDeadline, at position: Int32,
        now: Int64, revival: @autoclosure () -> Revival?
    ) -> (isStored: Bool, displaced: Displaced?) {
        guard limits.admit(cost: cost) else {
            let displaced = position >= 0 ? remove(position) : nil
            var copy = value
            if let reference = revival()?.makeReference(&copy) {
                _ = add(
                    Entry(key: key, value: nil, reference: reference, cost: cost, deadline: deadline, hash: hash))
                referenceCount &+= 1
            }
            return (false, displaced)
        }
        statistics.insertions &+= 1
        if position >= 0 {
            let old = replace(position, by: value, cost: cost, deadline: deadline, at: now)
            return (true, Displaced(key: nil, value: old))
        }
        countIn(add(Entry(key: key, value: value, cost: cost, deadline: deadline, hash: hash)), at: now)
        return (true, nil)
    }

    /// Adds an entry for a new key, and returns its position.
    @inlinable
    mutating func add(_ new: consuming Entry) -> Int32 {
        let hash = new.hash
        let position: Int32
        if let free = freePositions.popLast() {
            position = free
            entries[Int(position)] = new
        } else {
            position = Int32(truncatingIfNeeded: entries.count)
            entries.append(new)
        }
        index.insert(position, hash: hash)
        return position
    }

    /// Gives an entry another value, and makes it the newest; returns the value that it had.
    @inlinable
    mutating func replace(
        _ position: Int32, by value: Value, cost: Int, deadline: ExpirationDeadline, at now: Int64
    ) -> Value? {
        let oldCost = entries[Int(position)].cost
        guard let old = entries[Int(position)].setValue(value, cost: cost, deadline: deadline) else {
            dropReference(position)
            countIn(position, at: now)
            return nil
        }
        earliestDeadline = min(earliestDeadline, deadline.time)
        totalCost &+= cost &- oldCost
        order.moveToEnd(position, at: now)
        return old
    }

    /// Makes an entry with a value the newest.
    @inlinable
    mutating func countIn(_ position: Int32, at now: Int64) {
        earliestDeadline = min(earliestDeadline, entries[Int(position)].deadline.time)
        totalCost &+= entries[Int(position)].cost
        count &+= 1
        order.append(position, at: now)
    }

    /// Removes the entry, with its value or reference.
    @inlinable
    mutating func remove(_ position: Int32) -> Displaced {
        let value = takeValue(position)
        if value == nil { dropReference(position) }
        return Displaced(key: takeKey(position), value: value)
    }

    @inlinable
    mutating func dropReference(_ position: Int32) {
        entries[Int(position)].reference = nil
        referenceCount &-= 1
    }

    /// Evicts an entry with a value. A reference is left if the value is alive elsewhere and may be found again.
    @inlinable
    mutating func evict(_ position: Int32, because cause: EvictionCause, revival: Revival?) -> Displaced {
        guard var value = takeValue(position) else { preconditionFailure("an entry without a value") }
        statistics.evictionCounts[cause] &+= 1
        if cause != .expiration, let reference = revival?.makeReference(&value) {
            entries[Int(position)].reference = reference
            referenceCount &+= 1
            return Displaced(key: nil, value: value)
        }
        return Displaced(key: takeKey(position), value: value)
    }

    /// Takes the value, if there is one, and the entry from the order.
    @inlinable
    mutating func takeValue(_ position: Int32) -> Value? {
        guard let value = entries[Int(position)].value.take() else { return nil }
        totalCost &-= entries[Int(position)].cost
        count &-= 1
        order.remove(position)
        return value
    }

    /// Takes the key of an entry without value and reference, whose position is free then.
    @inlinable
    mutating func takeKey(_ position: Int32) -> Key? {
        index.remove(position, hash: entries[Int(position)].hash)
        freePositions.append(position)
        return entries[Int(position)].key.take()
    }

    /// Removes everything but the limits and the statistics.
    mutating func removeAll() -> ContiguousArray<Entry> {
        let old = entries
        let statistics = statistics
        self = MemoryTable(limits: limits, expirationExtension: expirationExtension)
        self.statistics = statistics
        return old
    }

    // MARK: Evicting because of limits

    @inlinable var isInExcess: Bool { totalCost > limits.cost || count > limits.count }

    /// Evicts the oldest entry if the goal requires it.
    @inlinable
    mutating func evictOldest(for goal: EvictionGoal, revival: Revival?) -> Displaced? {
        guard let time = order.oldestTime, time <= goal.newestTime else { return nil }
        let cause: EvictionCause
        if time <= goal.time {
            cause = goal.cause ?? .age
        } else if totalCost > goal.cost {
            cause = goal.cause ?? .cost
        } else if count > goal.count {
            cause = goal.cause ?? .count
        } else {
            return nil
        }
        return evict(order.oldest, because: cause, revival: revival)
    }

    /// Evicts all entries with a value for which `isGone` returns `true`, oldest first.
    mutating func evictAll(
        because cause: EvictionCause, revival: Revival?, where isGone: (borrowing Entry) -> Bool
    ) -> [Displaced] {
        order.positions().filter { isGone(entries[Int($0)]) }
            .map { evict($0, because: cause, revival: revival) }
    }

    /// Removes all entries that have expired.
    mutating func evictExpired(at now: Int64) -> [Displaced] {
        guard earliestDeadline != .max, earliestDeadline <= now / 1_000 else { return [] }
        let expired = evictAll(because: .expiration, revival: nil) { $0.deadline.isPassed(at: now / 1_000) }
        earliestDeadline = order.positions().reduce(.max) { min($0, entries[Int($1)].deadline.time) }
        return expired
    }

    /// When the next entry expires or becomes too old, in nanoseconds; `.max` for never.
    var nextSweep: Int64 {
        let deadline = earliestDeadline < .max / 1_000 ? earliestDeadline * 1_000 : .max
        guard limits.age != .max, let oldest = order.oldestTime else { return deadline }
        let (end, overflows) = oldest.addingReportingOverflow(limits.age)
        return overflows ? deadline : min(deadline, end)
    }

    // MARK: Values that are alive elsewhere

    /// Finishes a look-up of an entry that is not valid: evicts a value that is too old or has expired, and returns the
    /// value if it is alive elsewhere. It is then cached again, if the limits allow.
    @inlinable
    mutating func revive(_ position: Int32, at now: Int64, revival: Revival?) -> (value: Value?, displaced: Displaced?)
    {
        var displaced: Displaced?
        if let cause = evictionCause(position, at: now), entries[Int(position)].value != nil {
            displaced = evict(position, because: cause, revival: revival)
            // If only the cache had a reference to the value, it is not alive elsewhere.
            if entries[Int(position)].key == nil { return (nil, displaced) }
        }
        guard let value = livingValue(position, at: now, revival: revival) else { return (nil, remove(position)) }
        let (cost, deadline) = (entries[Int(position)].cost, entries[Int(position)].deadline)
        if limits.admit(cost: cost) { _ = replace(position, by: value, cost: cost, deadline: deadline, at: now) }
        return (value, displaced)
    }

    /// Returns the value of an entry that is not valid, if it is alive elsewhere and has not expired.
    @inlinable
    mutating func livingValue(_ position: Int32, at now: Int64, revival: Revival?) -> Value? {
        guard let revival, !entries[Int(position)].deadline.isPassed(at: now / 1_000) else { return nil }
        if let reference = entries[Int(position)].reference { return reference.value }
        // The entry is too old, but has not been evicted yet.
        guard var value = entries[Int(position)].value.take() else { return nil }
        let isAlive = revival.makeReference(&value) != nil
        entries[Int(position)].value = value
        return isAlive ? value : nil
    }

    /// Removes dead references if there may be many.
    ///
    /// - Returns: values to release without the lock, including living ones, since this may hold their last reference.
    @inlinable
    mutating func sweepReferencesIfNeeded() -> [Displaced] { referenceCount < sweepCount ? [] : sweepReferences() }

    @inlinable
    @inline(never)
    mutating func sweepReferences() -> [Displaced] {
        var displaced: [Displaced] = []
        for position in entries.indices {
            guard let reference = entries[position].reference else { continue }
            let value = reference.value
            displaced.append(value == nil ? remove(Int32(position)) : Displaced(key: nil, value: value))
        }
        // A sweep reads all entries, so it waits for half as many evictions.
        sweepCount = max(Self.minimumSweepCount, 2 * referenceCount, entries.count / 2)
        return displaced
    }
}

@usableFromInline
func haveSameBytes(_ first: String, _ second: String) -> Bool { first.hasSameBytes(as: second) }
