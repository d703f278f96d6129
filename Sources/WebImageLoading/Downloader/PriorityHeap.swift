/// A binary heap: the largest element comes out first.
struct PriorityHeap<Element: Comparable> {
    private var elements: [Element] = []

    var largest: Element? { elements.first }

    mutating func insert(_ element: Element) {
        elements.append(element)
        var child = elements.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard elements[parent] < elements[child] else { return }
            elements.swapAt(parent, child)
            child = parent
        }
    }

    mutating func popLargest() -> Element? {
        guard let last = elements.popLast() else { return nil }
        guard let largest = elements.first else { return last }
        elements[0] = last
        var parent = 0
        while true {
            let left = 2 * parent + 1
            guard left < elements.count else { return largest }
            let right = left + 1
            let child = right < elements.count && elements[left] < elements[right] ? right : left
            guard elements[parent] < elements[child] else { return largest }
            elements.swapAt(parent, child)
            parent = child
        }
    }
}
