public import FoundationEssentials
internal import Dispatch

/// Twins of the asynchronous calls, for programs without `async`.
///
/// They block on the disk: call them neither on Swift's cooperative threads nor on the main thread of a program with a
/// window.
extension DiskCache {
    /// ``data(for:)``, on this thread.
    @available(*, noasync, message: "It blocks on the disk; use data(for:)")
    public func cachedData(for key: String) -> Data? {
        openOnce()
        return find(key)
    }

    /// ``item(for:)``, on this thread.
    @available(*, noasync, message: "It blocks on the disk; use item(for:)")
    public func cachedItem(for key: String) -> Item? {
        openOnce()
        return findItem(key)
    }

    /// ``entry(for:)``, on this thread.
    @available(*, noasync, message: "It blocks on the disk; use entry(for:)")
    public func cachedEntry(for key: String) -> Entry? {
        openOnce()
        return findEntry(key)
    }

    /// ``contains(_:)``, on this thread.
    @available(*, noasync, message: "It blocks on the disk; use contains(_:)")
    public func isCached(_ key: String) -> Bool {
        openOnce()
        return isPresent(key)
    }

    /// Returns when everything that was stored or removed before is on disk, or could not be written. Never returns where
    /// a completion, or the progress of a removal, calls it: the writing waits for these.
    @available(*, noasync, message: "It blocks on the disk; use flush()")
    public func waitUntilWritten() {
        let end = DispatchSemaphore(value: 0)
        submit { _ in end.signal() }
        end.wait()
    }
}
