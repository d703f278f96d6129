internal import CWebImageDeflate
package import FoundationEssentials
internal import WebImageCore

/// Changes that are not on disk yet; guarded by a ``DiskCache``'s lock.
///
/// Reads look here first, so that they see earlier stores. Changes stay until their batch is committed. A change that
/// replaces another one meanwhile has a different number.
struct DiskStaging {
    enum Change {
        case store(Data, DiskAttachments)
        /// The bytes stay. If `of` is given, only those bytes are updated, since another process may have stored
        /// others.
        case update(DiskAttachments, of: BytesMark?)
        case remove
    }

    struct Pending {
        let key: String
        fileprivate(set) var change: Change
        /// Unique among all changes.
        let number: Int
        fileprivate(set) var times: DiskCache.Entry.Times
        fileprivate(set) var completions: [@Sendable () -> Void]
        /// Whether no batch contains it yet.
        fileprivate(set) var isWaiting = true

        /// The number of value bytes that the change adds to the disk.
        var valueByteCount: Int { if case .store(let data, _) = change { data.count } else { 0 } }

        fileprivate var byteCount: Int {
            switch change {
            case .store(let data, let attachments): data.count + attachments.byteCount
            case .update(let attachments, _): attachments.byteCount
            case .remove: 0
            }
        }
    }

    struct Batch {
        /// Set if everything is removed before the changes are made.
        var clearNumber: Int?
        /// The handlers that receive the progress of the removal.
        var clearProgress: [ClearProgress] = []
        var changes: [Pending] = []
        var accesses = DiskAccesses()

        /// The time of the earliest of its changes and accesses.
        var firstTime: Int64 { min(changes.lazy.map { $0.times.modified }.min() ?? .max, accesses.firstTime) }
        var isEmpty: Bool { clearNumber == nil && changes.isEmpty && accesses.isEmpty }
    }

    typealias ClearProgress = @Sendable (_ removed: Int, _ total: Int) -> Void

    enum Lookup {
        case found(Data, DiskAttachments, DiskCache.Entry.Times)
        case removed
        /// The disk determines the result; the attachments, if any, are newer than those on disk.
        case unknown(DiskAttachments?)
    }

    /// A batch is one transaction, during which other processes' writes wait, so its size is limited. Since keys'
    /// hashes are distributed over the whole index, a large batch writes fewer pages per change.
    static let batchCountLimit = 1_024
    static let batchByteLimit = 16 << 20
    /// Accesses are written without other changes once there are this many, of different entries. Each such write
    /// invalidates pages in the readers' memory, and more accesses share a page.
    static let accessCountLimit = 16_384

    /// How far in the future a time may be, in microseconds, before the clock is assumed to have been set back.
    static let clockTolerance: Int64 = 60_000_000

    /// The maximum number of bytes that wait. More are not stored, since memory is limited and callers must not wait.
    let byteLimit: Int

    private(set) var byteCount = 0
    /// The number of keys whose changes are in no batch yet.
    var waitingCount: Int { waiting.count }
    private var pending: [KeyText: Pending] = [:]
    /// Keys in order of their changes, except those in a batch.
    private var waiting: [KeyText] = []
    private var clearNumber: Int?
    private var clearProgress: [ClearProgress] = []
    private var clearCompletions: [@Sendable () -> Void] = []
    private var accesses = DiskAccesses()
    /// The accesses of the last batch that had any. They stay after they are written, for look-ups that read a row
    /// before.
    private var takenAccesses = DiskAccesses()
    private var areTakenWritten = true
    private var lastNumber = 0
    private var lastTime: Int64 = 0

    init(byteLimit: Int) { self.byteLimit = byteLimit }

    /// Returns the time, or slightly later, so that no two events have the same time and order is preserved, unless the
    /// clock was set back.
    private mutating func nextTime(_ now: Int64) -> Int64 {
        lastTime = lastTime > now + Self.clockTolerance ? now : max(now, lastTime + 1)
        return lastTime
    }

    private mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    // MARK: Changes

    /// Returns whether the value was accepted; if not, the caller calls `completion`.
    mutating func store(
        _ data: Data, _ attachments: DiskAttachments, for key: String, now: Int64, completion: (@Sendable () -> Void)?
    ) -> Bool {
        // A single value larger than the limit is accepted if nothing else waits.
        guard byteCount == 0 || byteCount + data.count + attachments.byteCount <= byteLimit else { return false }
        add(.store(data, attachments), for: key, now: now, completion: completion)
        return true
    }

