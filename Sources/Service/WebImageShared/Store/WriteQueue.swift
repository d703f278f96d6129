internal import FoundationEssentials
internal import WebImageCore

/// The writes that wait, oldest first, at most one for each name.
struct WriteQueue {
    /// An object to write, or `nil` to remove the stored one.
    struct Write {
        let name: String
        let object: SharedObject?
        var attemptCount = 0

        var byteCount: Int { object?.content.count ?? 0 }
    }

    private var writes: [Write] = []
    /// By their bytes, to find most new names without a search.
    private var names: Set<[UInt8]> = []
    private(set) var byteCount = 0

    var isEmpty: Bool { writes.isEmpty }
    /// The number of objects that wait.
    var objectCount: Int { writes.count { $0.object != nil } }

    func contains(_ name: String) -> Bool { names.contains(Array(name.utf8)) }

    /// Adds a write in place of the one of its name.
    mutating func append(_ write: Write) {
        remove(write.name)
        insert(write, at: writes.count)
    }

    /// Adds a write as the oldest; there must be none of its name.
    mutating func prepend(_ write: Write) { insert(write, at: 0) }

    private mutating func insert(_ write: Write, at index: Int) {
        writes.insert(write, at: index)
        names.insert(Array(write.name.utf8))
        byteCount += write.byteCount
    }

    mutating func remove(_ name: String) {
        guard contains(name) else { return }
        _ = removeFirst { $0.hasSameBytes(as: name) }
    }

    /// Whether there is a write whose name satisfies the predicate.
    func contains(where isWanted: (String) -> Bool) -> Bool { writes.contains { isWanted($0.name) } }

    /// Removes and returns the oldest write whose name satisfies the predicate.
    mutating func removeFirst(where isWanted: (String) -> Bool = { _ in true }) -> Write? {
        guard let index = writes.firstIndex(where: { isWanted($0.name) }) else { return nil }
        let write = writes.remove(at: index)
        names.remove(Array(write.name.utf8))
        byteCount -= write.byteCount
        return write
    }
}
