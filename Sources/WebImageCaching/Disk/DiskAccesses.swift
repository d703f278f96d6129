internal import WebImageCore

/// Uses of entries that are not written down yet. A look-up must not be a write, so they go with the next batch.
struct DiskAccesses {
    struct Access {
        /// Microseconds since 1970.
        var time: Int64
        /// When the entry expires, where the use has put that off.
        var expires: Int64?
    }

    /// By entries' numbers.
    private(set) var byID: [Int64: Access] = [:]
    /// By key, for values that were used while they were on their way to the disk and had no number yet.
    private(set) var byKey: [KeyText: Access] = [:]
    /// Whose numbers these are.
    private(set) var generation: Int64 = 0
    private(set) var hits: Int64 = 0
    private(set) var misses: Int64 = 0

    var count: Int { byID.count + byKey.count }
    var isEmpty: Bool { count == 0 && hits == 0 && misses == 0 }
    var firstTime: Int64 { (byID.values.map(\.time) + byKey.values.map(\.time)).min() ?? .max }

    mutating func note(_ number: DiskReader.EntryNumber, time: Int64, expires: Int64?) {
        if number.generation != generation {
            generation = number.generation
            byID = [:]
        }
        let former = expires == nil ? byID[number.id]?.expires : nil
        byID[number.id] = Access(time: time, expires: expires ?? former)
    }

    mutating func note(_ key: KeyText, time: Int64, expires: Int64?) {
        byKey[key] = Access(time: time, expires: expires ?? byKey[key]?.expires)
    }

    mutating func countHit() { hits += 1 }
    mutating func countMisses(_ count: Int64) { misses += count }

    /// Everything has been removed; what was counted stays true.
    mutating func forgetEntries() { (byID, byKey) = ([:], [:]) }

    /// When an entry expires as far as these uses have put it off.
    func expires(_ number: DiskReader.EntryNumber) -> Int64? {
        number.generation == generation ? byID[number.id]?.expires : nil
    }

    /// When an entry was used last as far as these uses tell.
    func lastTime(_ number: DiskReader.EntryNumber) -> Int64? {
        number.generation == generation ? byID[number.id]?.time : nil
    }

    /// Splits off the uses of keys that still have no row.
    mutating func split(where isWaiting: (KeyText) -> Bool) -> DiskAccesses {
        var rest = DiskAccesses()
        for (key, access) in byKey where isWaiting(key) {
            rest.byKey[key] = access
            byKey[key] = nil
        }
        return rest
    }
}
