/// Positions in the order of their last use: a doubly linked list in an array.
///
/// Invariant: from the oldest to the newest, the times of use never fall.
@usableFromInline
struct UseOrder: Sendable {
    @usableFromInline
    struct Link: Sendable {
        /// The time of the last use, in nanoseconds.
        @usableFromInline var time: Int64
        /// -1 for the newest.
        @usableFromInline var newer: Int32
        /// -1 for the oldest.
        @usableFromInline var older: Int32

        @inlinable
        init(time: Int64, newer: Int32, older: Int32) { (self.time, self.newer, self.older) = (time, newer, older) }
    }

    /// By position. Those of positions that are not in the list mean nothing.
    @usableFromInline var links: ContiguousArray<Link> = []
    /// -1 if the list is empty, as is ``oldest``.
    @usableFromInline var newest: Int32 = -1
    @usableFromInline var oldest: Int32 = -1

    @inlinable
    init() {}

    /// The time of the first use, in nanoseconds; `nil` if the list is empty.
    @inlinable var oldestTime: Int64? { oldest < 0 ? nil : links[Int(oldest)].time }

    @inlinable
    func time(_ position: Int32) -> Int64 { links[Int(position)].time }

    /// The positions, oldest first.
    func positions() -> [Int32] {
        Array(sequence(first: oldest) { links[Int($0)].newer }.prefix { $0 >= 0 })
    }

    /// Adds a position as the newest.
    @inlinable
    mutating func append(_ position: Int32, at now: Int64) {
        // Another thread may have read the clock later, but come first.
        let used = newest < 0 ? now : max(now, time(newest))
        let link = Link(time: used, newer: -1, older: newest)
        while Int(position) >= links.count { links.append(link) }
        links[Int(position)] = link
        if newest < 0 { oldest = position } else { links[Int(newest)].newer = position }
        newest = position
    }

    @inlinable
    mutating func remove(_ position: Int32) {
        let link = links[Int(position)]
        if link.newer < 0 { newest = link.older } else { links[Int(link.newer)].older = link.older }
        if link.older < 0 { oldest = link.newer } else { links[Int(link.older)].newer = link.newer }
    }

    @inlinable
    mutating func moveToEnd(_ position: Int32, at now: Int64) {
        if position == newest {
            links[Int(position)].time = max(now, time(position))
        } else {
            remove(position)
            append(position, at: now)
        }
    }
}
