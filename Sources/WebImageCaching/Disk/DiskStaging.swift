internal import FoundationEssentials

/// Changes that were asked for and are not on the disk yet: the value inside a ``DiskCache``'s lock.
///
/// Reads look here first, so that they see what was stored before them. Changes stay until their batch is committed;
/// one that was replaced in the meantime is told from its successor by its number.
struct DiskStaging {
    enum Change {
        case store(Data)
        case remove
    }

    struct Pending {
        let key: String
        let change: Change
        /// No two changes have the same.
        let number: Int
        /// Microseconds since 1970: its entry's first access.
        let time: Int64
        fileprivate(set) var completions: [@Sendable () -> Void]

        var byteCount: Int { if case .store(let data) = change { data.count } else { 0 } }
    }

    struct Batch {
        /// Set when everything goes before the changes are made.
        var clearNumber: Int?
        var changes: [Pending] = []
        /// Entries' numbers, and when they were read last.
        var accesses: [Int64: Int64] = [:]
        /// Whose numbers these are.
        var generation = ""

        /// When the earliest of its changes and accesses happened.
        var firstTime: Int64 { min(changes.map(\.time).min() ?? .max, accesses.values.min() ?? .max) }
        var isEmpty: Bool { clearNumber == nil && changes.isEmpty && accesses.isEmpty }
    }

    enum Lookup {
        case found(Data)
        case removed
        case unknown
    }

    /// A batch is one transaction, during which other processes' writes wait: so it has an end.
    static let batchCountLimit = 256
    static let batchByteLimit = 16 << 20
    /// Noted accesses are written by themselves once there are this many.
    static let accessCountLimit = 1024

    /// How far ahead of the clock a time may be, in microseconds, before it counts as one of a clock that went back since.
    static let clockTolerance: Int64 = 60_000_000

    /// The most bytes that wait. What comes on top is not stored, as memory has an end and callers must not wait.
    let byteLimit: Int

    private(set) var byteCount = 0
    /// Keys whose changes no batch has taken yet.
    var waitingCount: Int { waiting.count }
    private var pending: [String: Pending] = [:]
    /// Keys in order of their change, without those that a batch has taken.
    private var waiting: [String] = []
    private var isWaiting: Set<String> = []
    private var clearNumber: Int?
    private var clearCompletions: [@Sendable () -> Void] = []
    private var accesses: [Int64: Int64] = [:]
    private var generation = ""
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

    /// Whether the value was taken; if not, the caller calls `completion`.
    mutating func store(_ data: Data, for key: String, now: Int64, completion: (@Sendable () -> Void)?) -> Bool {
        // A single value that is larger than the limit may pass alone.
        guard byteCount == 0 || byteCount + data.count <= byteLimit else { return false }
        add(.store(data), for: key, now: now, completion: completion)
        return true
    }

    mutating func remove(_ key: String, now: Int64, completion: (@Sendable () -> Void)?) {
        add(.remove, for: key, now: now, completion: completion)
    }

    private mutating func add(_ change: Change, for key: String, now: Int64, completion: (@Sendable () -> Void)?) {
        let replaced = pending[key]
        let completions = (replaced?.completions ?? []) + (completion.map { [$0] } ?? [])
        let new = Pending(
            key: key, change: change, number: nextNumber(), time: nextTime(now), completions: completions)
        byteCount += new.byteCount - (replaced?.byteCount ?? 0)
        pending[key] = new
        if isWaiting.insert(key).inserted { waiting.append(key) }
    }

    mutating func removeAll(completion: (@Sendable () -> Void)?) {
        clearNumber = nextNumber()
        clearCompletions += pending.values.flatMap(\.completions)
        if let completion { clearCompletions.append(completion) }
        pending = [:]
        waiting = []
        isWaiting = []
        accesses = [:]
        byteCount = 0
    }

    func lookUp(_ key: String) -> Lookup {
        switch pending[key]?.change {
        case .store(let data): .found(data)
        case .remove: .removed
        case nil: clearNumber == nil ? .unknown : .removed
        }
    }

    /// Whether enough accesses are noted to be written.
    mutating func noteAccess(to number: DiskReader.EntryNumber, now: Int64) -> Bool {
        if number.generation != generation {
            generation = number.generation
            accesses = [:]
        }
        accesses[number.id] = nextTime(now)
        return accesses.count >= Self.accessCountLimit
    }

    // MARK: Batches

    mutating func nextBatch() -> Batch {
        var batch = Batch(clearNumber: clearNumber, accesses: accesses, generation: generation)
        accesses = [:]
        var byteCount = 0
        var taken = 0
        for key in waiting {
            guard batch.changes.count < Self.batchCountLimit, byteCount < Self.batchByteLimit else { break }
            taken += 1
            isWaiting.remove(key)
            guard let change = pending[key] else { continue }
            byteCount += change.byteCount
            batch.changes.append(change)
        }
        waiting.removeFirst(taken)
        return batch
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
        for change in batch.changes where pending[change.key]?.number == change.number {
            byteCount -= change.byteCount
            pending[change.key] = nil
            completions += change.completions
        }
        return completions
    }
}
