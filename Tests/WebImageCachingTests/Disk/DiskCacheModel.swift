import CacheCrashWriter
import FoundationEssentials
import Testing
import WebImageCore

@testable import WebImageCaching

/// What a disk cache does, without a disk, in the simplest way: an array in order of use.
struct DiskCacheModel {
    private struct Entry {
        let key: String
        let version: UInt64
        let byteCount: Int
        var accessed: Int64
        /// In seconds; `nil` for one that does not expire.
        let lifetime: Int64?
        /// On the model's clock; each use puts it off.
        var expires: Int64
    }

    /// Microseconds, on the clock of the cache.
    var time: Int64 = 1_000_000_000_000_000
    /// The least recently used first.
    private var entries: [Entry] = []
    private let sizeLimit: Int64
    private let ageLimit: Double

    init(sizeLimit: Int64 = .max, ageLimit: Double = 1e9) {
        self.sizeLimit = sizeLimit
        self.ageLimit = ageLimit
    }

    /// In order of use, the least recently used first.
    var keys: [String] { entries.map(\.key) }
    var count: Int { entries.count }
    var size: Int64 { entries.reduce(0) { $0 + Int64($1.byteCount) } }

    func contains(_ key: String) -> Bool { entries.contains { $0.key == key && $0.expires > time } }
    func byteCount(of key: String) -> Int? { entries.first { $0.key == key }?.byteCount }

    /// A look-up, which makes the entry the most recently used.
    mutating func use(_ key: String) -> Data? {
        guard let place = entries.firstIndex(where: { $0.key == key && $0.expires > time }) else { return nil }
        var entry = entries.remove(at: place)
        entry.accessed = time
        if let lifetime = entry.lifetime { entry.expires = max(entry.expires, time + lifetime * 1_000_000) }
        entries.append(entry)
        return CheckedValue.make(key: key, version: entry.version, byteCount: entry.byteCount)
    }

    mutating func store(version: UInt64, byteCount: Int, for key: String, lifetime: Int64? = nil) {
        remove(key)
        entries.append(
            Entry(
                key: key, version: version, byteCount: byteCount, accessed: time, lifetime: lifetime,
                expires: lifetime.map { time + $0 * 1_000_000 } ?? .max))
        if size > sizeLimit { enforceLimits() }
    }

    mutating func enforceLimits() {
        entries.removeAll { $0.expires <= time }
        trim(toSize: size > sizeLimit ? sizeLimit / 10 * 9 : .max)
    }

    mutating func remove(_ key: String) { entries.removeAll { $0.key == key } }
    mutating func removeAll() { entries = [] }

    mutating func trim(toSize target: Int64) {
        entries.removeAll { $0.expires <= time }
        let oldest = time - Int64(ageLimit * 1_000_000)
        while let first = entries.first, first.accessed < oldest || size > target { entries.removeFirst() }
    }
}

/// The changes of one key, each with a number, by tasks that run at the same time.
final class History: Sendable {
    private struct State {
        var lastNumber: UInt64 = 0
        /// The last removal's number.
        var removal: UInt64 = 0
    }

    private let key: String
    private let state = Lock(State())

    init(key: String) { self.key = key }

    var isPresent: Bool { state.withLock { $0.lastNumber > $0.removal } }

    /// Under the lock, so that numbers grow in the order in which the cache is told.
    func store(byteCount: Int, in cache: DiskCache) {
        state.withLock { state in
            state.lastNumber += 1
            let value = CheckedValue.make(key: key, version: state.lastNumber, byteCount: byteCount)
            cache.store(value, for: key)
        }
    }

    func remove(in cache: DiskCache) {
        state.withLock { state in
            state.lastNumber += 1
            state.removal = state.lastNumber
            cache.remove(for: key)
        }
    }

    func expectCurrentValue(in cache: DiskCache) async {
        let before = state.withLock { $0 }
        let data = await cache.data(for: key)
        let after = state.withLock { $0 }
        let wasAbsent = before.lastNumber == before.removal
        if let data {
            let version = CheckedValue.version(of: data, key: key)
            #expect(version != nil, "a value that is not whole, or another key's")
            let first = wasAbsent ? before.lastNumber + 1 : before.lastNumber
            #expect((version ?? .max) >= first, "a value from before")
        } else {
            // Never stored, removed when the look-up began, or removed during it.
            #expect(wasAbsent || after.removal > before.lastNumber, "nothing, although \(key) was never removed")
        }
    }
}
