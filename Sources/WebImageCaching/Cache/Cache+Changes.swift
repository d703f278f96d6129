internal import FoundationEssentials
internal import WebImageCoding
public import WebImageCore

extension Cache {
    /// Stores the value, in memory and for the disk; `nil` removes what is there. Returns once the bytes are made; they are
    /// written later, and seen by look-ups from now on.
    ///
    /// The archiver works on the calling thread. If it throws, the key has no value afterwards: what it held is out of date.
    ///
    /// - Parameter attributes: when it expires, by default as `disk` is configured, and what to keep beside it.
    /// - Throws: ``WebImageError/archiving(key:reason:)``.
    public func set(
        _ value: Value?, for key: String, attributes: DiskCache.Attributes = DiskCache.Attributes()
    ) throws(WebImageError) {
        try set(value, for: key, attributes: attributes, completion: nil)
    }

    /// As the other of that name; the archiver works on another thread, and it returns when the value is on disk, or could
    /// not be written (which `disk` reports).
    ///
    /// - Throws: ``WebImageError/archiving(key:reason:)``.
    public func set(
        _ value: Value?, for key: String, attributes: DiskCache.Attributes = DiskCache.Attributes()
    ) async throws(WebImageError) {
        let result: Result<Void, WebImageError> = await withCheckedContinuation { continuation in
            DecodingQueue.shared.submit {
                do throws(WebImageError) {
                    try self.set(value, for: key, attributes: attributes) {
                        continuation.resume(returning: .success(()))
                    }
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        try result.get()
    }

    /// Removes the value; returns at once, and look-ups find nothing from now on.
    public func remove(for key: String) { remove(for: key, completion: nil) }

    /// Removes the value; returns when it is gone from the disk, or could not be removed.
    public func remove(for key: String) async {
        await withCheckedContinuation { continuation in remove(for: key) { continuation.resume() } }
    }

    /// Removes everything.
    public func removeAll() async {
        forgetAll()
        await disk.removeAll()
        // Once more, for what look-ups had read before the disk was empty.
        forgetAll()
    }

    /// Removes everything; `progress` is told how many entries are gone from the disk, of how many, on a thread of the
    /// library.
    public func removeAll(progress: @escaping @Sendable (_ removed: Int, _ total: Int) -> Void) async {
        forgetAll()
        await disk.removeAll(progress: progress)
        forgetAll()
    }

    /// Removes the least recently used entries until each of memory and disk has no more than `count`.
    public func trim(toCount count: Int) async {
        memory.trim(toCount: count)
        await disk.trim(toCount: count)
    }

    /// Removes the least recently used entries until the disk's values take no more than `size` bytes. Memory counts
    /// otherwise: `memory.trim(toCost:)`.
    public func trim(toSize size: Int64) async { await disk.trim(toSize: size) }

    /// Removes the entries that nobody has used for `seconds`.
    public func trim(toAge seconds: Double) async {
        memory.trim(toAge: seconds)
        await disk.trim(toAge: seconds)
    }

    /// Removes the entries whose time has passed. They are never handed out, removed or not.
    public func removeExpired() async {
        memory.removeExpired()
        await disk.removeExpired()
    }

    // MARK: Both forms

    /// `completion` is called when both memory and disk are done, unless it throws.
    private func set(
        _ value: Value?, for key: String, attributes: DiskCache.Attributes, completion: (@Sendable () -> Void)?
    ) throws(WebImageError) {
        guard let value else { return remove(for: key, completion: completion) }
        let data: Data
        do {
            data = try archiver.archive(value)
        } catch {
            remove(for: key, completion: nil)
            throw .archiving(key: key, reason: "\(error)")
        }
        let content = Content(value: value, extendedData: attributes.extendedData)
        let cost = cost(value, data.count)
        var passage = changes.begin(KeyText(key))
        changes.change(&passage) { disk.store(data, for: key, attributes: attributes) }
        memory.set(
            content, for: key, cost: cost,
            expiration: attributes.expiration ?? disk.configuration.expiration.unlessNever)
        // Two at the same time may have come to the disk in one order and to memory in the other.
        if changes.end(passage) { memory.remove(for: key) }
        if let completion { disk.submit { _ in completion() } }
    }

    private func remove(for key: String, completion: (@Sendable () -> Void)?) {
        var passage = changes.begin(KeyText(key))
        changes.change(&passage) { disk.remove(for: key) }
        memory.remove(for: key)
        _ = changes.end(passage)
        if let completion { disk.submit { _ in completion() } }
    }

    private func forgetAll() {
        changes.changeAll()
        memory.removeAll()
    }
}
