internal import WebImageCore

/// Decides which loads wait, which run, and which starts next.
///
/// The most urgent starts first. Among equals, the origins (scheme, host and port) take turns: the one with the fewest running
/// loads comes first, then the one whose last start is longest ago. So an origin that keeps its slots, because it is slow or
/// hostile, never gets more than its share while others wait. Of one origin, the load that came first starts first, or the one
/// that came last, as the order says. A load whose origin has no free slot does not hold up those of other origins. Work below
/// normal priority starts only while at least half of the slots, of its origin and in all, stay free, so that a visible image
/// never waits for prefetched ones.
///
///     waiting loads of origin A ─┐
///     waiting loads of origin B ─┼─ the best of each origin that has a free slot ──► claims ──popLargest──► running
///     waiting loads of origin C ─┘
///
/// Each step changes one entry and one claim, so the cost of a load is logarithmic, however many wait for however many
/// origins. Cancelled and moved entries and replaced claims stay behind in the heaps as stale ones, and are skipped when they
/// come up.
struct DownloadQueue {
    private struct Entry: Comparable {
        let priority: LoadPriority
        /// Higher for the one that goes first among equals.
        let rank: Int64
        let id: TransferID

        static func < (first: Entry, second: Entry) -> Bool {
            (first.priority.rawValue, first.rank) < (second.priority.rawValue, second.rank)
        }
    }

    /// An origin's best waiting load, among those of other origins.
    private struct Claim: Comparable {
        let entry: Entry
        let origin: HTTPOrigin
        let runningCount: Int
        let lastStart: Int64

        static func < (first: Claim, second: Claim) -> Bool {
            if first.entry.priority != second.entry.priority {
                return first.entry.priority.rawValue < second.entry.priority.rawValue
            }
            return (-first.runningCount, -first.lastStart, first.entry.rank)
                < (-second.runningCount, -second.lastStart, second.entry.rank)
        }
    }

    private struct Load {
        var origin: HTTPOrigin
        var entry: Entry
        var isRunning = false
        /// Neither waits nor runs: something else has to happen first.
        var isSetAside = false
        /// Has had a slot: between two hops, or for an answer to a challenge, it may wait for another.
        var hasBegun = false
    }

    private struct Origin {
        var runningCount = 0
        /// The number of its last start; 0 before the first.
        var lastStart: Int64 = 0
        var waiting = PriorityHeap<Entry>()
        /// The one claim that is not stale; `nil` where nothing waits or no slot is free.
        var claim: Claim?
    }

    private let limitPerHost: Int
    private let limit: Int
    private var loads: [TransferID: Load] = [:]
    private var origins: [HTTPOrigin: Origin] = [:]
    private var claims = PriorityHeap<Claim>()
    /// Came up while suspended.
    private var held: [Entry] = []
    private var lastSequence: Int64 = 0
    private var startCount: Int64 = 0
    private let order: ImageDownloader.ExecutionOrder
    private(set) var runningCount = 0

    init(limitPerHost: Int, limit: Int, order: ImageDownloader.ExecutionOrder = .firstInFirstOut) {
        self.limitPerHost = max(1, limitPerHost)
        self.limit = max(1, limit)
        self.order = order
    }

    /// While set, only loads that have begun get a slot.
    var isSuspended = false {
        didSet {
            guard !isSuspended else { return }
            for entry in held {
                if let load = loads[entry.id], load.entry == entry { wait(entry, for: load.origin) }
            }
            held = []
        }
    }

    var waitingCount: Int { loads.count - runningCount }

    mutating func enqueue(_ id: TransferID, origin: HTTPOrigin, priority: LoadPriority) {
        let entry = newEntry(id, priority)
        loads[id] = Load(origin: origin, entry: entry)
        wait(entry, for: origin)
    }

    /// Moves a waiting load among those that wait at `priority` already, as if it had come just now.
    mutating func setPriority(_ priority: LoadPriority, of id: TransferID) {
        guard let load = loads[id], load.entry.priority != priority else { return }
        let entry = newEntry(id, priority)
        loads[id]?.entry = entry
        guard !load.isRunning, !load.isSetAside else { return }
        wait(entry, for: load.origin)
    }

