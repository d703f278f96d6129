internal import WebImageCore

// The order of use: a use writes a stamp, and an eviction looks for the oldest one.

extension LRUStore {
    /// Gives an entry a stamp that is later than all others', even where the clock was read earlier.
    @inlinable
    @inline(__always)
    mutating func stamp(_ position: Int32, at now: Int64) {
        lastStamp = max(now, lastStamp &+ 1)
        slot(position).pointee.stamp = lastStamp
    }

    /// No entry is older; `.max` when there is none.
    @usableFromInline var oldestStamp: Int64 { queue.first?.stamp ?? .max }

    /// Moves entries that were used since they were queued, until the first place is that of the oldest entry.
    ///
    /// - Returns: its position; -1 if there is none, or if more than 64 entries have to be moved, which the caller lets others
    ///   use the lock before.
    @usableFromInline
    mutating func findOldest() -> Int32 {
        for _ in 0..<64 {
            guard let (stamp, position) = queue.first else { return -1 }
            if detail(position).pointee.queuedStamp != stamp {
                queue.removeFirst()
                continue
            }
            let used = slot(position).pointee.stamp
            if used == stamp { return position }
            detail(position).pointee.queuedStamp = used
            queue.postponeFirst(to: used)
        }
        return -1
    }

    /// Voids the place of an entry.
    @usableFromInline
    mutating func leaveQueue(_ position: Int32) {
        if let first = queue.first, first.position == position, first.stamp == detail(position).pointee.queuedStamp {
            queue.removeFirst()
        }
        detail(position).pointee.queuedStamp = .min
        // Places of entries that were removed before they were the oldest.
        if queue.count > 2 * count + 64 {
            queue = AgeQueue(queue.places.filter { detail($0.position).pointee.queuedStamp == $0.stamp })
        }
    }

    /// Calls `body` with the positions of all entries, in any order.
    @inlinable
    func forEach(_ body: (_ position: Int32) -> Void) {
        queue.forEach { stamp, position in
            if detail(position).pointee.queuedStamp == stamp { body(position) }
        }
    }

    // MARK: Evicting several

    /// Removes all entries that have expired.
    mutating func evictExpired(at now: Int64) -> [Displaced] {
        guard earliestDeadline != .max, earliestDeadline <= now / 1_000 else { return [] }
        let expired = evictAll(because: .expiration, revival: nil) { slot, _ in
            SlotDeadline(time: slot.expires, lifetime: -1).isPassed(at: now)
        }
        var earliest = Int64.max
        forEach { earliest = min(earliest, slot($0).pointee.expires) }
        earliestDeadline = earliest
        return expired
    }

    /// Evicts all entries for which `isGone` returns `true`, oldest first.
    mutating func evictAll(
        because cause: EvictionCause, revival: ValueRevival<Value>?, where isGone: (borrowing Slot, Detail) -> Bool
    ) -> [Displaced] {
        var positions: [Int32] = []
        forEach { if isGone(slot($0).pointee, detail($0).pointee) { positions.append($0) } }
        positions.sort { slot($0).pointee.stamp < slot($1).pointee.stamp }
        return positions.map { evict($0, because: cause, revival: revival) }
    }
}

/// Entries by the time of a use, the oldest first.
///
/// A use does not change the queue. When an entry gets to the front, its owner compares the stamp with that of the last use,
/// and moves it back if they differ. Stamps only grow, so the first entry whose stamp is up to date is the oldest of all, and an
/// entry is moved at most once for any number of uses.
///
/// It is a heap in which a node has four children, which fit in a cache line.
@usableFromInline
struct AgeQueue {
    @usableFromInline
    struct Place {
        @usableFromInline var stamp: Int64
        @usableFromInline let position: Int32

        @inlinable
        init(stamp: Int64, position: Int32) { (self.stamp, self.position) = (stamp, position) }
    }

    @usableFromInline var places: [Place] = []

    @inlinable
    init() {}

    /// - Parameter places: in any order.
    init(_ places: [Place]) {
        self.places = places
        guard places.count > 1 else { return }
        for index in (0...(places.count - 2) / 4).reversed() { sink(self.places[index], from: index) }
    }

    var count: Int { places.count }

    var first: (stamp: Int64, position: Int32)? { places.first.map { ($0.stamp, $0.position) } }

    /// - Parameter stamp: later than all in the queue.
    @inlinable
    mutating func append(stamp: Int64, position: Int32) { places.append(Place(stamp: stamp, position: position)) }

    mutating func removeFirst() {
        let last = places.removeLast()
        guard !places.isEmpty else { return }
        sink(last, from: 0)
    }

    /// Gives the first entry a later stamp.
    mutating func postponeFirst(to stamp: Int64) {
        sink(Place(stamp: stamp, position: places[0].position), from: 0)
    }

    @inlinable
    func forEach(_ body: (_ stamp: Int64, _ position: Int32) -> Void) {
        for place in places { body(place.stamp, place.position) }
    }

    /// Puts a place at `index`, or below it where a child is older.
    private mutating func sink(_ place: Place, from index: Int) {
        places.withUnsafeMutableBufferPointer { places in
            var index = index
            while true {
                let firstChild = 4 * index + 1
                guard firstChild < places.count else { break }
                var oldest = firstChild
                for child in (firstChild + 1)..<max(firstChild + 1, min(firstChild + 4, places.count))
                where places[child].stamp < places[oldest].stamp { oldest = child }
                guard places[oldest].stamp < place.stamp else { break }
                places[index] = places[oldest]
                index = oldest
            }
            places[index] = place
        }
    }
}
