internal import FoundationEssentials

extension DiskCache {
    // MARK: Removing much

    /// Removes everything: at once for look-ups, and step by step on disk, which takes longer than ``removeAll()`` does.
    ///
    /// - Parameter progress: called on a thread of the disk pool with how many entries are gone from the disk, and how many
    ///   there were; first with 0.
    public func removeAll(progress: @escaping @Sendable (_ removed: Int, _ total: Int) -> Void) async {
        await removeAll(telling: progress)
    }

    /// Removes the first entries in the order of ``Configuration/evictionOrder`` until the values take no more than `size`
    /// bytes, and expired ones, and files that a killed process left behind; gives the space back to the file system.
    public func trim(toSize size: Int64) async {
        await onLane { $0.trim(to: DiskWriter.TrimTarget(size: max(0, size))) }
    }

    /// As ``trim(toSize:)``, until there are no more than `count` entries.
    public func trim(toCount count: Int) async {
        await onLane { $0.trim(to: DiskWriter.TrimTarget(count: Int64(max(0, count)))) }
    }

    /// As ``trim(toSize:)``, until no entry is older than `seconds`, which count from its last access, or by what
    /// ``Configuration/evictionOrder`` says.
    public func trim(toAge seconds: Double) async {
        await onLane { $0.trim(to: DiskWriter.TrimTarget(age: DiskWriter.microseconds(ofAge: seconds))) }
    }

    /// Removes entries that have expired. They are not found any more in any case; this gives back their space.
    public func removeExpired() async { await onLane { $0.removeExpired() } }

    /// Writes everything that waits, accesses too, and applies the limits. After a failure it tries the directory again.
    public func flush() async {
        lane.submit { [writer] in writer.retry() }
        await onLane { $0.enforceLimits() }
    }

    // MARK: Counting

    /// The bytes of all values, after everything stored before is written. Looking it up takes constant time.
    public var totalSize: Int64 { get async { await onLane { $0.totals()?.size ?? 0 } } }

    /// How many entries there are, after everything stored before is written. Looking it up takes constant time. Those
    /// that have expired or are too old count until they are removed.
    public var count: Int { get async { await onLane { Int($0.totals()?.count ?? 0) } } }

    /// What the cache holds and how it did, after everything stored before is written; takes constant time.
    public func statistics() async -> Statistics { await onLane { $0.statistics() } }

    /// A page of the entries, in the order in which they were stored; without those that have expired or are too old.
    ///
    /// - Parameters:
    ///   - entry: the last of the page before; `nil` for the first page.
    ///   - limit: the most entries to return. An empty page is the end.
    public func entries(after entry: Entry? = nil, limit: Int = 1_000) async -> [Entry] {
        let id = entry?.id ?? 0
        return await onLane { $0.entries(after: id, limit: max(1, limit)) }
    }
}
