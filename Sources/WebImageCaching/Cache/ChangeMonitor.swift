internal import WebImageCore

/// Tells whether a key changed while other work on it was in progress, so that memory never keeps what the disk no longer
/// holds.
///
/// A look-up reads the disk, makes a value of the bytes and puts it into memory. Meanwhile, another
/// thread may store or remove a value; then what the look-up read must not stay in memory. Two changes at the same time may reach memory
/// in another order than the disk; then memory must forget the key.
///
/// ```
///  look-up   begin ─── read disk ─── make the value ─── unchanged? put into memory ─── end: changed? take it out
///  change    begin ─── change: disk, counted ─── memory ─── end: another change? take it out
/// ```
///
/// The order inside a change matters: a look-up that begins after the change is counted finds the new state on the
/// disk, where changes can be seen at once; one that began before notices the count.
///
/// Changes that reach the disk are also counted separately: only those overtake a writer of the disk.
final class ChangeMonitor<Key: Hashable & Sendable>: Sendable {
    /// Work on a key, from its beginning to its end.
    struct Passage: Sendable {
        let key: Key
        /// The counts at its beginning, and its own changes.
        fileprivate var expected: Counts
    }

    /// How often a key has changed during the work on it.
    fileprivate struct Counts: Equatable {
        var all = 0
        var onDisk = 0

        mutating func add(reachesDisk: Bool) {
            all += 1
            if reachesDisk { onDisk += 1 }
        }
    }

    /// What is known about a key while there is work on it.
    private struct Activity {
        var passageCount = 0
        var counts = Counts()
    }

    private let activities = Lock<[Key: Activity]>([:])

    /// Every beginning needs an end.
    func begin(_ key: Key) -> Passage {
        func enter(_ activity: inout Activity) -> Passage {
            activity.passageCount += 1
            return Passage(key: key, expected: activity.counts)
        }
        return activities.withLock { enter(&$0[key, default: Activity()]) }
    }

    /// How often the key has changed during the work on it; 0 where there is none.
    func changeCount(of key: Key) -> Int { activities.withLock { $0[key]?.counts.all ?? 0 } }

    /// Makes a change. Those of the disk are made in `body`, which only stages them: so they happen in the order in which
    /// they are counted.
    ///
    /// - Parameter reachesDisk: `false` for a change of memory alone.
    func change(_ passage: inout Passage, reachesDisk: Bool = true, _ body: () -> Void = {}) {
        activities.withLock { activities in
            body()
            activities[passage.key]?.counts.add(reachesDisk: reachesDisk)
        }
        passage.expected.add(reachesDisk: reachesDisk)
    }

    /// Makes a change of the disk if that was not changed since the passage began, apart from its own; `false` if it was.
    func changeDiskIfUnchanged(_ passage: inout Passage, _ body: () -> Void) -> Bool {
        let isMade = activities.withLock { activities in
            guard activities[passage.key]?.counts.onDisk == passage.expected.onDisk else { return false }
            body()
            activities[passage.key]?.counts.add(reachesDisk: true)
            return true
        }
        if isMade { passage.expected.add(reachesDisk: true) }
        return isMade
    }

    /// Runs `body` if the disk was not changed since the passage began; that is no change of what is stored, only of what is
    /// known about it.
    func ifUnchangedOnDisk(since passage: Passage, _ body: () -> Void) {
        activities.withLock { activities in
            if activities[passage.key]?.counts.onDisk == passage.expected.onDisk { body() }
        }
    }

    /// Makes a change of every key.
    func changeAll(reachesDisk: Bool = true) {
        activities.withLock { activities in
            for key in activities.keys { activities[key]?.counts.add(reachesDisk: reachesDisk) }
        }
    }

    /// Whether there was a change since the passage began, apart from its own.
    func hasChanged(since passage: Passage) -> Bool {
        activities.withLock { $0[passage.key]?.counts != passage.expected }
    }

    /// Ends the passage; the answer is ``hasChanged(since:)``'s.
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
