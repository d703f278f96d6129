/// Calls in the order in which they are due.
package struct CallSchedule: Sendable {
    private struct Call {
        let time: Int64
        let number: Int
        let body: @Sendable () -> Void
    }

    /// The latest first, so that the next one is at the end.
    private var calls: [Call] = []
    private var lastNumber = 0

    /// When the next call is due, in nanoseconds; `nil` if there is none.
    package var nextTime: Int64? { calls.last?.time }

    package var count: Int { calls.count }

    package init() {}

    /// Adds a call, behind those of the same time, and returns the number by which it can be removed.
    package mutating func add(at time: Int64, _ body: @escaping @Sendable () -> Void) -> Int {
        lastNumber += 1
        let call = Call(time: time, number: lastNumber, body: body)
        calls.insert(call, at: position(of: time, lastNumber))
        return lastNumber
    }

    /// Takes a call out again; its body is returned, to be released outside a lock.
    package mutating func remove(at time: Int64, number: Int) -> (@Sendable () -> Void)? {
        let position = position(of: time, number)
        guard calls.indices.contains(position), calls[position].number == number else { return nil }
        return calls.remove(at: position).body
    }

    /// Takes out the next call, if it is due at `time`.
    package mutating func removeNext(dueAt time: Int64) -> (@Sendable () -> Void)? {
        guard let next = calls.last, next.time <= time else { return nil }
        return calls.removeLast().body
    }

    /// Where a call with that time and number is, or belongs.
    private func position(of time: Int64, _ number: Int) -> Int {
        var range = 0..<calls.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            let isLater = calls[middle].time > time || calls[middle].time == time && calls[middle].number > number
            range = isLater ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }
}
