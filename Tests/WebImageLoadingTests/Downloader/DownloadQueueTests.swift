import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageLoading

@Suite(.timeLimit(.minutes(3))) struct DownloadQueueTests {
    private var queue = DownloadQueue(limitPerHost: 6, limit: 32)

    private static func origin(_ host: String) throws -> HTTPOrigin {
        let url = try #require(URL(string: "http://\(host)/"))
        return try #require(HTTPOrigin(url))
    }

    private mutating func enqueue(_ ids: ClosedRange<UInt64>, host: String = "a", _ priority: LoadPriority = .normal)
        throws
    {
        let origin = try Self.origin(host)
        for id in ids { queue.enqueue(TransferID(rawValue: id), origin: origin, priority: priority) }
    }

    private mutating func startAll() -> [UInt64] {
        var started: [UInt64] = []
        while let id = queue.startNext() { started.append(id.rawValue) }
        return started
    }

    @Test mutating func startsTheMostUrgentFirstAndEqualsInOrder() throws {
        try enqueue(1...1, .veryLow)
        try enqueue(2...3, .normal)
        try enqueue(4...4, .veryHigh)
        try enqueue(5...5, .high)
        try enqueue(6...6, .low)
        #expect(startAll() == [4, 5, 2, 3])
        for id: UInt64 in [2, 3, 4, 5] { queue.remove(TransferID(rawValue: id)) }
        #expect(startAll() == [6, 1])
    }

    @Test mutating func neverExceedsTheLimitOfAHostNorHoldsUpOthers() throws {
        try enqueue(1...10, host: "a")
        try enqueue(11...12, host: "b")
        #expect(startAll() == [1, 11, 2, 12, 3, 4, 5, 6])
        queue.remove(TransferID(rawValue: 3))
        #expect(startAll() == [7])
    }

    @Test mutating func neverExceedsTheLimitInAll() throws {
        for host: UInt64 in 0..<10 { try enqueue(host * 10...host * 10 + 5, host: "host\(host)") }
        #expect(startAll().count == 32)
        #expect(queue.runningCount == 32)
        #expect(queue.waitingCount == 28)
    }

    @Test mutating func lowPriorityLeavesHalfOfAHostsSlotsFree() throws {
        try enqueue(1...10, .low)
        #expect(startAll() == [1, 2, 3])
        try enqueue(11...20, .normal)
        #expect(startAll() == [11, 12, 13])
        // Three normal ones are running still: half of the slots are taken without a low one.
        for id: UInt64 in 1...3 { queue.remove(TransferID(rawValue: id)) }
        #expect(startAll() == [14, 15, 16])
    }

    @Test mutating func lowPriorityLeavesHalfOfAllSlotsFree() throws {
        for host: UInt64 in 0..<10 { try enqueue(host * 10...host * 10 + 5, host: "host\(host)", .veryLow) }
        #expect(startAll().count == 16)
        queue.remove(TransferID(rawValue: 0))
        #expect(startAll().count == 1)
    }

    @Test mutating func oneSlotIsEnoughForLowPriority() throws {
        queue = DownloadQueue(limitPerHost: 1, limit: 1)
        try enqueue(1...2, .veryLow)
        #expect(startAll() == [1])
    }

    @Test mutating func movesAWaitingLoadToAnotherPriority() throws {
        try enqueue(1...9)
        #expect(startAll() == [1, 2, 3, 4, 5, 6])
        queue.setPriority(.high, of: TransferID(rawValue: 9))
        queue.setPriority(.low, of: TransferID(rawValue: 7))
        queue.remove(TransferID(rawValue: 1))
        queue.remove(TransferID(rawValue: 2))
        #expect(startAll() == [9, 8])
        for id: UInt64 in [3, 4, 5, 6] { queue.remove(TransferID(rawValue: id)) }
        #expect(startAll() == [7])
    }

    @Test mutating func aRemovedLoadDoesNotStart() throws {
        try enqueue(1...8)
        _ = startAll()
        queue.remove(TransferID(rawValue: 7))
        #expect(queue.waitingCount == 1)
        queue.remove(TransferID(rawValue: 1))
        #expect(startAll() == [8])
    }

    /// The entry that took a free slot's claim goes away while the limit in all still holds it back.
    @Test mutating func aClaimOnASlotPassesOnWhenItsLoadIsRemoved() throws {
        queue = DownloadQueue(limitPerHost: 1, limit: 2)
        try enqueue(1...3, host: "a")
        try enqueue(4...4, host: "b")
        #expect(startAll() == [1, 4])
        try enqueue(5...5, host: "c", .high)
        queue.remove(TransferID(rawValue: 1))
        queue.remove(TransferID(rawValue: 2))
        #expect(startAll() == [5])
        queue.remove(TransferID(rawValue: 5))
        #expect(startAll() == [3])
    }

    @Test mutating func aMovedLoadTakesASlotOfItsNewHost() throws {
        queue = DownloadQueue(limitPerHost: 1, limit: 32)
        try enqueue(1...2, host: "a")
        try enqueue(3...3, host: "b")
        #expect(startAll() == [1, 3])
        queue.move(TransferID(rawValue: 1), to: try Self.origin("b"))
        #expect(startAll() == [2])
        queue.remove(TransferID(rawValue: 3))
        #expect(startAll() == [1])
    }

    @Test mutating func theOriginWithTheFewestRunningLoadsComesFirst() throws {
        queue = DownloadQueue(limitPerHost: 6, limit: 8)
        try enqueue(1...20, host: "a")
        #expect(startAll() == [1, 2, 3, 4, 5, 6])
        try enqueue(21...40, host: "b")
        #expect(startAll() == [21, 22])
        try enqueue(41...41, host: "c")
        queue.remove(TransferID(rawValue: 1))
        queue.remove(TransferID(rawValue: 2))
        #expect(startAll() == [41, 23])
        // Four of a, three of b and one of c run.
        for id: UInt64 in [3, 4] { queue.remove(TransferID(rawValue: id)) }
        #expect(startAll() == [7, 24])
    }

    /// Each of many origins has more loads than slots, all before the one that comes last.
    @Test mutating func anOriginThatHadNoTurnComesBeforeThoseThatHad() throws {
        queue = DownloadQueue(limitPerHost: 6, limit: 32)
        for host: UInt64 in 0..<32 { try enqueue(host * 10...host * 10 + 9, host: "host\(host)") }
        #expect(startAll() == (0..<32).map { $0 * 10 })
        try enqueue(1000...1001, host: "late")
        queue.remove(TransferID(rawValue: 50))
        #expect(startAll() == [1000])
        for id: UInt64 in [70, 60] { queue.remove(TransferID(rawValue: id)) }
        #expect(startAll() == [51, 61])
    }

    @Test mutating func urgencyCountsMoreThanTurns() throws {
        queue = DownloadQueue(limitPerHost: 2, limit: 3)
        try enqueue(1...1, host: "a")
        try enqueue(2...2, host: "b")
        try enqueue(3...3, host: "c")
        #expect(startAll() == [1, 2, 3])
        try enqueue(4...4, host: "d")
        try enqueue(5...5, host: "a", .high)
        queue.remove(TransferID(rawValue: 3))
        #expect(startAll() == [5])
    }

    /// Against a plain list searched from front to back.
    @Test mutating func agreesWithAPlainModelUnderRandomOperations() throws {
        var random = SplitMix64(seed: 7)
        var model = PlainQueue(limitPerHost: 3, limit: 7)
        queue = DownloadQueue(limitPerHost: 3, limit: 7)
        for id in 1...1000 as ClosedRange<UInt64> {
            let host = "host\(Int.random(in: 0..<5, using: &random))"
            let priority = try #require(LoadPriority.allCases.randomElement(using: &random))
            let other = UInt64.random(in: 1...id, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                try enqueue(id...id, host: host, priority)
                model.enqueue(id, host: host, priority: priority)
            case 4..<6:
                queue.setPriority(priority, of: TransferID(rawValue: other))
                model.setPriority(priority, of: other)
            default:
                let victim =
                    Bool.random(using: &random) ? model.running.randomElement(using: &random)?.id ?? other : other
                queue.remove(TransferID(rawValue: victim))
                model.remove(victim)
            }
            #expect(startAll() == model.startAll())
        }
    }

    @Test mutating func lastInFirstOutStartsTheNewestOfEachPriority() throws {
        queue = DownloadQueue(limitPerHost: 1, limit: 1, isLastInFirstOut: true)
        var order: [UInt64] = []
        try enqueue(1...1)
        order += startAll()
        try enqueue(2...7)
        queue.remove(TransferID(rawValue: 1))
        order += startAll()
        #expect(order == [1, 7])
        try enqueue(8...14)
        try enqueue(15...16, .low)
        for _ in 0..<14 {
            queue.remove(TransferID(rawValue: order.last ?? 0))
            order += startAll()
        }
        #expect(order == [1, 7, 14, 13, 12, 11, 10, 9, 8, 6, 5, 4, 3, 2, 16, 15])
    }

    /// Of origins that had no turn yet, the one whose load came last comes first.
    @Test(arguments: [(true, [1, 14, 13, 12, 11]), (false, [1, 11, 12, 13, 14])] as [(Bool, [UInt64])])
    mutating func theOrderOfExecutionAppliesBetweenOrigins(isLastInFirstOut: Bool, expected: [UInt64]) throws {
        queue = DownloadQueue(limitPerHost: 1, limit: 1, isLastInFirstOut: isLastInFirstOut)
        try enqueue(1...1)
        var order = startAll()
        for id: UInt64 in 11...14 { try enqueue(id...id, host: "host\(id)") }
        for _ in 0..<4 {
            queue.remove(TransferID(rawValue: order.last ?? 0))
            order += startAll()
        }
        #expect(order == expected)
    }

    @Test mutating func aMovedPriorityCountsAsTheLastThatCame() throws {
        queue = DownloadQueue(limitPerHost: 1, limit: 1, isLastInFirstOut: true)
        try enqueue(1...1)
        _ = startAll()
        try enqueue(2...2, .low)
        try enqueue(3...4)
        queue.setPriority(.normal, of: TransferID(rawValue: 2))
        queue.remove(TransferID(rawValue: 1))
        #expect(startAll() == [2])
    }

    @Test mutating func startsNothingNewWhileSuspended() throws {
        try enqueue(1...2)
        _ = startAll()
        queue.isSuspended = true
        try enqueue(3...5)
        #expect(startAll() == [])
        queue.remove(TransferID(rawValue: 3))
        queue.setPriority(.high, of: TransferID(rawValue: 5))
        #expect(startAll() == [])
        #expect(queue.waitingCount == 2)
        queue.isSuspended = false
        #expect(startAll() == [5, 4])
    }

    @Test mutating func whatHasBegunGoesOnWhileSuspended() throws {
        try enqueue(1...1, host: "a")
        _ = startAll()
        try enqueue(2...2, .veryHigh)
        queue.isSuspended = true
        queue.move(TransferID(rawValue: 1), to: try Self.origin("b"))
        #expect(startAll() == [1])
        queue.setAside(TransferID(rawValue: 1))
        queue.bringBack(TransferID(rawValue: 1))
        #expect(startAll() == [1])
        queue.isSuspended = false
        #expect(startAll() == [2])
    }

    /// After a redirect it waits for a slot of another origin.
    @Test mutating func aMoreUrgentNewLoadStartsBeforeOneThatHasBegun() throws {
        queue = DownloadQueue(limitPerHost: 2, limit: 2)
        try enqueue(1...1, host: "a")
        try enqueue(2...2, host: "b")
        #expect(startAll() == [1, 2])
        queue.move(TransferID(rawValue: 1), to: try Self.origin("c"))
        try enqueue(3...3, host: "d", .high)
        #expect(startAll() == [3])
        try enqueue(4...4, host: "e", .low)
        queue.remove(TransferID(rawValue: 2))
        queue.remove(TransferID(rawValue: 3))
        #expect(startAll() == [1])
    }

    @Test mutating func aLoadThatHasBegunTakesTurnsWithNewOnes() throws {
        queue = DownloadQueue(limitPerHost: 2, limit: 2)
        try enqueue(1...1, host: "a")
        try enqueue(2...2, host: "b")
        #expect(startAll() == [1, 2])
        // Its new origin has a slot, the one of the new load had none yet.
        queue.move(TransferID(rawValue: 1), to: try Self.origin("b"))
        try enqueue(3...3, host: "c")
        #expect(startAll() == [3])
        queue.remove(TransferID(rawValue: 3))
        #expect(startAll() == [1])
    }
}

