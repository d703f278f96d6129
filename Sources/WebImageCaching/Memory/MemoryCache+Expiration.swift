import FoundationEssentials

extension MemoryCache {
    /// When an entry expires, for what is made of it; `nil` where it never does, and where there is none. Asking does not count as
    /// a use.
    package func expiration(for key: Key) -> CacheExpiration? {
        let hash = Store.hash(key)
        let shard = shard(for: hash)
        let deadline = shard.locked {
            let position = shard.store.goodPosition(of: key, hash: hash, clock: clock)
            return position < 0 ? SlotDeadline.never : shard.store.slots[Int(position)].deadline
        }
        guard !deadline.isNever else { return nil }
        let remaining = deadline.time - clock.now() / 1_000
        return .date(Date(timeIntervalSince1970: Double(clock.date() + remaining) / 1_000_000))
    }
}
