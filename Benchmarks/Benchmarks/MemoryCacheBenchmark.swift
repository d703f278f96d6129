import WebImageCaching
import WebImageCore

/// What both contestants do.
protocol ImageStoring: Sendable {
    func value(for key: ImageCacheKey) -> Image?
    func set(_ value: Image, for key: ImageCacheKey, cost: Int)
}

extension MemoryCache: ImageStoring where Key == ImageCacheKey, Value == Image {}

/// The yardstick: the least a thread-safe cache can be.
final class LockedDictionary: ImageStoring {
    private let images = Lock<[ImageCacheKey: Image]>([:])

    func value(for key: ImageCacheKey) -> Image? { images.withLock { $0[key] } }
    func set(_ value: Image, for key: ImageCacheKey, cost: Int) { images.withLock { $0[key] = value } }
}

struct MemoryCacheBenchmark {
    static let entryCount = 10_000
    let keys: [ImageCacheKey]
    let absentKeys: [ImageCacheKey]
    let images: [Image]

    init() throws {
        func key(_ number: Int, _ name: String) -> ImageCacheKey {
            ImageCacheKey(
                source: "https://images.example.org/photos/2026/\(name)/\(number).jpg", variant: "320x240,fill")
        }
        keys = (0..<Self.entryCount).shuffled().map { key($0, "stored") }
        absentKeys = (0..<Self.entryCount).map { key($0, "absent") }
        images = try (0..<Self.entryCount).map { number in
            Image(
                pixels: try MutablePixelBuffer(width: 1, height: 1).freeze(isOpaque: true),
                scale: Double(number))
        }
    }

    func fill(_ store: some ImageStoring) {
        for (key, image) in zip(keys, images) { store.set(image, for: key, cost: 4) }
    }

    @inline(never)
    func hits(_ store: some ImageStoring, rounds: Int, start: Int) -> Int {
        var found = 0
        for _ in 0..<rounds {
            for offset in 0..<keys.count {
                let index = (start + offset) % keys.count
                if let image = store.value(for: keys[index]), image.scale == images[index].scale { found += 1 }
            }
        }
        return found
    }

    @inline(never)
    func misses(_ store: some ImageStoring, rounds: Int, start: Int) -> Int {
        var missed = 0
        for _ in 0..<rounds {
            for offset in 0..<absentKeys.count
            where store.value(for: absentKeys[(start + offset) % absentKeys.count]) == nil {
                missed += 1
            }
        }
        return missed
    }

    @inline(never)
    func sets(_ store: some ImageStoring, rounds: Int, start: Int) -> Int {
        for _ in 0..<rounds {
            for offset in 0..<keys.count {
                let index = (start + offset) % keys.count
                store.set(images[index], for: keys[index], cost: 4)
            }
        }
        return rounds * keys.count
    }

    @inline(never)
    func inserts(_ store: some ImageStoring) -> Int {
        fill(store)
        return keys.count
    }
}