private struct PlainQueue {
    struct Load {
        let id: UInt64
        let host: String
        var priority: LoadPriority
    }

    let limitPerHost: Int, limit: Int
    /// The number of each host's last start, as long as anything waits or runs there.
    var lastStarts: [String: Int] = [:]
    var startCount = 0
    var waiting: [Load] = []
    var running: [Load] = []

    init(limitPerHost: Int, limit: Int) { (self.limitPerHost, self.limit) = (limitPerHost, limit) }

    mutating func enqueue(_ id: UInt64, host: String, priority: LoadPriority) {
        waiting.append(Load(id: id, host: host, priority: priority))
    }

    mutating func setPriority(_ priority: LoadPriority, of id: UInt64) {
        guard let index = waiting.firstIndex(where: { $0.id == id }), waiting[index].priority != priority else {
            return
        }
        var load = waiting.remove(at: index)
        load.priority = priority
        waiting.append(load)
    }

    mutating func remove(_ id: UInt64) {
        waiting.removeAll { $0.id == id }
        running.removeAll { $0.id == id }
        lastStarts = lastStarts.filter { host in (waiting + running).contains { $0.host == host.key } }
    }

    mutating func startAll() -> [UInt64] {
        var started: [UInt64] = []
        while let index = nextIndex() {
            let load = waiting.remove(at: index)
            running.append(load)
            startCount += 1
            lastStarts[load.host] = startCount
            started.append(load.id)
        }
        return started
    }

    private func nextIndex() -> Int? {
        LoadPriority.allCases.reversed().lazy.compactMap { priority in
            let candidates = waiting.indices.filter { index in
                let load = waiting[index]
                let (hostSlots, slots) =
                    priority < .normal ? (max(1, limitPerHost / 2), max(1, limit / 2)) : (limitPerHost, limit)
                return load.priority == priority && runningCount(load.host) < hostSlots && running.count < slots
            }
            return candidates.min { first, second in turn(first) < turn(second) }
        }.first
    }

    private func runningCount(_ host: String) -> Int { running.count { $0.host == host } }

    /// Lower for the load that goes first.
    private func turn(_ index: Int) -> (Int, Int, Int) {
        let host = waiting[index].host
        return (runningCount(host), lastStarts[host] ?? 0, index)
    }
}
