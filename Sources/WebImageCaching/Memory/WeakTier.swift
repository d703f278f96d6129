/// The values of a shard that may be alive elsewhere, whether the shard holds them itself or not.
///
/// An entry is made with each value that is stored, and goes when the value is removed or expires; evictions leave it.
/// Those of dead values are swept out whenever the entries have doubled since the last time.
///
/// What the methods remove they return: keys and references are a client's, to be released when the lock is not held.
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

    @usableFromInline typealias Element = (key: Key, value: Entry)

    @usableFromInline var entries: [ExactKey<Key>: Entry] = [:]
    @usableFromInline var nextSerial = 0
    /// How many entries are due for a sweep; `.max` while a thread is at it.
    @usableFromInline var sweepCount = Self.leastSweepCount

    @inlinable static var leastSweepCount: Int { 64 }

    @inlinable
    init() {}

    /// An empty tier after one that is done with.
    @inlinable
    init(succeeding old: WeakTier) { nextSerial = old.nextSerial }

    /// Whether it is time to forget the dead.
    @inlinable var needsSweep: Bool { entries.count >= sweepCount }

    /// Keeps the reference in place of the key's older one; without one, forgets that.
    @inlinable
    mutating func set(
        _ reference: ValueRevival<Value>.Reference?, for key: Key, cost: Int, deadline: SlotDeadline
    ) -> Element? {
        nextSerial += 1
        guard let reference else { return remove(key) }
        let entry = Entry(reference: reference, cost: cost, deadline: deadline, serial: nextSerial)
        return entries.updateValue(entry, forKey: ExactKey(key)).map { (key, $0) }
    }

    @inlinable
    mutating func remove(_ key: Key) -> Element? {
        entries.index(forKey: ExactKey(key)).map { entries.remove(at: $0) }.map { ($0.key.key, $0.value) }
    }

    /// Removes the entry unless the key has another one by now.
    @inlinable
    mutating func remove(_ key: Key, serial: Int) -> Element? {
        entries[ExactKey(key)]?.serial == serial ? remove(key) : nil
    }

    /// Takes over what uses have made of a deadline, as the entry leaves the cache.
    @inlinable
    mutating func update(_ key: Key, deadline: SlotDeadline) {
        if !deadline.isNever { entries[ExactKey(key)]?.deadline = deadline }
    }

    /// All entries for a sweep, if one is due; to be followed by ``endSweep(dead:)``.
    @inlinable
    mutating func beginSweep() -> [ExactKey<Key>: Entry]? {
        guard needsSweep else { return nil }
        sweepCount = .max
        return entries
    }

    @inlinable
    mutating func endSweep(dead: [(key: Key, serial: Int)]) -> [Element] {
        let removed = dead.compactMap { remove($0.key, serial: $0.serial) }
        sweepCount = max(Self.leastSweepCount, 2 * entries.count)
        return removed
    }
}
