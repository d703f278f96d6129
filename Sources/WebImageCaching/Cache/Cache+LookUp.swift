internal import FoundationEssentials
internal import WebImageCoding
internal import WebImageCore

extension Cache {
    /// The value; `nil` when there is none. Memory answers without a turn of another thread.
    public func value(for key: String) async -> Value? { await item(for: key)?.value }

    /// The value, what was stored with it, and where it was; `nil` when there is none.
    public func item(for key: String) async -> Item? {
        if let item = itemInMemory(for: key) { return item }
        let passage = changes.begin(KeyText(key))
        guard let stored = await disk.item(for: key) else {
            _ = changes.end(passage)
            return nil
        }
        return await DecodingQueue.run { self.promote(stored, passage) }
    }

    /// Whether there is a value; asking does not count as a use.
    public func contains(_ key: String) async -> Bool {
        if memory.contains(key) { return true }
        return await disk.contains(key)
    }

    /// As ``value(for:)``; blocks on the disk.
    @available(*, noasync, message: "It blocks on the disk; use value(for:)")
    public func cachedValue(for key: String) -> Value? { cachedItem(for: key)?.value }

    /// As ``item(for:)``; blocks on the disk.
    @available(*, noasync, message: "It blocks on the disk; use item(for:)")
    public func cachedItem(for key: String) -> Item? {
        if let item = itemInMemory(for: key) { return item }
        let passage = changes.begin(KeyText(key))
        guard let stored = disk.cachedItem(for: key) else {
            _ = changes.end(passage)
            return nil
        }
        return promote(stored, passage)
    }

    /// As ``contains(_:)``; blocks on the disk.
    @available(*, noasync, message: "It blocks on the disk; use contains(_:)")
    public func isCached(_ key: String) -> Bool { memory.contains(key) || disk.isCached(key) }

    private func itemInMemory(for key: String) -> Item? {
        memory.value(for: key).map { Item(value: $0.value, extendedData: $0.extendedData, tier: .memory) }
    }

    /// Puts what the disk had into memory too, and ends the passage.
    private func promote(_ stored: DiskCache.Item, _ passage: ChangeMonitor<KeyText>.Passage) -> Item? {
        let value: Value
        do {
            guard let unarchived = try archiver.unarchive(stored.data) else {
                remove(unreadable: "it holds no such value.", passage)
                return nil
            }
            value = unarchived
        } catch {
            remove(unreadable: "\(error)", passage)
            return nil
        }
        let content = Content(value: value, extendedData: stored.entry.extendedData)
        var isInserted = false
        if !changes.hasChanged(since: passage) {
            isInserted = memory.insert(
                content, for: passage.key.text, cost: cost(value, stored.data.count),
                expiration: stored.entry.expires.map(CacheExpiration.date))
        }
        if changes.end(passage), isInserted { memory.remove(for: passage.key.text) }
        return Item(value: value, extendedData: content.extendedData, tier: .disk)
    }

    /// What others have stored in the meantime stays, and of several that come upon the same bytes one reports.
    private func remove(unreadable reason: String, _ passage: ChangeMonitor<KeyText>.Passage) {
        var passage = passage
        let key = passage.key.text
        let isRemoved = changes.changeDiskIfUnchanged(&passage) { disk.remove(for: key) }
        _ = changes.end(passage)
        if isRemoved { onFailure(.damagedCacheEntry(key: key, reason: reason)) }
    }
}