    mutating func update(
        _ attachments: DiskAttachments, of mark: BytesMark?, for key: String, now: Int64,
        completion: (@Sendable () -> Void)?
    ) -> Bool {
        guard byteCount == 0 || byteCount + attachments.byteCount <= byteLimit else { return false }
        let staged = pending[KeyText(key)]
        switch staged?.change {
        case .store(let data, _):
            guard mark == nil || mark == BytesMark(data) else { return false }
            add(
                .store(data, attachments), for: key, created: staged?.times.created, now: now, completion: completion)
        case .remove: add(.remove, for: key, now: now, completion: completion)
        case .update, nil: add(.update(attachments, of: mark), for: key, now: now, completion: completion)
        }
        return true
    }

    mutating func remove(_ key: String, now: Int64, completion: (@Sendable () -> Void)?) {
        add(.remove, for: key, now: now, completion: completion)
    }

    /// - Parameter created: when the bytes were stored, if earlier.
    private mutating func add(
        _ change: Change, for key: String, created: Int64? = nil, now: Int64, completion: (@Sendable () -> Void)?
    ) {
        let (name, time) = (KeyText(key), nextTime(now))
        // Uses of the old value must not extend the lifetime of the new one.
        if case .update = change {} else { accesses.forget(name) }
        let times = DiskCache.Entry.Times(created: created ?? time, modified: time, accessed: time)
        let new = Pending(
            key: key, change: change, number: nextNumber(), times: times, completions: completion.map { [$0] } ?? [])
        byteCount += new.byteCount
        // A single look-up, since hashing the key is most of the cost.
        guard let replaced = pending.updateValue(new, forKey: name) else {
            waiting.append(name)
            return
        }
        byteCount -= replaced.byteCount
        if !replaced.isWaiting { waiting.append(name) }
        if !replaced.completions.isEmpty { pending[name]?.completions = replaced.completions + new.completions }
    }

    mutating func removeAll(progress: ClearProgress? = nil, completion: (@Sendable () -> Void)?) {
        clearNumber = nextNumber()
        clearCompletions += pending.values.flatMap(\.completions)
        if let completion { clearCompletions.append(completion) }
        if let progress { clearProgress.append(progress) }
        pending = [:]
        waiting = []
        accesses.forgetEntries()
        byteCount = 0
    }

    // MARK: Looking up

    func lookUp(_ key: String) -> Lookup {
        guard let staged = pending[KeyText(key)] else { return clearNumber == nil ? .unknown(nil) : .removed }
        return switch staged.change {
        case .store(let data, let attachments): .found(data, attachments, staged.times)
        case .remove: .removed
        case .update(let attachments, _): clearNumber == nil ? .unknown(attachments) : .removed
        }
    }

    /// Notes the use of a value that ``lookUp(_:)`` found.
    ///
    /// - Returns: whether enough accesses are noted to write them.
    mutating func noteAccess(
        to key: String, deadline: ExpirationDeadline = .never, extendingBy rule: DeadlineExtension, now: Int64
    ) -> Bool {
        accesses.countHit()
        let time = nextTime(now)
        let key = KeyText(key)
        guard var found = pending[key] else {
            // It was written after the look-up.
            var deadline = deadline
            accesses.note(key, time: time, expires: deadline.extend(by: rule, at: now) ? deadline.time : nil)
            return accesses.count >= Self.accessCountLimit
        }
        var expires: Int64?
        if case .store(let data, var attachments) = found.change, attachments.deadline.extend(by: rule, at: now) {
            found.change = .store(data, attachments)
            expires = attachments.deadline.time
        }
        found.times.accessed = time
        pending[key] = found
        // Its batch may be in progress: the row is written before this access.
        if !found.isWaiting { accesses.note(key, time: time, expires: expires) }
        return accesses.count >= Self.accessCountLimit
    }

    /// Notes the use of an entry on disk; returns whether enough accesses are noted to write them.
    mutating func noteAccess(to number: DiskReader.EntryNumber, expires: Int64?, now: Int64) -> Bool {
        accesses.countHit()
        accesses.note(number, time: nextTime(now), expires: expires)
        return accesses.count >= Self.accessCountLimit
    }

    mutating func countMiss() { accesses.countMisses(1) }

