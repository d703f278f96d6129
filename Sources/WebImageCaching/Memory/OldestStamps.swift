internal import Synchronization

/// The stamp of each shard's least recently used entry, for evictions to compare; `.max` for a shard without entries.
///
/// Each is written under its shard's lock and read without. They lie side by side: they seldom change but by evictions,
/// which read all of them.
@usableFromInline
final class OldestStamps: Sendable {
    private let start = CacheLines()
    private let stamps: [32 of Atomic<Int64>] = InlineArray { _ in Atomic(.max) }
    private let end = CacheLines()
    private let count: Int

    /// - Parameter count: of shards, at most 32.
    init(count: Int) { self.count = count }

    @usableFromInline
    func announce(_ stamp: Int64, ofShard index: Int) { stamps[index].store(stamp, ordering: .relaxed) }

    /// The shard with the smallest stamp, `nil` when all are empty.
    @usableFromInline
    func first() -> (shard: Int, stamp: Int64)? {
        var first = (shard: 0, stamp: Int64.max)
        for index in 0..<count {
            let stamp = stamps[index].load(ordering: .relaxed)
            if stamp < first.stamp { first = (index, stamp) }
        }
        return first.stamp == .max ? nil : first
    }
}
