import Dispatch
import WebImageCaching
import WebImageCore

extension BenchmarkGroup {
    /// The memory cache beside a dictionary behind one lock, which is the least that a thread-safe cache can be: the
    /// dictionary keeps no order of use and no costs.
    static let memoryCache = BenchmarkGroup(name: "memory-cache") { table in
        let entries = try MemoryCacheEntries(count: 10_000)
        let cache = MemoryCache<ImageCacheKey, Image>(costLimit: .max)
        let dictionary = LockedDictionary()
        entries.fill(cache)
        entries.fill(dictionary)
        guard cache.count == entries.keys.count else { throw WrongResult(description: "entries are missing") }

        for threadCount in [1, 2] {
            let suffix = threadCount == 1 ? ", 1 thread" : ", \(threadCount) threads"
            let count = entries.keys.count * MemoryCacheEntries.passCount * threadCount
            try table.compare(
                "memory hit" + suffix, operationCount: count,
                ours: { try entries.find(in: cache, threadCount: threadCount) },
                yardstick: { try entries.find(in: dictionary, threadCount: threadCount) })
            try table.compare(
                "memory miss" + suffix, operationCount: count,
                ours: { try entries.miss(in: cache, threadCount: threadCount) },
                yardstick: { try entries.miss(in: dictionary, threadCount: threadCount) })
            table.compare(
                "memory set" + suffix, operationCount: count,
                ours: { entries.replace(in: cache, threadCount: threadCount) },
                yardstick: { entries.replace(in: dictionary, threadCount: threadCount) })
        }
    }
}

private protocol ImageStoring: Sendable {
    func value(for key: ImageCacheKey) -> Image?
    func set(_ value: Image, for key: ImageCacheKey, cost: Int)
}

extension MemoryCache: ImageStoring where Key == ImageCacheKey, Value == Image {}

private final class LockedDictionary: ImageStoring {
    private let images = Lock<[ImageCacheKey: Image]>([:])

    func value(for key: ImageCacheKey) -> Image? { images.withLock { $0[key] } }

    func set(_ value: Image, for key: ImageCacheKey, cost: Int) {
        let replaced = images.withLock { $0.updateValue(value, forKey: key) }
        withExtendedLifetime(replaced) {}
    }
}

private struct MemoryCacheEntries: Sendable {
    static let passCount = 5

    let keys: [ImageCacheKey]
    let absentKeys: [ImageCacheKey]
    /// Each has its place as its scale, by which a result is verified.
    let images: [Image]

    init(count: Int) throws(WebImageError) {
        func keys(_ folder: String) -> [ImageCacheKey] {
            (0..<count).map { number in
                ImageCacheKey(source: "https://images.example.org/\(folder)/\(number).jpg", variant: "320x240,fill")
            }
        }
        self.keys = keys("stored").shuffled()
        absentKeys = keys("absent").shuffled()
        var images: [Image] = []
        for place in 0..<count {
            let pixels = try MutablePixelBuffer(width: 1, height: 1).freeze(isOpaque: true)
            images.append(Image(pixels: pixels, scale: Double(place)))
        }
        self.images = images
    }

    func fill(_ store: some ImageStoring) {
        for (key, image) in zip(keys, images) { store.set(image, for: key, cost: image.memoryCost) }
    }

    @inline(never)
    func find(in store: some ImageStoring, threadCount: Int) throws {
        let found = onThreads(threadCount) { place in store.value(for: keys[place])?.scale == images[place].scale }
        guard found == keys.count * Self.passCount * threadCount else {
            throw WrongResult(description: "a wrong image")
        }
    }

    @inline(never)
    func miss(in store: some ImageStoring, threadCount: Int) throws {
        let missed = onThreads(threadCount) { place in store.value(for: absentKeys[place]) == nil }
        guard missed == keys.count * Self.passCount * threadCount else { throw WrongResult(description: "a ghost") }
    }

    @inline(never)
    func replace(in store: some ImageStoring, threadCount: Int) {
        _ = onThreads(threadCount) { place in
            store.set(images[place], for: keys[place], cost: 4)
            return true
        }
    }

    /// Calls `body` for each place, several times, on each thread, which start at different ones; how often it was true.
    private func onThreads(_ threadCount: Int, _ body: @Sendable (Int) -> Bool) -> Int {
        let total = Lock(0)
        DispatchQueue.concurrentPerform(iterations: threadCount) { thread in
            let start = keys.count / threadCount * thread
            var count = 0
            for _ in 0..<Self.passCount {
                for place in start..<keys.count where body(place) { count += 1 }
                for place in 0..<start where body(place) { count += 1 }
            }
            total.withLock { $0 += count }
        }
        return total.withLock { $0 }
    }
}
