/// A queue that returns the most urgent element first, and equally urgent ones in the order of their insertion.
///
/// Each priority has a doubly linked list in one array, so that inserting, removing and moving an element take constant
/// time and leave nothing behind. The array grows to the largest number of elements that waited at once, and is
/// released when the queue becomes empty.
///
/// `@inlinable`: unspecialized, the operations would take ten times as long in other modules.
@usableFromInline package struct PriorityQueue<Element> {
    /// The order of elements with the same priority.
    @usableFromInline package enum Order: Sendable {
        case firstInFirstOut
        case lastInFirstOut
    }

    /// Identifies a waiting element. After the element has left the queue, the ticket does nothing.
    @usableFromInline package struct Ticket: Hashable, Sendable {
        @usableFromInline let index: Int32
        /// Repeats after 2³² insertions.
        @usableFromInline let number: UInt32

        @inlinable init(index: Int32, number: UInt32) {
            self.index = index
            self.number = number
        }
    }

    @usableFromInline struct Slot {
        @usableFromInline var element: Element?
        /// The number of the ticket; 0 for a free slot.
        @usableFromInline var number: UInt32
        @usableFromInline var position: Int64
        @usableFromInline var priority: LoadPriority
        @usableFromInline var previous: Int32 = -1
        /// The next slot of the list, or the next free slot; -1 for none.
        @usableFromInline var next: Int32 = -1

        @inlinable init(_ element: Element, number: UInt32, position: Int64, priority: LoadPriority) {
            self.element = element
            self.number = number
            self.position = position
            self.priority = priority
        }
    }

    @usableFromInline struct List {
        @usableFromInline var first: Int32 = -1
        @usableFromInline var last: Int32 = -1

        @inlinable init() {}
    }

    @usableFromInline let order: Order
    @usableFromInline var slots: [Slot] = []
    /// One list for each priority.
    @usableFromInline var lists = InlineArray<5, List>(repeating: List())
    @usableFromInline var firstFree: Int32 = -1
    @usableFromInline var lastPosition: Int64 = 0
    @usableFromInline var lastNumber: UInt32 = 0
    /// The number of waiting elements.
    @usableFromInline package internal(set) var count = 0

    /// Creates an empty queue.
    @inlinable package init(order: Order = .firstInFirstOut) { self.order = order }

    /// Whether no element waits.
    @inlinable package var isEmpty: Bool { count == 0 }

    /// The number of elements that the queue has memory for.
    var capacity: Int { slots.count }

    /// Inserts an element as the latest of its priority.
    ///
    /// - Parameter position: the element's position among those of its priority, lowest first, for callers that number
    ///   all elements themselves. The cost is then the number of elements between the position and the nearer end.
    @inlinable @discardableResult
    package mutating func insert(_ element: Element, priority: LoadPriority = .normal, position: Int64? = nil) -> Ticket
    {
        lastPosition += 1
        lastNumber = max(1, lastNumber &+ 1)
        let slot = Slot(element, number: lastNumber, position: position ?? lastPosition, priority: priority)
        let index: Int32
        if firstFree >= 0 {
            index = firstFree
            firstFree = slots[Int(index)].next
            slots[Int(index)] = slot
        } else {
            index = Int32(slots.count)
            slots.append(slot)
        }
        link(index)
        count += 1
        return Ticket(index: index, number: lastNumber)
    }

    /// Removes and returns the element that is due next.
    @inlinable package mutating func popFirst() -> Element? {
        let index = firstIndex
        return index < 0 ? nil : take(index)
    }

    /// The element that is due next.
    @inlinable package var first: Element? {
        let index = firstIndex
        return index < 0 ? nil : slots[Int(index)].element
    }

    /// The highest priority among the waiting elements.
    @inlinable package var highestPriority: LoadPriority? {
        let index = firstIndex
        return index < 0 ? nil : slots[Int(index)].priority
    }

    /// Removes and returns the ticket's element; `nil` if it no longer waits.
    @inlinable @discardableResult package mutating func remove(_ ticket: Ticket) -> Element? {
        isWaiting(ticket) ? take(ticket.index) : nil
    }

    /// Moves the ticket's element to another priority, as its latest. Returns `false`, and moves nothing, if the
    /// element already has this priority or no longer waits.
    ///
    /// - Parameter position: see ``insert(_:priority:position:)``.
    @inlinable @discardableResult
    mutating func setPriority(_ priority: LoadPriority, of ticket: Ticket, position: Int64? = nil) -> Bool {
        let index = Int(ticket.index)
        guard isWaiting(ticket), slots[index].priority != priority else { return false }
        unlink(ticket.index)
        lastPosition += 1
        slots[index].priority = priority
        slots[index].position = position ?? lastPosition
        link(ticket.index)
        return true
    }

    /// Whether the ticket's element is still in the queue.
    @inlinable func isWaiting(_ ticket: Ticket) -> Bool {
        ticket.index < slots.count && slots[Int(ticket.index)].number == ticket.number
    }

    /// Removes the elements for which `isRemoved` returns `true`. They are asked in the order in which they are due.
    @inlinable package mutating func removeAll(where isRemoved: (Element) -> Bool) {
        for level in lists.indices.reversed() {
            var index = order == .firstInFirstOut ? lists[level].first : lists[level].last
            while index >= 0 {
                let slot = slots[Int(index)]
                if let element = slot.element, isRemoved(element) { _ = take(index) }
                index = order == .firstInFirstOut ? slot.next : slot.previous
            }
        }
    }

    /// Removes and returns all elements, in the order in which they are due.
    @inlinable mutating func removeAll() -> [Element] {
        var elements: [Element] = []
        elements.reserveCapacity(count)
        while let element = popFirst() { elements.append(element) }
        return elements
    }

    @inlinable var firstIndex: Int32 {
        guard count > 0 else { return -1 }
        for level in lists.indices.reversed() {
            let index = order == .firstInFirstOut ? lists[level].first : lists[level].last
            if index >= 0 { return index }
        }
        return -1
    }

    @inlinable mutating func take(_ index: Int32) -> Element? {
        unlink(index)
        count -= 1
        let element = slots[Int(index)].element
        slots[Int(index)].element = nil
        slots[Int(index)].number = 0
        slots[Int(index)].next = firstFree
        firstFree = index
        if count == 0, slots.count > 64 {
            slots = []
            firstFree = -1
        }
        return element
    }

    /// Puts a slot into the list of its priority, by its position. Searches from both ends at once.
    @inlinable mutating func link(_ index: Int32) {
        let level = slots[Int(index)].priority.level
        let position = slots[Int(index)].position
        var (front, back) = (lists[level].first, lists[level].last)
        while back >= 0, slots[Int(back)].position > position {
            guard slots[Int(front)].position <= position else {
                back = slots[Int(front)].previous
                break
            }
            front = slots[Int(front)].next
            back = slots[Int(back)].previous
        }
        let next = back < 0 ? lists[level].first : slots[Int(back)].next
        slots[Int(index)].previous = back
        slots[Int(index)].next = next
        if back < 0 { lists[level].first = index } else { slots[Int(back)].next = index }
        if next < 0 { lists[level].last = index } else { slots[Int(next)].previous = index }
    }

    @inlinable mutating func unlink(_ index: Int32) {
        let (level, previous, next) = (
            slots[Int(index)].priority.level, slots[Int(index)].previous, slots[Int(index)].next
        )
        if previous < 0 { lists[level].first = next } else { slots[Int(previous)].next = next }
        if next < 0 { lists[level].last = previous } else { slots[Int(next)].previous = previous }
    }
}

extension PriorityQueue: Sendable where Element: Sendable {}
extension PriorityQueue.Slot: Sendable where Element: Sendable {}
extension PriorityQueue.List: Sendable {}