    /// Returns when an entry expires, if uses that are not written yet have extended that.
    ///
    /// - Parameter key: also finds uses from before the entry had a number.
    func extendedExpiry(of number: DiskReader.EntryNumber, key: String? = nil) -> Int64? {
        accesses.expires(number, key: key) ?? (areTakenWritten ? nil : takenAccesses.expires(number, key: key))
    }

    /// Returns when an entry was last used, if that is not written yet.
    func lastAccess(of number: DiskReader.EntryNumber, key: String? = nil) -> Int64? {
        accesses.lastTime(number, key: key) ?? takenAccesses.lastTime(number, key: key)
    }

    // MARK: Batches

    /// Whether there is something that is not on disk.
    var hasChanges: Bool { !pending.isEmpty || clearNumber != nil || !accesses.isEmpty }

    /// Whether waiting would not make the next batch larger.
    var isBatchFull: Bool { byteCount >= Self.batchByteLimit || waiting.count >= Self.batchCountLimit }

    /// - Parameter includesAccesses: whether noted accesses are included even if they are few.
    mutating func nextBatch(includesAccesses: Bool = true) -> Batch {
        var batch = Batch(clearNumber: clearNumber, clearProgress: clearProgress)
        clearProgress = []
        var byteCount = 0
        var taken = 0
        for key in waiting {
            guard batch.changes.count < Self.batchCountLimit, byteCount < Self.batchByteLimit else { break }
            taken += 1
            guard let place = pending.index(forKey: key) else { continue }
            pending.values[place].isWaiting = false
            let change = pending.values[place]
            byteCount += change.byteCount
            batch.changes.append(change)
        }
        waiting.removeFirst(taken)
        // With every batch, accesses of frequently used entries would be written again and again.
        if includesAccesses || accesses.count >= Self.accessCountLimit { batch.accesses = takeAccesses() }
        return batch
    }

    /// Returns a batch with only the noted accesses.
    mutating func accessBatch() -> Batch { Batch(accesses: takeAccesses()) }

    private mutating func takeAccesses() -> DiskAccesses {
        var taken = accesses
        accesses = taken.split { pending[$0]?.isWaiting == true }
        if taken.count > 0 { (takenAccesses, areTakenWritten) = (taken, false) }
        return taken
    }

    /// Removes what the batch contained and returns the completions to call. The completion of a replaced change waits
    /// for the replacement.
    mutating func finish(_ batch: Batch) -> [@Sendable () -> Void] {
        var completions: [@Sendable () -> Void] = []
        if batch.clearNumber != nil, batch.clearNumber == clearNumber {
            clearNumber = nil
            completions = clearCompletions
            clearCompletions = []
        }
        for change in batch.changes {
            guard let place = pending.index(forKey: KeyText(change.key)), pending.values[place].number == change.number
            else {
                continue
            }
            byteCount -= change.byteCount
            pending.remove(at: place)
            completions += change.completions
        }
        areTakenWritten = true
        return completions
    }
}

extension DiskAttachments {
    fileprivate var byteCount: Int { (extendedData?.count ?? 0) + (responseMetadata?.count ?? 0) }
}

/// Uses of entries that are not written yet. They are written with the next batch, so that look-ups need not write.
struct DiskAccesses {
    struct Access {
        /// Microseconds since 1970.
        var time: Int64
        /// When the entry expires, if the use has extended that.
        var expires: Int64?
    }

    /// By entry number, in parts: a dictionary that grows moves all its entries, which would take a look-up 20 ms with 200,000 of them, as they
    /// collect during a long trim.
    private var parts: [[Int64: Access]] = []
    private static let partCount: Int64 = 64
    private var numberedCount = 0
    /// By key, for values that were used before they had a number, while they were being written.
    private(set) var byKey: [KeyText: Access] = [:]
    /// The generation that the numbers belong to.
    private(set) var generation: Int64 = 0
    private(set) var hits: Int64 = 0
    private(set) var misses: Int64 = 0

    var count: Int { numberedCount + byKey.count }
    var isEmpty: Bool { count == 0 && hits == 0 && misses == 0 }
    var firstTime: Int64 {
        min(
            parts.joined().lazy.map { $0.value.time }.min() ?? .max, byKey.values.lazy.map { $0.time }.min() ?? .max)
    }
    /// The uses of entries by number, in the order of the numbers.
    var byID: [(id: Int64, access: Access)] {
        parts.joined().map { (id: $0.key, access: $0.value) }.sorted { $0.id < $1.id }
    }

