/// A cache of a limited size that only counts: entries have a number and a size, but no value.
protocol Policy {
    init(capacity: Int)

    /// Looks an entry up, and stores it after a miss, unless it is larger than the cache.
    ///
    /// - Returns: whether it was there.
    mutating func access(_ key: Int, size: Int) -> Bool
}

/// Entries in order, with insertion at the front and removal anywhere in constant time.
struct EntryList {
    struct Entry {
        let key: Int
        let size: Int
        /// What a policy notes of an entry: visited or not, or how often.
        var mark = 0
        fileprivate var newer = -1
        fileprivate var older = -1
    }

    private var entries: [Entry] = []
    private var free: [Int] = []
    private var places: [Int: Int] = [:]
    private(set) var newest = -1
    private(set) var oldest = -1
    private(set) var size = 0

    var isEmpty: Bool { oldest < 0 }

    subscript(place: Int) -> Entry {
        get { entries[place] }
        _modify { yield &entries[place] }
    }

    var count: Int { places.count }

    func place(of key: Int) -> Int? { places[key] }

    /// Returns the next newer place; -1 after the newest.
    func newer(than place: Int) -> Int { entries[place].newer }

    mutating func insert(_ key: Int, size: Int, mark: Int = 0) {
        var entry = Entry(key: key, size: size, mark: mark)
        entry.older = newest
        let place = free.popLast() ?? entries.count
        if place == entries.count { entries.append(entry) } else { entries[place] = entry }
        if newest >= 0 { entries[newest].newer = place } else { oldest = place }
        newest = place
        places[key] = place
        self.size += size
    }

    @discardableResult
    mutating func remove(_ place: Int) -> Entry {
        let entry = entries[place]
        if entry.newer >= 0 { entries[entry.newer].older = entry.older } else { newest = entry.older }
        if entry.older >= 0 { entries[entry.older].newer = entry.newer } else { oldest = entry.newer }
        places[entry.key] = nil
        free.append(place)
        size -= entry.size
        return entry
    }

    mutating func moveToFront(_ place: Int) {
        let entry = remove(place)
        insert(entry.key, size: entry.size, mark: entry.mark)
    }
}

/// Evicts the least recently used entry.
struct LRU: Policy {
    private let capacity: Int
    private var list = EntryList()

    init(capacity: Int) { self.capacity = capacity }

    mutating func access(_ key: Int, size: Int) -> Bool {
        if let place = list.place(of: key) {
            list.moveToFront(place)
            return true
        }
        guard size <= capacity else { return false }
        list.insert(key, size: size)
        while list.size > capacity { list.remove(list.oldest) }
        return false
    }
}

/// SIEVE (Zhang et al., NSDI 2024): one queue, which entries never leave their place in. A hand moves from the oldest to
/// the newest, spares visited entries once, and evicts the first that is not.
struct SIEVE: Policy {
    private let capacity: Int
    private var list = EntryList()
    private var hand = -1

    init(capacity: Int) { self.capacity = capacity }

    mutating func access(_ key: Int, size: Int) -> Bool {
        if let place = list.place(of: key) {
            list[place].mark = 1
            return true
        }
        guard size <= capacity else { return false }
        while list.size + size > capacity { evict() }
        list.insert(key, size: size)
        return false
    }

    private mutating func evict() {
        var place = hand >= 0 ? hand : list.oldest
        while list[place].mark > 0 {
            list[place].mark = 0
            let next = list.newer(than: place)
            place = next >= 0 ? next : list.oldest
        }
        hand = list.newer(than: place)
        list.remove(place)
    }
}

/// S3-FIFO (Yang et al., SOSP 2023): a small queue of a tenth of the cache for new entries, a main queue for those used
/// again, and the keys of as many entries as the main queue holds that left the small one.
struct S3FIFO: Policy {
    private let capacity: Int
    private let smallCapacity: Int
    private var small = EntryList()
    private var main = EntryList()
    /// Keys only; their sizes count as if they were stored.
    private var ghosts = EntryList()

    private static let highestMark = 3

    init(capacity: Int) {
        self.capacity = capacity
        smallCapacity = max(1, capacity / 10)
    }

    mutating func access(_ key: Int, size: Int) -> Bool {
        if let place = main.place(of: key) {
            main[place].mark = min(Self.highestMark, main[place].mark + 1)
            return true
        }
        if let place = small.place(of: key) {
            small[place].mark = min(Self.highestMark, small[place].mark + 1)
            return true
        }
        guard size <= capacity else { return false }
        while small.size + main.size + size > capacity { evict() }
        if let place = ghosts.place(of: key) {
            ghosts.remove(place)
            main.insert(key, size: size)
        } else {
            small.insert(key, size: size)
        }
        return false
    }

