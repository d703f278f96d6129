internal import WebImageCore

/// Decides which loads wait, which run, and which starts next.
///
/// The most urgent load starts first. Among equally urgent ones, the origins (scheme, host and port) take turns: the
/// origin with the fewest running loads comes first, then the one whose last start is longest ago. An origin that keeps
/// its slots, because it is slow or hostile, therefore never gets more than its share while others wait. Within an
/// origin, the load that came first starts first, or the one that came last. A load whose origin has no free slot does
/// not block those of other origins. Loads below normal priority start only while at least half of the slots, of the
/// origin and in total, stay free, so that a visible image never waits for prefetched ones.
///
///     waiting loads of origin A ─┐
///     waiting loads of origin B ─┼─ the best of each origin that has a free slot ──► claims ──► running
///     waiting loads of origin C ─┘
///
/// A load changes one entry and one claim at each step, so that its cost does not grow with the number of loads: with
/// 20,000 loads of one origin 2.7 µs each, of 2,000 origins 4 µs.
final class DownloadQueue {
    private struct Load {
        var origin: Origin
        var priority: LoadPriority
        /// Grows with each load, and with each change of its priority.
        var position: Int64
        var place: Place
        /// Whether it has had a slot: between two hops, or for a response to a challenge, it may wait for another.
        var hasBegun = false
    }

    private enum Place {
        case waiting(PriorityQueue<Entry>.Ticket)
        case running
        /// Neither waits nor runs: something else has to happen first.
        case setAside
    }

    private struct Entry {
        let id: TransferID
        let position: Int64
    }

    private final class Origin {
        let name: HTTPOrigin
        var loadCount = 0
        var runningCount = 0
        /// The number of its last start; 0 before the first.
        var lastStart: Int64 = 0
        var begun: Waiting
        var new: Waiting

        init(_ name: HTTPOrigin, order: PriorityQueue<Entry>.Order) {
            self.name = name
            (begun, new) = (Waiting(loads: PriorityQueue(order: order)), Waiting(loads: PriorityQueue(order: order)))
        }
    }

    /// The waiting loads of one origin, either the begun or the new ones.
    private struct Waiting {
        var loads: PriorityQueue<Entry>
        /// `nil` where nothing waits or no slot is free.
        var claim: Claim?
    }

    /// The claim of an origin's best load on a slot.
    private struct Claim {
        let turn: Turn
        let ticket: PriorityQueue<Origin>.Ticket
    }

    private struct Turn: Equatable {
        let priority: LoadPriority
        /// 0 for an origin that has never had a slot, else the number of its running loads and 1.
        let line: Int
        let position: Int64

        func precedes(_ other: Turn) -> Bool {
            guard priority == other.priority else { return priority > other.priority }
            return (line, position) < (other.line, other.position)
        }
    }

    /// The origins with a claim.
    private struct Claims {
        /// By ``Turn/line``.
        private var lines: [PriorityQueue<Origin>] = []

        mutating func insert(_ origin: Origin, _ turn: Turn) -> Claim {
            while lines.count <= turn.line { lines.append(PriorityQueue()) }
            let ticket = lines[turn.line].insert(origin, priority: turn.priority, position: turn.position)
            return Claim(turn: turn, ticket: ticket)
        }

        mutating func remove(_ claim: Claim) { lines[claim.turn.line].remove(claim.ticket) }

        var first: Origin? {
            var best: (priority: LoadPriority, line: Int)?
            for index in lines.indices {
                guard let priority = lines[index].highestPriority, best.map({ priority > $0.priority }) ?? true else {
                    continue
                }
                best = (priority, index)
            }
            return best.flatMap { lines[$0.line].first }
        }
    }

    private let limitPerHost: Int
    private let limit: Int
    private let isLastInFirstOut: Bool
    private var loads: [TransferID: Load] = [:]
    private var origins: [HTTPOrigin: Origin] = [:]
    private var begunClaims = Claims()
    private var newClaims = Claims()
    private var lastPosition: Int64 = 0
    private var startCount: Int64 = 0
    private(set) var runningCount = 0
    /// While set, only loads that have begun get a slot.
    var isSuspended = false

    init(limitPerHost: Int, limit: Int, isLastInFirstOut: Bool = false) {
        self.limitPerHost = max(1, limitPerHost)
        self.limit = max(1, limit)
        self.isLastInFirstOut = isLastInFirstOut
    }

    var waitingCount: Int { loads.count - runningCount }

    func isRunning(_ id: TransferID) -> Bool {
        if case .running = loads[id]?.place { true } else { false }
    }

    func enqueue(_ id: TransferID, origin: HTTPOrigin, priority: LoadPriority) {
        let origin = join(origin)
        lastPosition += 1
        var load = Load(origin: origin, priority: priority, position: lastPosition, place: .setAside)
        wait(id, &load)
        loads[id] = load
    }

    /// Changes a load's priority. Among the loads of its new priority, it counts as the latest.
    func setPriority(_ priority: LoadPriority, of id: TransferID) {
        guard var load = loads[id], load.priority != priority else { return }
        lastPosition += 1
        (load.priority, load.position) = (priority, lastPosition)
        if case .waiting(let ticket) = load.place {
            removeEntry(ticket, of: load)
            wait(id, &load)
        }
        loads[id] = load
    }

