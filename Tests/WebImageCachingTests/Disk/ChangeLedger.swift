import CacheCrashWriter
import FoundationEssentials
import Testing

@testable import WebImageCaching

/// What a cache may hold after a process that changed it was killed, going by what the process said.
///
/// Changes of one key take effect in the order of their versions. Those that are done are on disk; of those that were
/// only begun, the first few may be, as the process died somewhere on the way.
struct ChangeLedger {
    private struct Key {
        /// The newest change that is on disk for sure.
        var done: UInt64 = 0
        var isStored = false
        var newestStore: UInt64 = 0
        var newestRemoval: UInt64 = 0
    }

    private var keys = [Key](repeating: Key(), count: WriterKeys.count)
    /// Of changes that take any entry, or every one.
    private var newestTrim: UInt64 = 0
    private var newestClear: UInt64 = 0
    private var clearDone: UInt64 = 0

    mutating func note(_ record: ChangeRecord) {
        switch (record.change, record.isDone) {
        case (.store, false): keys[record.key].newestStore = record.version
        case (.remove, false): keys[record.key].newestRemoval = record.version
        case (.store, true), (.remove, true):
            guard record.version > keys[record.key].done else { break }
            keys[record.key].done = record.version
            keys[record.key].isStored = record.change == .store
        case (.trim, false): newestTrim = record.version
        case (.removeAll, false): newestClear = record.version
        case (.trim, true): break
        case (.removeAll, true): clearDone = record.version
        }
    }

    /// Whether it made changes that take any entry.
    var tookFromOthers: Bool { newestTrim > 0 || newestClear > 0 }

    /// Checks what was found, and goes on from there: what is on disk now must stay.
    ///
    /// - Parameter mayBeGone: set where somebody else may have taken it.
    mutating func check(_ number: Int, key name: String, found data: Data?, mayBeGone: Bool = false) {
        let key = keys[number]
        let floor = max(key.done, clearDone)
        if let data {
            guard let version = CheckedValue.version(of: data, key: name) else {
                Issue.record("\(name) is not whole: \(data.count) bytes")
                return
            }
            #expect(version >= floor && version <= key.newestStore, "\(name) is of \(version), not \(floor) or later")
            #expect(version > clearDone && version != key.newestRemoval)
            keys[number].done = version
            keys[number].isStored = true
        } else {
            let mayBeGone = mayBeGone || !key.isStored || max(key.newestRemoval, newestTrim, newestClear) > key.done
            #expect(mayBeGone, "\(name) was stored at \(key.done) and is gone")
            keys[number].done = max(key.done, key.newestStore, key.newestRemoval)
            keys[number].isStored = false
        }
    }
}
