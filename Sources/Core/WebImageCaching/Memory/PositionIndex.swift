/// Finds the positions of entries by the hashes of their keys. It has no keys itself.
///
/// A table with linear probing, at most three quarters full. Each bucket has the hash of its entry, so that a look-up
/// rarely reads entries of other keys, and growing reads none. `Dictionary` would hash again, under the lock.
///
/// Invariant: from the home of an entry, the bucket that its hash selects, to its own bucket none is empty.
@usableFromInline
struct PositionIndex: Sendable {
    @usableFromInline
    struct Bucket: Sendable {
        @usableFromInline var hash: UInt32
        /// -1 for an empty bucket.
        @usableFromInline var position: Int32

        @inlinable
        init(hash: UInt32, position: Int32) { (self.hash, self.position) = (hash, position) }

        @inlinable static var empty: Bucket { Bucket(hash: 0, position: -1) }
        @inlinable var isEmpty: Bool { position < 0 }
    }

    /// A power of two.
    @usableFromInline var buckets = [Bucket](repeating: .empty, count: 16)
    @usableFromInline var count = 0

    @inlinable
    init() {}

    @inlinable var mask: Int { buckets.count &- 1 }

    /// Returns the position with this hash for which `isFound` returns `true`; -1 if there is none.
    @inlinable
    @inline(__always)
    func position(hash: UInt32, where isFound: (Int32) -> Bool) -> Int32 {
        var index = Int(hash) & mask
        while true {
            let bucket = buckets[index]
            if bucket.isEmpty || bucket.hash == hash && isFound(bucket.position) { return bucket.position }
            index = (index &+ 1) & mask
        }
    }

    /// Adds a position that it does not have.
    @inlinable
    mutating func insert(_ position: Int32, hash: UInt32) {
        if (count &+ 1) &* 4 > buckets.count &* 3 { grow() }
        count &+= 1
        place(Bucket(hash: hash, position: position))
    }

    /// Removes a position that it has. Later buckets move to the gap where the invariant needs them.
    @inlinable
    mutating func remove(_ position: Int32, hash: UInt32) {
        count &-= 1
        var gap = Int(hash) & mask
        while buckets[gap].position != position { gap = (gap &+ 1) & mask }
        var next = (gap &+ 1) & mask
        while !buckets[next].isEmpty {
            let home = Int(buckets[next].hash) & mask
            // It may move to the gap unless its home is after the gap.
            if (next &- home) & mask >= (next &- gap) & mask {
                buckets[gap] = buckets[next]
                gap = next
            }
            next = (next &+ 1) & mask
        }
        buckets[gap] = .empty
    }

    @inlinable
    mutating func place(_ bucket: Bucket) {
        var index = Int(bucket.hash) & mask
        while !buckets[index].isEmpty { index = (index &+ 1) & mask }
        buckets[index] = bucket
    }

    @usableFromInline
    mutating func grow() {
        let old = buckets
        buckets = [Bucket](repeating: .empty, count: old.count * 2)
        for bucket in old where !bucket.isEmpty { place(bucket) }
    }
}
