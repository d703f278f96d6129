internal import Dispatch
public import FoundationEssentials
internal import WebImageCore

extension DiskCache {
    /// Removes entries in ``Configuration/evictionOrder`` until the values have at most `size` bytes, at most `count`
    /// entries are left, and none is older than `age`, by the time that ``Configuration/evictionOrder`` names.
    /// By default, nothing is limited.
    ///
    /// Also removes expired entries, each ``CachedFile`` that is not used any more, and files that a killed process left behind, and
    /// returns the space to the file system.
    public func trim(toSize size: Int64 = .max, toCount count: Int = .max, toAge age: Duration? = nil) async {
        let target = DiskWriter.TrimTarget(size, count, age)
        await afterWriting { [files] writer in
            writer.trim(to: target)
            files.sweep()
        }
    }

    /// Removes expired entries, to free their space. Look-ups never find them.
    public func removeExpired() async { await afterWriting { $0.removeExpired() } }

    /// Writes all pending changes and accesses, and applies the limits. After a failure it tries the directory again.
    public func flush() async {
        serialQueue.submit { [writer] in writer.retry() }
        await afterWriting { $0.enforceLimits() }
    }

    // MARK: Counting

    /// The bytes of all values, after earlier changes are written. Takes constant time.
    public var totalSize: Int64 { get async { await afterWriting { $0.totals()?.size ?? 0 } } }

    /// The number of entries, after earlier changes are written. Takes constant time. Entries that have expired or are
    /// too old count until they are removed.
    public var count: Int { get async { await afterWriting { Int($0.totals()?.count ?? 0) } } }

    /// Returns statistics, after earlier changes are written. Takes constant time.
    public func statistics() async -> Statistics { await afterWriting { $0.statistics() } }

    /// Returns a page of the entries in the order in which they were stored, without those that have expired or are too
    /// old.
    ///
    /// - Parameters:
    ///   - entry: the last one of the previous page; `nil` for the first page.
    ///   - limit: the maximum number of entries. An empty page is the end.
    public func entries(after entry: Entry? = nil, limit: Int = 1_000) async -> [Entry] {
        let id = entry?.id ?? 0
        return await afterWriting { $0.entries(after: id, limit: max(1, limit)) }
    }
}

/// Blocking versions of the asynchronous methods, for programs without `async`. Do not call them on the main thread of
/// an app, nor those that change, count or wait in a completion or progress handler: they would never return, since writing waits for
/// these handlers.
extension DiskCache {
    /// Like ``data(for:)``, but blocks.
    @available(*, noasync, message: "It blocks on the disk; use data(for:)")
    public func blockingData(for key: String) -> Data? {
        openOnce()
        return find(key)
    }

    /// Like `item(for:)`, but blocks.
    @available(*, noasync, message: "It blocks on the disk; use item(for:)")
    public func blockingItem(for key: String) -> Item? {
        openOnce()
        return findItem(key)
    }

    /// Like `entry(for:)`, but blocks.
    @available(*, noasync, message: "It blocks on the disk; use entry(for:)")
    public func blockingEntry(for key: String) -> Entry? {
        openOnce()
        return findEntry(key)
    }

    /// Like ``contains(_:)``, but blocks.
    @available(*, noasync, message: "It blocks on the disk; use contains(_:)")
    public func blockingContains(_ key: String) -> Bool {
        openOnce()
        return isPresent(key)
    }

    /// Like ``count``, but blocks until earlier changes are written.
    @available(*, noasync, message: "It blocks on the disk; use count")
    public var blockingCount: Int { waitAfterWriting { Int($0.totals()?.count ?? 0) } }

    /// Like ``totalSize``, but blocks until earlier changes are written.
    @available(*, noasync, message: "It blocks on the disk; use totalSize")
    public var blockingTotalSize: Int64 { waitAfterWriting { $0.totals()?.size ?? 0 } }

    /// Like ``trim(toSize:toCount:toAge:)``, but blocks.
    @available(*, noasync, message: "It blocks on the disk; use trim(toSize:toCount:toAge:)")
    public func blockingTrim(toSize size: Int64 = .max, toCount count: Int = .max, toAge age: Duration? = nil) {
        let target = DiskWriter.TrimTarget(size, count, age)
        waitAfterWriting { [files] writer in
            writer.trim(to: target)
            files.sweep()
        }
    }

    /// Like ``removeAll(progress:)``, but blocks. Calls `progress` on a thread of the disk pool.
    @available(*, noasync, message: "It blocks on the disk; use removeAll(progress:)")
    public func blockingRemoveAll(progress: (@Sendable (_ removed: Int, _ total: Int) -> Void)? = nil) {
        let end = DispatchSemaphore(value: 0)
        removeAll(progress: progress) { end.signal() }
        end.wait()
    }

    /// Returns when all earlier changes are on disk, or could not be written.
    @available(*, noasync, message: "It blocks on the disk; use flush()")
    public func waitUntilWritten() { waitAfterWriting { _ in } }

    /// Runs `body` after all earlier changes are written, and waits for it.
    private func waitAfterWriting<Result: Sendable>(_ body: @escaping @Sendable (DiskWriter) -> Result) -> Result {
        let result = Waiter<Result>()
        submit { result.resume(body($0)) }
        return result.wait(cancellation: nil) {}
    }
}

extension DiskWriter.TrimTarget {
    fileprivate init(_ size: Int64, _ count: Int, _ age: Duration?) {
        self.init(size: max(0, size), count: Int64(max(0, count)), age: age?.clampedMicroseconds ?? .max)
    }
}

extension DiskCache: UnwrittenCache {
    func writeUnwritten(completion: @escaping @Sendable () -> Void) {
        guard hasChanges else { return completion() }
        let write = { @Sendable in
            // A program may have deleted its directory, which must not be created again.
            if !self.writer.isIndexGone { self.writeWaiting() }
            completion()
        }
        // A program that ends in a completion keeps the queue from going on.
        if let thread = ProgramEnd.thread, serialQueue.isCompleting(on: thread) {
            write()
        } else {
            serialQueue.submit(write)
        }
    }

    /// Calls a caller's completion after all earlier changes are written.
    func submitCompletion(_ completion: @escaping @Sendable () -> Void) {
        serialQueue.submit {
            self.writeWaiting()
            self.serialQueue.complete(completion)
        }
    }
}
