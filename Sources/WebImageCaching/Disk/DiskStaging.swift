internal import CWebImageDeflate
internal import FoundationEssentials
internal import WebImageCore

/// Changes that were asked for and are not on the disk yet: the value inside a ``DiskCache``'s lock.
///
/// Reads look here first, so that they see what was stored before them. Changes stay until their batch is committed;
/// one that was replaced in the meantime is told from its successor by its number.
struct DiskStaging {
    enum Change {
        case store(Data, DiskAttachments)
        /// The bytes stay. Where those are named that it is about, others are left as they are: another process may have
        /// stored them.
        case update(DiskAttachments, of: BytesMark?)
        case remove
    }

    struct Pending {
        let key: String
        fileprivate(set) var change: Change
        /// No two changes have the same.
        let number: Int
        fileprivate(set) var times: DiskCache.Entry.Times
        fileprivate(set) var completions: [@Sendable () -> Void]
        /// Whether no batch has taken it.
        fileprivate(set) var isWaiting = true

        /// What the disk will hold of it.
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
        /// Set when everything goes before the changes are made.
        var clearNumber: Int?
        /// Told how that goes, if anybody wants to know.
        var clearProgress: [ClearProgress] = []
        var changes: [Pending] = []
        var accesses = DiskAccesses()

        /// When the earliest of its changes and accesses happened.
        var firstTime: Int64 { min(changes.map(\.times.modified).min() ?? .max, accesses.firstTime) }
        var isEmpty: Bool { clearNumber == nil && changes.isEmpty && accesses.isEmpty }
    }

    typealias ClearProgress = @Sendable (_ removed: Int, _ total: Int) -> Void

    enum Lookup {
        case found(Data, DiskAttachments, DiskCache.Entry.Times)
        case removed
        /// The disk knows; these, if any, are newer than what it keeps beside the bytes.
        case unknown(DiskAttachments?)
    }

    /// A batch is one transaction, during which other processes' writes wait: so it has an end. As keys' hashes are spread
    /// over the whole index, a large one writes fewer pages for each of its changes.
    static let batchCountLimit = 1_024
    static let batchByteLimit = 16 << 20
    /// Noted accesses are written by themselves once there are this many, of different entries. Each write of theirs costs
    /// the readers the pages that they had in memory, and more of them share a page.
    static let accessCountLimit = 16_384

    /// How far ahead of the clock a time may be, in microseconds, before it counts as one of a clock that went back since.
    static let clockTolerance: Int64 = 60_000_000

    /// The most bytes that wait. What comes on top is not stored, as memory has an end and callers must not wait.
    let byteLimit: Int

    private(set) var byteCount = 0
    /// Keys whose changes no batch has taken yet.
    var waitingCount: Int { waiting.count }
    private var pending: [KeyText: Pending] = [:]
    /// Keys in order of their change, without those that a batch has taken.
    private var waiting: [KeyText] = []
    private var clearNumber: Int?
    private var clearProgress: [ClearProgress] = []
    private var clearCompletions: [@Sendable () -> Void] = []
    private var accesses = DiskAccesses()
    /// Those of the last batch that had any. They stay after it is written, for look-ups that read a row before.
    private var takenAccesses = DiskAccesses()
    private var areTakenWritten = true
    private var lastNumber = 0
    private var lastTime: Int64 = 0

    init(byteLimit: Int) { self.byteLimit = byteLimit }

    /// The time, or a little later, so that no two events have the same and order survives; unless the clock went back.
    private mutating func nextTime(_ now: Int64) -> Int64 {
        lastTime = lastTime > now + Self.clockTolerance ? now : max(now, lastTime + 1)
        return lastTime
    }

    private mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    // MARK: Changes

