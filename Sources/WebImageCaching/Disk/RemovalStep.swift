/// How many entries go in one transaction: as many as half a second takes, within bounds.
///
/// Other processes' changes wait for a transaction, so it must end; gets don't. But entries that go next are anywhere in
/// the index, each on pages of its own. The more go at once, the more share a page, and the fewer times each page is
/// written: see Decisions.md.
struct RemovalStep {
    private static let counts = 512...4_096
    private static let time = Duration.milliseconds(500)

    private(set) var count = 1_024

    /// Calls `body` with the most entries that it may remove.
    ///
    /// - Parameter body: returns how many it has removed.
    /// - Returns: whether there may be more.
    mutating func run(_ body: (_ limit: Int) throws(DiskFault) -> Int) throws(DiskFault) -> Bool {
        let (limit, start) = (count, ContinuousClock.now)
        let removed = try body(limit)
        let elapsed = ContinuousClock.now - start
        if elapsed < Self.time / 2 { count = min(count * 2, Self.counts.upperBound) }
        if elapsed > Self.time { count = max(count / 2, Self.counts.lowerBound) }
        return removed >= limit
    }
}
