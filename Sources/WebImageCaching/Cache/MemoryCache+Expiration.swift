extension MemoryCache {
    /// Stores the value, unless it expires some day: memory does not watch the time, so that such values are on disk
    /// alone, and what the key held goes.
    func set(_ value: Value, for key: Key, cost: Int, expiration: CacheExpiration) {
        if expiration == .never { set(value, for: key, cost: cost) } else { remove(for: key) }
    }

    /// Stores the value unless the key has one already, or it expires some day; `true` if it was stored.
    func insert(_ value: Value, for key: Key, cost: Int, expiration: CacheExpiration) -> Bool {
        expiration == .never && insert(value, for: key, cost: cost)
    }
}