    /// Gives a running load's slot back and lets it wait for one of another host, ahead of those that came later.
    mutating func move(_ id: TransferID, to origin: HTTPOrigin) {
        guard let load = loads[id], load.isRunning else { return }
        loads[id] = Load(origin: origin, entry: load.entry, hasBegun: true)
        freeSlot(of: load.origin)
        wait(load.entry, for: origin)
    }

    /// Gives a running load's slot back without letting it wait for another.
    mutating func setAside(_ id: TransferID) {
        guard let load = loads[id], load.isRunning else { return }
        loads[id]?.isRunning = false
        loads[id]?.isSetAside = true
        freeSlot(of: load.origin)
    }

    /// Lets a load that was set aside wait again, ahead of those that came later.
    mutating func bringBack(_ id: TransferID) {
        guard let load = loads[id], load.isSetAside else { return }
        loads[id]?.isSetAside = false
        wait(load.entry, for: load.origin)
    }

    /// Takes a load out of the queue, with the slot it may have.
    mutating func remove(_ id: TransferID) {
        guard let load = loads.removeValue(forKey: id) else { return }
        if load.isRunning { freeSlot(of: load.origin) } else { updateClaim(of: load.origin) }
    }

    func isRunning(_ id: TransferID) -> Bool { loads[id]?.isRunning ?? false }

    /// Gives a slot to the next that may have one.
    mutating func startNext() -> TransferID? {
        while runningCount < limit, let claim = claims.popLargest() {
            guard origins[claim.origin]?.claim == claim else { continue }
            let entry = claim.entry
            guard runningCount < Self.slots(of: limit, for: entry.priority) else {
                // All that wait are of low priority: the heap has nothing above this one.
                claims.insert(claim)
                return nil
            }
            guard !isSuspended || loads[entry.id]?.hasBegun == true else {
                held.append(entry)
                _ = origins[claim.origin]?.waiting.popLargest()
                updateClaim(of: claim.origin)
                continue
            }
            startCount += 1
            origins[claim.origin]?.lastStart = startCount
            origins[claim.origin]?.runningCount += 1
            loads[entry.id]?.isRunning = true
            loads[entry.id]?.hasBegun = true
            runningCount += 1
            updateClaim(of: claim.origin)
            return entry.id
        }
        return nil
    }

    private mutating func newEntry(_ id: TransferID, _ priority: LoadPriority) -> Entry {
        lastSequence += 1
        return Entry(priority: priority, rank: order == .firstInFirstOut ? -lastSequence : lastSequence, id: id)
    }

    private static func slots(of limit: Int, for priority: LoadPriority) -> Int {
        priority < .normal ? max(1, limit / 2) : limit
    }

    private mutating func wait(_ entry: Entry, for origin: HTTPOrigin) {
        origins[origin, default: Origin()].waiting.insert(entry)
        updateClaim(of: origin)
    }

    private mutating func freeSlot(of origin: HTTPOrigin) {
        runningCount -= 1
        origins[origin]?.runningCount -= 1
        updateClaim(of: origin)
    }

    /// Claims a slot for the best that waits for an origin. Due whenever that, or the number of its running loads, may have
    /// changed.
    private mutating func updateClaim(of name: HTTPOrigin) {
        guard var origin = origins.removeValue(forKey: name) else { return }
        while let entry = origin.waiting.largest, !isWaiting(entry, for: name) { _ = origin.waiting.popLargest() }
        let entry = origin.waiting.largest
        guard entry != nil || origin.runningCount > 0 else { return }
        var claim: Claim?
        if let entry, origin.runningCount < Self.slots(of: limitPerHost, for: entry.priority) {
            claim = Claim(
                entry: entry, origin: name, runningCount: origin.runningCount, lastStart: origin.lastStart)
        }
        if let claim, claim != origin.claim { claims.insert(claim) }
        origin.claim = claim
        origins[name] = origin
    }

    private func isWaiting(_ entry: Entry, for origin: HTTPOrigin) -> Bool {
        guard let load = loads[entry.id] else { return false }
        return load.entry == entry && load.origin == origin && !load.isRunning && !load.isSetAside
    }
}
