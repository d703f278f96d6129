internal import WebImageCore

/// Tells whether a key changed while other work on it was under way, so that memory never keeps what the disk no longer
/// holds.
///
/// A look-up reads the disk, makes a value of the bytes and puts it into memory. In that time somebody may store another
/// value, or remove it; then what the look-up read must not stay in memory. Two changes at the same time may reach memory
/// in another order than the disk; then memory must forget the key.
///
/// ```
///  look-up   begin ─── read disk ─── make the value ─── unchanged? put into memory ─── end: changed? take it out
///  change    begin ─── change: disk, counted ─── memory ─── end: another change? take it out
/// ```
///
/// The order inside a change matters: a look-up that begins after the change is counted finds the new state on the
/// disk, where changes can be seen at once; one that began before notices the count.
final class ChangeMonitor<Key: Hashable & Sendable>: Sendable {
    /// Work on a key, from its beginning to its end.
    struct Passage: Sendable {
        let key: Key
        /// The count at its beginning, and its own changes.
        fileprivate var expectedCount: Int
    }

    /// What is known about a key while there is work on it.
    private struct Activity {
        var passageCount = 0
        var changeCount = 0
    }

    private let activities = Lock<[Key: Activity]>([:])

    /// Every beginning needs an end.
    func begin(_ key: Key) -> Passage {
        activities.withLock { activities in
            activities[key, default: Activity()].passageCount += 1
            return Passage(key: key, expectedCount: activities[key]?.changeCount ?? 0)
        }
    }

    /// How often the key has changed during the work on it; 0 where there is none.
    func changeCount(of key: Key) -> Int { activities.withLock { $0[key]?.changeCount ?? 0 } }

    /// Makes a change. Those of the disk are made in `body`, which only stages them: so they happen in the order in which
    /// they are counted.
    func change(_ passage: inout Passage, _ body: () -> Void = {}) {
        activities.withLock { activities in
            body()
            activities[passage.key]?.changeCount += 1
        }
        passage.expectedCount += 1
    }

    /// Makes a change if there was no other since the passage began, apart from its own; `false` if there was.
    func changeIfUnchanged(_ passage: inout Passage, _ body: () -> Void) -> Bool {
        let isMade = activities.withLock { activities in
            guard activities[passage.key]?.changeCount == passage.expectedCount else { return false }
            body()
            activities[passage.key]?.changeCount += 1
            return true
        }
        if isMade { passage.expectedCount += 1 }
        return isMade
    }

    /// Makes a change of every key.
    func changeAll(_ body: () -> Void = {}) {
        activities.withLock { activities in
            body()
            for key in activities.keys { activities[key]?.changeCount += 1 }
        }
    }

    /// Whether there was a change since the passage began, apart from its own.
    func hasChanged(since passage: Passage) -> Bool {
        activities.withLock { $0[passage.key]?.changeCount != passage.expectedCount }
    }

    /// Ends the passage; the answer is ``hasChanged(since:)``'s.
    func end(_ passage: Passage) -> Bool {
        activities.withLock { activities in
            guard var activity = activities[passage.key] else { return true }
            activity.passageCount -= 1
            activities[passage.key] = activity.passageCount == 0 ? nil : activity
            return activity.changeCount != passage.expectedCount
        }
    }
}
