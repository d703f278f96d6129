internal import Synchronization
internal import WebImageCore

/// Detects whether a key changed while other work on it was in progress, so that memory never keeps values that the
/// disk no longer has.
///
/// A look-up reads the disk, decodes a value and puts it into memory. If another thread stores or removes a value
/// meanwhile, the value from the look-up must not stay in memory. Two concurrent changes may reach memory in another
/// order than the disk. Memory must then remove the key.
///
/// ```
///  look-up   begin ─── read disk ─── make the value ─── unchanged? put into memory ─── end: changed? take it out
///  change    begin ─── change: disk, counted ─── memory ─── end: another change? take it out
/// ```
///
/// The order inside a change matters. A look-up that begins after the change is counted finds the new state on the
/// disk, where changes are visible immediately. A look-up that began before notices the count.
///
/// Changes that reach the disk are also counted separately, since only those invalidate the work of a disk writer.
final class ChangeMonitor<Key: Hashable & Sendable>: Sendable {
    /// Work on a key, from its beginning to its end.
    struct Passage: Sendable {
        let key: Key
        /// The counts at the beginning, plus the passage's own changes.
        fileprivate var expected: Counts
        /// The changes of all keys at the beginning, plus the passage's own.
        fileprivate var expectedTotal: Int

        fileprivate mutating func add(reachesDisk: Bool) {
            expected.add(reachesDisk: reachesDisk)
            expectedTotal += 1
        }
    }

    /// The number of changes of a key during the work on it.
    fileprivate struct Counts: Equatable {
        var all = 0
        var onDisk = 0

        mutating func add(reachesDisk: Bool) {
            all += 1
            if reachesDisk { onDisk += 1 }
        }
    }

    /// The state of a key while there is work on it.
    private struct Activity {
        var passageCount = 0
        var counts = Counts()
    }

    private let activities = Lock<[Key: Activity]>([:])
    /// The changes of all keys. Changed under the lock, before the change itself, and read without it: while it stays the same,
    /// no key has changed.
    private let total = Atomic(0)

    /// Begins a passage. Each one must be ended.
    func begin(_ key: Key) -> Passage {
        activities.withLock { activities in
            guard let index = activities.index(forKey: key) else {
                activities.updateValue(Activity(passageCount: 1), forKey: key)
                return Passage(key: key, expected: Counts(), expectedTotal: total.load(ordering: .relaxed))
            }
            activities.values[index].passageCount += 1
            return Passage(
                key: key, expected: activities.values[index].counts, expectedTotal: total.load(ordering: .relaxed))
        }
    }

    /// Returns the number of changes of the key during the work on it; 0 if there is none.
    func changeCount(of key: Key) -> Int { activities.withLock { $0[key]?.counts.all ?? 0 } }

    /// Makes a change. Changes of the disk are made in `body`, which only stages them, so that they happen in the order
    /// in which they are counted.
    ///
    /// - Parameter reachesDisk: `false` for a change of memory only.
    func change(_ passage: inout Passage, reachesDisk: Bool = true, _ body: () -> Void = {}) {
        activities.withLock { activities in
            total.wrappingAdd(1, ordering: .sequentiallyConsistent)
            body()
            if let index = activities.index(forKey: passage.key) {
                activities.values[index].counts.add(reachesDisk: reachesDisk)
            }
        }
        passage.add(reachesDisk: reachesDisk)
    }

    /// Makes a change of the disk, unless another change was made since the passage began; returns whether it was made.
    func changeDiskIfUnchanged(_ passage: inout Passage, _ body: () -> Void) -> Bool {
        let isMade = activities.withLock { activities in
            guard let index = activities.index(forKey: passage.key),
                activities.values[index].counts.onDisk == passage.expected.onDisk
            else { return false }
            total.wrappingAdd(1, ordering: .sequentiallyConsistent)
            body()
            activities.values[index].counts.add(reachesDisk: true)
            return true
        }
        if isMade { passage.add(reachesDisk: true) }
        return isMade
    }

    /// Runs `body` if the disk was not changed since the passage began. `body` does not change stored bytes, only their
    /// attributes.
    func ifUnchangedOnDisk(since passage: Passage, _ body: () -> Void) {
        activities.withLock { activities in
            if activities[passage.key]?.counts.onDisk == passage.expected.onDisk { body() }
        }
    }

    /// Counts a change of every key.
    func changeAll(reachesDisk: Bool = true) {
        activities.withLock { activities in
            total.wrappingAdd(1, ordering: .sequentiallyConsistent)
            for key in activities.keys { activities[key]?.counts.add(reachesDisk: reachesDisk) }
        }
    }

    /// Whether another change was made since the passage began.
    func hasChanged(since passage: Passage) -> Bool {
        guard total.load(ordering: .sequentiallyConsistent) != passage.expectedTotal else { return false }
        return activities.withLock { $0[passage.key]?.counts != passage.expected }
    }

    /// Ends the passage; returns ``hasChanged(since:)``.
    func end(_ passage: Passage) -> Bool {
        activities.withLock { activities in
            guard let index = activities.index(forKey: passage.key) else { return true }
            activities.values[index].passageCount -= 1
            let activity = activities.values[index]
            if activity.passageCount == 0 { activities.remove(at: index) }
            return activity.counts != passage.expected
        }
    }
}