    mutating func note(_ number: DiskReader.EntryNumber, time: Int64, expires: Int64?) {
        if number.generation != generation {
            generation = number.generation
            forgetNumbers()
        }
        if parts.isEmpty { parts = Array(repeating: [:], count: Int(Self.partCount)) }
        let part = Self.part(of: number.id)
        let former = expires == nil ? parts[part][number.id]?.expires : nil
        let replaced = parts[part].updateValue(Access(time: time, expires: expires ?? former), forKey: number.id)
        if replaced == nil { numberedCount += 1 }
    }

    private static func part(of id: Int64) -> Int { Int(truncatingIfNeeded: id & (partCount - 1)) }

    private func access(to number: DiskReader.EntryNumber) -> Access? {
        numberedCount > 0 && number.generation == generation ? parts[Self.part(of: number.id)][number.id] : nil
    }

    private mutating func forgetNumbers() { (parts, numberedCount) = ([], 0) }

    mutating func note(_ key: KeyText, time: Int64, expires: Int64?) {
        byKey[key] = Access(time: time, expires: expires ?? byKey[key]?.expires)
    }

    mutating func countHit() { hits += 1 }
    mutating func countMisses(_ count: Int64) { misses += count }

    mutating func forget(_ key: KeyText) { if !byKey.isEmpty { byKey[key] = nil } }

    /// Everything was removed; the counts stay valid.
    mutating func forgetEntries() {
        forgetNumbers()
        byKey = [:]
    }

    /// Returns when an entry expires, as extended by these uses.
    func expires(_ number: DiskReader.EntryNumber, key: String?) -> Int64? {
        let byNumber = access(to: number)?.expires
        let byKey = byKey.isEmpty ? nil : key.flatMap { self.byKey[KeyText($0)]?.expires }
        return byNumber.map { max($0, byKey ?? $0) } ?? byKey
    }

    /// Returns when an entry was last used, according to these uses.
    func lastTime(_ number: DiskReader.EntryNumber, key: String?) -> Int64? {
        let byNumber = access(to: number)?.time
        return byNumber ?? (byKey.isEmpty ? nil : key.flatMap { byKey[KeyText($0)]?.time })
    }

    /// Removes and returns the uses of keys that still have no row.
    mutating func split(where isWaiting: (KeyText) -> Bool) -> DiskAccesses {
        var rest = DiskAccesses()
        for (key, access) in byKey where isWaiting(key) {
            rest.byKey[key] = access
            byKey[key] = nil
        }
        return rest
    }
}

/// The data stored with a value's bytes, in its stored form.
struct DiskAttachments: Sendable {
    /// The limit for one value, in bytes. Attachments are in the index, which is not suited to large ones.
    static let byteLimit = 1 << 20

    var deadline: ExpirationDeadline
    let extendedData: Data?
    let responseMetadata: Data?

    /// - Parameters:
    ///   - standard: the expiration of values that specify none.
    ///   - now: microseconds since 1970.
    init(_ attributes: DiskCache.Attributes, standard: CacheExpiration, now: Int64) {
        deadline = ExpirationDeadline(attributes.expiration ?? standard, now: now, date: now)
        extendedData = attributes.extendedData
        responseMetadata = attributes.responseMetadata
    }

    var isEmpty: Bool { extendedData == nil && responseMetadata == nil }
}

extension DiskCache.Attributes {
    var byteCount: Int { (extendedData?.count ?? 0) + (responseMetadata?.count ?? 0) }
}

/// The CRC-32 of stored bytes (the polynomial of gzip and PNG): 0.07 µs per KiB with libdeflate, 0.25 µs with zlib.
enum Checksum {
    /// That of no bytes.
    static let initial: UInt32 = 0

    static func of(_ data: Data) -> UInt32 { data.withUnsafeBytes { adding($0, to: initial) } }

    /// Returns the checksum of bytes of which the first ones have the checksum `first`.
    static func adding(_ bytes: UnsafeRawBufferPointer, to first: UInt32) -> UInt32 {
        // NULL would request the initial value.
        guard let start = bytes.baseAddress else { return first }
        return UInt32(truncatingIfNeeded: libdeflate_crc32(first, start, bytes.count))
    }
}

/// Identifies bytes by length and checksum.
package struct BytesMark: Hashable, Sendable {
    let byteCount: Int64
    let checksum: UInt32

    init(byteCount: Int64, checksum: UInt32) { (self.byteCount, self.checksum) = (byteCount, checksum) }

    package init(_ data: Data) { self.init(byteCount: Int64(data.count), checksum: Checksum.of(data)) }
}