    /// Takes a running load's slot and lets it wait for one of another origin, ahead of the loads that came later.
    func move(_ id: TransferID, to origin: HTTPOrigin) {
        guard var load = loads[id], case .running = load.place else { return }
        freeSlot(of: load.origin)
        leave(load.origin)
        load.origin = join(origin)
        wait(id, &load)
        loads[id] = load
    }

    /// Takes a running load's slot without letting it wait for another.
    func setAside(_ id: TransferID) {
        guard let load = loads[id], case .running = load.place else { return }
        loads[id]?.place = .setAside
        freeSlot(of: load.origin)
    }

    /// Lets a load that was set aside wait again, ahead of the loads that came later.
    func bringBack(_ id: TransferID) {
        guard var load = loads[id], case .setAside = load.place else { return }
        wait(id, &load)
        loads[id] = load
    }

    /// Removes a load, and frees its slot if it has one.
    func remove(_ id: TransferID) {
        guard let load = loads.removeValue(forKey: id) else { return }
        switch load.place {
        case .waiting(let ticket):
            removeEntry(ticket, of: load)
            updateClaims(of: load.origin)
        case .running: freeSlot(of: load.origin)
        case .setAside: break
        }
        leave(load.origin)
    }

    /// Gives a slot to the next load that may have one.
    ///
    /// - Parameter admitsNew: called when that load would be a new one; after `false`, only loads that have begun come
    ///   into question.
    func startNext(admitsNew: () -> Bool = { true }) -> TransferID? {
        let begun = begunClaims.first.flatMap { origin in origin.begun.claim.map { (origin, $0.turn) } }
        if !isSuspended, let origin = newClaims.first, let turn = origin.new.claim?.turn,
            begun.map({ turn.precedes($0.1) }) ?? true, hasSlot(for: turn), admitsNew()
        {
            return origin.new.loads.popFirst().map { start($0.id, origin) }
        }
        guard let (origin, turn) = begun, hasSlot(for: turn) else { return nil }
        return origin.begun.loads.popFirst().map { start($0.id, origin) }
    }

    private func start(_ id: TransferID, _ origin: Origin) -> TransferID {
        startCount += 1
        origin.lastStart = startCount
        origin.runningCount += 1
        runningCount += 1
        loads[id]?.place = .running
        loads[id]?.hasBegun = true
        updateClaims(of: origin)
        return id
    }

    private func hasSlot(for turn: Turn) -> Bool { runningCount < Self.slots(of: limit, for: turn.priority) }

    private static func slots(of limit: Int, for priority: LoadPriority) -> Int {
        priority < .normal ? max(1, limit / 2) : limit
    }

    private func join(_ name: HTTPOrigin) -> Origin {
        let origin =
            origins[name] ?? Origin(name, order: isLastInFirstOut ? .lastInFirstOut : .firstInFirstOut)
        if origin.loadCount == 0 { origins[name] = origin }
        origin.loadCount += 1
        return origin
    }

    private func leave(_ origin: Origin) {
        origin.loadCount -= 1
        if origin.loadCount == 0 { origins[origin.name] = nil }
    }

    private func wait(_ id: TransferID, _ load: inout Load) {
        let entry = Entry(id: id, position: load.position)
        let ticket =
            load.hasBegun
            ? load.origin.begun.loads.insert(entry, priority: load.priority, position: load.position)
            : load.origin.new.loads.insert(entry, priority: load.priority, position: load.position)
        load.place = .waiting(ticket)
        updateClaims(of: load.origin)
    }

    private func removeEntry(_ ticket: PriorityQueue<Entry>.Ticket, of load: Load) {
        if load.hasBegun { load.origin.begun.loads.remove(ticket) } else { load.origin.new.loads.remove(ticket) }
    }

    private func freeSlot(of origin: Origin) {
        runningCount -= 1
        origin.runningCount -= 1
        updateClaims(of: origin)
    }

    /// Due whenever an origin's best waiting loads, or the number of its running loads, may have changed.
    private func updateClaims(of origin: Origin) {
        updateClaim(of: origin, &origin.begun, &begunClaims)
        updateClaim(of: origin, &origin.new, &newClaims)
    }

    private func updateClaim(of origin: Origin, _ waiting: inout Waiting, _ claims: inout Claims) {
        let turn = turn(of: origin, waiting.loads)
        guard turn != waiting.claim?.turn else { return }
        if let claim = waiting.claim { claims.remove(claim) }
        waiting.claim = turn.map { claims.insert(origin, $0) }
    }

    private func turn(of origin: Origin, _ waiting: PriorityQueue<Entry>) -> Turn? {
        guard let entry = waiting.first, let priority = waiting.highestPriority,
            origin.runningCount < Self.slots(of: limitPerHost, for: priority)
        else { return nil }
        guard origin.lastStart == 0 else {
            return Turn(priority: priority, line: origin.runningCount + 1, position: origin.lastStart)
        }
        return Turn(priority: priority, line: 0, position: isLastInFirstOut ? -entry.position : entry.position)
    }
}