    /// Whether the value was taken; if not, the caller calls `completion`.
    mutating func store(
        _ data: Data, _ attachments: DiskAttachments, for key: String, now: Int64, completion: (@Sendable () -> Void)?
    ) -> Bool {
        // A single value that is larger than the limit may pass alone.
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

    /// - Parameter created: when the bytes were stored, if that was before.
    private mutating func add(
        _ change: Change, for key: String, created: Int64? = nil, now: Int64, completion: (@Sendable () -> Void)?
    ) {
        let (name, time) = (KeyText(key), nextTime(now))
        // Uses of the old value must not extend the new one's life.
        if case .update = change {} else { accesses.forget(name) }
        let times = DiskCache.Entry.Times(created: created ?? time, modified: time, accessed: time)
        let new = Pending(
            key: key, change: change, number: nextNumber(), times: times, completions: completion.map { [$0] } ?? [])
        byteCount += new.byteCount
        // Looked for once, as hashing the key is most of the price.
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
    /// - Returns: whether enough accesses are noted to be written.
    mutating func noteAccess(
        to key: String, deadline: ExpirationDeadline = .never, extendingBy rule: ExpirationExtension, now: Int64
    ) -> Bool {
        accesses.countHit()
        let time = nextTime(now)
        let key = KeyText(key)
        guard var found = pending[key] else {
            // It has been written since it was looked up.
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
        // Its batch may be on the way already: the row comes before this is written down.
        if !found.isWaiting { accesses.note(key, time: time, expires: expires) }
        return accesses.count >= Self.accessCountLimit
    }

    /// Whether enough accesses are noted to be written.
    mutating func noteAccess(to number: DiskReader.EntryNumber, expires: Int64?, now: Int64) -> Bool {
        accesses.countHit()
        accesses.note(number, time: nextTime(now), expires: expires)
        return accesses.count >= Self.accessCountLimit
    }

    mutating func countMiss() { accesses.countMisses(1) }

    /// When an entry expires, where uses that are not written yet have put that off.
    ///
    /// - Parameter key: finds uses from before the entry had a number, too.
    func extendedExpiry(of number: DiskReader.EntryNumber, key: String? = nil) -> Int64? {
        accesses.expires(number, key: key) ?? (areTakenWritten ? nil : takenAccesses.expires(number, key: key))
    }

    /// When an entry was used last, where that is not written yet.
    func lastAccess(of number: DiskReader.EntryNumber, key: String? = nil) -> Int64? {
        accesses.lastTime(number, key: key) ?? takenAccesses.lastTime(number, key: key)
    }

    // MARK: Batches

    /// - Parameter includesAccesses: whether noted accesses go with it although they are few.
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
        // With every batch they would be written again and again where entries are used often.
        if includesAccesses || accesses.count >= Self.accessCountLimit { batch.accesses = takeAccesses() }
        return batch
    }

    /// The noted accesses alone.
    mutating func accessBatch() -> Batch { Batch(accesses: takeAccesses()) }

    private mutating func takeAccesses() -> DiskAccesses {
        var taken = accesses
        accesses = taken.split { pending[$0]?.isWaiting == true }
        if taken.count > 0 { (takenAccesses, areTakenWritten) = (taken, false) }
        return taken
    }

    /// Forgets what the batch held and returns the completions to call. One whose change was replaced waits for the
    /// replacement.
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

    mutating func forget(_ key: KeyText) { if !byKey.isEmpty { byKey[key] = nil } }

    /// Everything has been removed; what was counted stays true.
    mutating func forgetEntries() { (byID, byKey) = ([:], [:]) }

    /// When an entry expires as far as these uses have put it off.
    func expires(_ number: DiskReader.EntryNumber, key: String?) -> Int64? {
        let byNumber = number.generation == generation ? byID[number.id]?.expires : nil
        let byKey = byKey.isEmpty ? nil : key.flatMap { self.byKey[KeyText($0)]?.expires }
        return byNumber.map { max($0, byKey ?? $0) } ?? byKey
    }

    /// When an entry was used last as far as these uses tell.
    func lastTime(_ number: DiskReader.EntryNumber, key: String?) -> Int64? {
        let byNumber = number.generation == generation ? byID[number.id]?.time : nil
        return byNumber ?? (byKey.isEmpty ? nil : key.flatMap { byKey[KeyText($0)]?.time })
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

/// What is kept beside a value's bytes, in the form in which it is kept.
struct DiskAttachments: Sendable {
    /// The most bytes beside one value: they are in the index, which is not made for large ones.
    static let byteLimit = 1 << 20

    var deadline: ExpirationDeadline
    let extendedData: Data?
    let responseMetadata: Data?

    /// - Parameters:
    ///   - standard: the expiration of values that name none.
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

/// The CRC-32 of stored bytes (the polynomial of gzip and PNG): 0.07 µs a KiB with libdeflate, 0.25 with zlib.
enum Checksum {
    static func of(_ data: Data) -> UInt32 {
        data.withUnsafeBytes { bytes in
            // NULL would ask for the initial value, which is that of no bytes as well.
            UInt32(truncatingIfNeeded: libdeflate_crc32(0, bytes.baseAddress, bytes.count))
        }
    }
}

/// What bytes are told from others by.
struct BytesMark: Equatable {
    let byteCount: Int64
    let checksum: UInt32

    init(byteCount: Int64, checksum: UInt32) { (self.byteCount, self.checksum) = (byteCount, checksum) }

    init(_ data: Data) { self.init(byteCount: Int64(data.count), checksum: Checksum.of(data)) }
}
