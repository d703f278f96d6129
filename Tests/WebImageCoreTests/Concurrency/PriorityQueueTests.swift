import Testing
import WebImageTestSupport

@testable import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct PriorityQueueTests {
    private func all(_ queue: PriorityQueue<Int>) -> [Int] {
        var copy = queue
        return copy.removeAll()
    }

    @Test func popsTheMostUrgentFirstAndEqualPrioritiesInOrder() {
        var queue = PriorityQueue<Int>()
        for (number, priority) in [LoadPriority.low, .normal, .veryHigh, .normal, .veryLow, .high].enumerated() {
            queue.insert(number, priority: priority)
        }
        #expect(queue.count == 6 && queue.first == 2 && queue.highestPriority == .veryHigh)
        #expect(all(queue) == [2, 5, 1, 3, 0, 4])
        #expect(queue.removeAll().count == 6)
        #expect(queue.popFirst() == nil)
        #expect(queue.isEmpty && queue.first == nil && queue.highestPriority == nil)
    }

    @Test func popsTheLatestFirstIfRequested() {
        var queue = PriorityQueue<Int>(order: .lastInFirstOut)
        for number in 0..<3 { queue.insert(number) }
        let ticket = queue.insert(3, priority: .low)
        queue.insert(4, priority: .high)
        #expect(all(queue) == [4, 2, 1, 0, 3])
        #expect(queue.setPriority(.normal, of: ticket) == true)
        #expect(all(queue) == [4, 3, 2, 1, 0])
    }

    @Test func removesAndMovesByTicket() {
        var queue = PriorityQueue<Int>()
        let tickets = (0..<4).map { queue.insert($0) }
        #expect(queue.remove(tickets[1]) == 1)
        #expect(queue.remove(tickets[1]) == nil)
        #expect(!queue.isWaiting(tickets[1]) && queue.isWaiting(tickets[2]))
        #expect(queue.setPriority(.normal, of: tickets[0]) == false, "an element keeps its place at the same priority")
        #expect(queue.setPriority(.high, of: tickets[3]) == true)
        #expect(queue.setPriority(.low, of: tickets[0]) == true)
        #expect(queue.setPriority(.normal, of: tickets[0]) == true)
        #expect(all(queue) == [3, 2, 0])
    }

    @Test func aTicketDoesNotAffectALaterElementInItsSlot() {
        var queue = PriorityQueue<Int>()
        let ticket = queue.insert(1)
        #expect(queue.popFirst() == 1)
        queue.insert(2)
        #expect(queue.remove(ticket) == nil)
        #expect(queue.setPriority(.high, of: ticket) == false)
        #expect(all(queue) == [2])
    }

    @Test func insertsAtAPosition() {
        var queue = PriorityQueue<Int>()
        for position in [5, 1, 9, 3, 7, 3, 0, 8] { queue.insert(position, position: Int64(position)) }
        let ticket = queue.insert(4, priority: .low, position: 4)
        #expect(all(queue) == [0, 1, 3, 3, 5, 7, 8, 9, 4])
        #expect(queue.setPriority(.normal, of: ticket, position: 4) == true)
        #expect(all(queue) == [0, 1, 3, 3, 4, 5, 7, 8, 9])
    }

    @Test func capacityIsTheLargestNumberOfWaitingElements() {
        var queue = PriorityQueue<Int>()
        let ticket = queue.insert(0, priority: .low)
        for number in 0..<1000 {
            queue.setPriority(number.isMultiple(of: 2) ? .high : .low, of: ticket)
            queue.remove(queue.insert(number))
        }
        #expect(queue.capacity == 2)
        for number in 0..<1000 { queue.insert(number) }
        #expect(queue.removeAll().count == 1001)
        #expect(queue.capacity == 0)
    }

    /// An object is released when it leaves the queue, not when its place is used again.
    @Test func releasesRemovedElements() {
        final class Element {}
        var queue = PriorityQueue<Element>()
        weak var first: Element?
        weak var second: Element?
        let ticket: PriorityQueue<Element>.Ticket
        do {
            let elements = [Element(), Element()]
            (first, second) = (elements[0], elements[1])
            ticket = queue.insert(elements[0])
            queue.insert(elements[1])
        }
        queue.remove(ticket)
        #expect(first == nil && second != nil)
        _ = queue.popFirst()
        #expect(second == nil)
    }

    @Test(arguments: [PriorityQueue<Int>.Order.firstInFirstOut, .lastInFirstOut])
    func matchesASortedListUnderRandomOperations(order: PriorityQueue<Int>.Order) throws {
        typealias Row = (priority: LoadPriority, position: Int64, number: Int, ticket: PriorityQueue<Int>.Ticket)
        var random = SplitMix64(seed: 3)
        var queue = PriorityQueue<Int>(order: order)
        var rows: [Row] = []
        func precedes(_ first: Row, _ second: Row) -> Bool {
            guard first.priority == second.priority else { return first.priority > second.priority }
            return order == .firstInFirstOut ? first.position < second.position : first.position > second.position
        }
        for number in 0..<3000 {
            let priority = try #require(LoadPriority.allCases.randomElement(using: &random))
            // Positions are unique, in no order.
            let position = Int64.random(in: 0..<1000, using: &random) * 10_000 + Int64(number)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                rows.append((priority, position, number, queue.insert(number, priority: priority, position: position)))
            case 5..<7 where !rows.isEmpty:
                let index = rows.indices.randomElement(using: &random) ?? 0
                guard queue.setPriority(priority, of: rows[index].ticket, position: position) else { continue }
                rows[index].priority = priority
                rows[index].position = position
            case 7 where !rows.isEmpty:
                let row = rows.remove(at: rows.indices.randomElement(using: &random) ?? 0)
                #expect(queue.remove(row.ticket) == row.number)
            default:
                rows.sort(by: precedes)
                #expect(queue.popFirst() == (rows.isEmpty ? nil : rows.removeFirst().number))
            }
            #expect(queue.count == rows.count)
        }
        rows.sort(by: precedes)
        var asked: [Int] = []
        queue.removeAll { number in
            asked.append(number)
            return number.isMultiple(of: 2)
        }
        #expect(asked == rows.map(\.number))
        rows.removeAll { $0.number.isMultiple(of: 2) }
        #expect(queue.count == rows.count && queue.removeAll() == rows.map(\.number))
    }
}
