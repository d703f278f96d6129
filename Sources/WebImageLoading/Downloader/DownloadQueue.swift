internal import WebImageCore

/// Who waits, who runs, and who may start next.
///
/// The most urgent starts first, and among equals the one that came first, or last, as the order says. A load whose host has no free slot does not
/// hold up those of other hosts. Work below normal priority starts only while at least half of the slots, of its host and
/// in all, stay free, so that a visible picture never waits for prefetched ones.
///
///     waiting ──popLargest──► host has a slot? ──yes──► running
///        ▲                          │ no
///        └──── a slot of its ── parked with the host
///              host is free
///
/// Each step moves one entry between heaps, so the cost of a load is logarithmic, however many wait for however many
/// hosts. Cancelled and moved entries stay behind in the heaps as stale ones and are skipped when they come up.
struct DownloadQueue {
    private struct Entry: Comparable {
        let priority: LoadPriority
        /// Higher for who goes first among equals.
        let rank: Int64
        let id: TransferID

        static func < (first: Entry, second: Entry) -> Bool {
            (first.priority.rawValue, first.rank) < (second.priority.rawValue, second.rank)
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

    private struct Host {
        var runningCount = 0
        var parked = PriorityHeap<Entry>()
    }

    private let limitPerHost: Int
    private let limit: Int
    private var loads: [TransferID: Load] = [:]
    private var hosts: [HTTPOrigin: Host] = [:]
    private var waiting = PriorityHeap<Entry>()
    /// Came up while suspended.
    private var held: [Entry] = []
    private var lastSequence: Int64 = 0
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
            for entry in held { waiting.insert(entry) }
            held = []
        }
    }

    var waitingCount: Int { loads.count - runningCount }

    mutating func enqueue(_ id: TransferID, origin: HTTPOrigin, priority: LoadPriority) {
        let entry = newEntry(id, priority)
        loads[id] = Load(origin: origin, entry: entry)
        waiting.insert(entry)
    }

    /// Moves a waiting load among those that wait at `priority` already, as if it had come just now.
    mutating func setPriority(_ priority: LoadPriority, of id: TransferID) {
        guard let load = loads[id], load.entry.priority != priority else { return }
        let entry = newEntry(id, priority)
        loads[id]?.entry = entry
        guard !load.isRunning, !load.isSetAside else { return }
        waiting.insert(entry)
        unparkNext(of: load.origin)
    }

    /// Gives a running load's slot back and lets it wait for one of another host, ahead of those that came later.
    mutating func move(_ id: TransferID, to origin: HTTPOrigin) {
        guard let load = loads[id], load.isRunning else { return }
        freeSlot(of: load.origin)
        loads[id] = Load(origin: origin, entry: load.entry, hasBegun: true)
        waiting.insert(load.entry)
    }

    /// Gives a running load's slot back without letting it wait for another.
    mutating func setAside(_ id: TransferID) {
        guard let load = loads[id], load.isRunning else { return }
        freeSlot(of: load.origin)
        loads[id]?.isRunning = false
        loads[id]?.isSetAside = true
    }

    /// Lets a load that was set aside wait again, ahead of those that came later.
    mutating func bringBack(_ id: TransferID) {
        guard let load = loads[id], load.isSetAside else { return }
        loads[id]?.isSetAside = false
        waiting.insert(load.entry)
    }

    /// Takes a load out of the queue, with the slot it may have.
    mutating func remove(_ id: TransferID) {
        guard let load = loads.removeValue(forKey: id) else { return }
        if load.isRunning { freeSlot(of: load.origin) } else { unparkNext(of: load.origin) }
    }

    func isRunning(_ id: TransferID) -> Bool { loads[id]?.isRunning ?? false }

    /// Gives a slot to the next that may have one.
    mutating func startNext() -> TransferID? {
        while runningCount < limit, let entry = waiting.popLargest() {
            guard let load = loads[entry.id], load.entry == entry, !load.isRunning else { continue }
            guard !isSuspended || load.hasBegun else {
                held.append(entry)
                continue
            }
            guard runningCount < Self.slots(of: limit, for: entry.priority) else {
                // All that wait are of low priority: the heap has nothing above this one.
                waiting.insert(entry)
                return nil
            }
            var host = hosts[load.origin] ?? Host()
            guard host.runningCount < Self.slots(of: limitPerHost, for: entry.priority) else {
                host.parked.insert(entry)
                hosts[load.origin] = host
                continue
            }
            host.runningCount += 1
            hosts[load.origin] = host
            loads[entry.id]?.isRunning = true
            loads[entry.id]?.hasBegun = true
            runningCount += 1
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

    private mutating func freeSlot(of origin: HTTPOrigin) {
        runningCount -= 1
        hosts[origin]?.runningCount -= 1
        unparkNext(of: origin)
    }

    /// Lets the most urgent of a host's parked entries wait again. Due whenever a slot of the host, or the claim of an
    /// entry in `waiting` to one, has become free; one entry too many is parked again when it comes up.
    private mutating func unparkNext(of origin: HTTPOrigin) {
        guard var host = hosts.removeValue(forKey: origin) else { return }
        while let entry = host.parked.popLargest() {
            guard let load = loads[entry.id], load.entry == entry, !load.isRunning else { continue }
            waiting.insert(entry)
            break
        }
        if host.runningCount > 0 || !host.parked.isEmpty { hosts[origin] = host }
    }
}
