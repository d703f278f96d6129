/// The values of a shard that may be alive elsewhere, whether the shard holds them itself or not.
///
/// An entry is made with each value that is stored, and goes when the value is removed or expires; evictions leave it.
/// Those of dead values are swept out whenever the entries have doubled since the last time.
@usableFromInline
struct WeakTier<Key: Hashable & Sendable, Value: Sendable> {
    @usableFromInline
    struct Entry: Sendable {
        @usableFromInline let reference: ValueRevival<Value>.Reference
        @usableFromInline let cost: Int
        @usableFromInline var deadline: SlotDeadline
        /// Tells entries of one key apart.
        @usableFromInline let serial: Int

        @inlinable
        init(reference: @escaping ValueRevival<Value>.Reference, cost: Int, deadline: SlotDeadline, serial: Int) {
            self.reference = reference
            self.cost = cost
            self.deadline = deadline
            self.serial = serial
        }
    }

    @usableFromInline var entries: [Key: Entry] = [:]
    @usableFromInline var nextSerial = 0
    /// How many entries are due for a sweep; `.max` while a thread is at it.
    @usableFromInline var sweepCount = Self.leastSweepCount

    @inlinable static var leastSweepCount: Int { 64 }

    @inlinable
    init() {}

    /// An empty tier after one that is done with.
    @inlinable
    init(succeeding old: WeakTier) { nextSerial = old.nextSerial }

    /// Keeps the reference in place of the key's older one; without one, forgets that.
    @inlinable
    mutating func set(_ reference: ValueRevival<Value>.Reference?, for key: Key, cost: Int, deadline: SlotDeadline) {
        nextSerial += 1
        entries[key] = reference.map { Entry(reference: $0, cost: cost, deadline: deadline, serial: nextSerial) }
    }

    /// The entry, unless it has expired.
    @inlinable
    mutating func entry(for key: Key, at now: Int64) -> Entry? {
        guard let entry = entries[key] else { return nil }
        guard !entry.deadline.isPassed(at: now) else {
            entries[key] = nil
            return nil
        }
        return entry
    }

    /// Removes the entry unless the key has another one by now.
    @inlinable
    mutating func remove(_ key: Key, serial: Int) {
        if entries[key]?.serial == serial { entries[key] = nil }
    }

    /// Takes over what uses have made of a deadline, as the entry leaves the cache.
    @inlinable
    mutating func update(_ key: Key, deadline: SlotDeadline) {
        if !deadline.isNever { entries[key]?.deadline = deadline }
    }

    /// All entries for a sweep, if one is due; to be followed by ``endSweep(dead:)``.
    @inlinable
    mutating func beginSweep() -> [Key: Entry]? {
        guard entries.count >= sweepCount else { return nil }
        sweepCount = .max
        return entries
    }

    @inlinable
    mutating func endSweep(dead: [(key: Key, serial: Int)]) {
        for (key, serial) in dead { remove(key, serial: serial) }
        sweepCount = max(Self.leastSweepCount, 2 * entries.count)
    }
}