    private mutating func evict() {
        if small.size >= smallCapacity || main.isEmpty { evictFromSmall() } else { evictFromMain() }
    }

    private mutating func evictFromSmall() {
        while !small.isEmpty {
            let entry = small.remove(small.oldest)
            if entry.mark > 1 {
                main.insert(entry.key, size: entry.size)
                continue
            }
            ghosts.insert(entry.key, size: entry.size)
            while ghosts.size > capacity - smallCapacity, !ghosts.isEmpty { ghosts.remove(ghosts.oldest) }
            return
        }
    }

    private mutating func evictFromMain() {
        while !main.isEmpty {
            let entry = main.remove(main.oldest)
            guard entry.mark > 0 else { return }
            main.insert(entry.key, size: entry.size, mark: entry.mark - 1)
        }
    }
}

/// W-TinyLFU (Einziger et al., ACM TOS 2017): an LRU window of 1 %, and a segmented LRU that a candidate from the window
/// enters only if it was used more often lately than the entry it would replace.
struct WTinyLFU: Policy {
    private let capacity: Int
    private let windowCapacity: Int
    private let protectedCapacity: Int
    private var window = EntryList()
    private var probation = EntryList()
    private var protected = EntryList()
    private var sketch = FrequencySketch()

    init(capacity: Int) {
        self.capacity = capacity
        windowCapacity = max(1, capacity / 100)
        protectedCapacity = (capacity - windowCapacity) / 5 * 4
    }

    mutating func access(_ key: Int, size: Int) -> Bool {
        sketch.note(key, entryCount: window.count + probation.count + protected.count)
        if let place = window.place(of: key) {
            window.moveToFront(place)
            return true
        }
        if let place = protected.place(of: key) {
            protected.moveToFront(place)
            return true
        }
        if let place = probation.place(of: key) {
            let entry = probation.remove(place)
            protected.insert(entry.key, size: entry.size)
            while protected.size > protectedCapacity {
                let demoted = protected.remove(protected.oldest)
                probation.insert(demoted.key, size: demoted.size)
            }
            return true
        }
        guard size <= capacity else { return false }
        window.insert(key, size: size)
        while window.size > windowCapacity { admit(window.remove(window.oldest)) }
        return false
    }

    /// A candidate must be more frequent than each entry that leaves for it.
    private mutating func admit(_ candidate: EntryList.Entry) {
        let room = capacity - windowCapacity - candidate.size
        guard room >= 0 else { return }
        let frequency = sketch.frequency(of: candidate.key)
        while probation.size + protected.size > room {
            let fromProbation = !probation.isEmpty
            let victim = fromProbation ? probation[probation.oldest] : protected[protected.oldest]
            guard frequency > sketch.frequency(of: victim.key) else { return }
            if fromProbation { probation.remove(probation.oldest) } else { protected.remove(protected.oldest) }
        }
        probation.insert(candidate.key, size: candidate.size)
    }
}

/// How often keys were used lately: a count-min sketch of four rows with counters up to 15, all of which are halved from
/// time to time.
struct FrequencySketch {
    private var counters = [UInt8](repeating: 0, count: 4 * Self.width)
    private var additionCount = 0

    private static let width = 1 << 16

    /// - Parameter entryCount: the number of entries in the cache. The counters are halved after ten times as many uses.
    mutating func note(_ key: Int, entryCount: Int) {
        for row in 0..<4 {
            let index = Self.index(of: key, row)
            if counters[index] < 15 { counters[index] += 1 }
        }
        additionCount += 1
        guard additionCount >= 10 * max(entryCount, 100) else { return }
        additionCount /= 2
        for index in counters.indices { counters[index] /= 2 }
    }

    func frequency(of key: Int) -> UInt8 { (0..<4).map { counters[Self.index(of: key, $0)] }.min() ?? 0 }

    private static func index(of key: Int, _ row: Int) -> Int {
        // Multiplication by odd constants spreads the bits; the high ones are the best.
        let seeds: [UInt64] = [
            0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0xD6E8_FEB8_6659_FD93,
        ]
        let hash = (UInt64(bitPattern: Int64(key)) &+ 1) &* seeds[row]
        return row * width + Int(hash >> 48)
    }
}
