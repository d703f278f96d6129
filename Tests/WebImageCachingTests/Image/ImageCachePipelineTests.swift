import FoundationEssentials
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

/// The contents of the caches after a pipeline has read and decoded separately.
@Suite(.timeLimit(.minutes(1))) struct ImageCachePipelineTests {
    private let fixture: ImageCacheFixture
    private let cache: ImageCache
    private let key: ImageCacheKey

    init() throws {
        fixture = try ImageCacheFixture()
        cache = fixture.cache()
        key = fixture.key
    }

    private func read(_ key: ImageCacheKey, from cache: ImageCache) async -> StoredImage? {
        await withCheckedContinuation { continuation in
            _ = ImageCacheAdapter(cache).read(key, priority: .normal) { continuation.resume(returning: $0) }
        }
    }

    enum Change: CaseIterable { case none, remove, clear, store }

    private func make(_ change: Change) async throws {
        switch change {
        case .none: break
        case .remove: await cache.remove(for: key)
        case .clear: await cache.clear()
        case .store: await cache.store(nil, data: try solidPNG(2, 2), for: key, in: .disk)
        }
    }

    @Test(arguments: Change.allCases)
    func promotesNoImageChangedSinceItWasRead(_ change: Change) async throws {
        await cache.store(nil, data: try solidPNG(), for: key, in: .disk)
        let stored = try #require(await read(key, from: cache))
        try await make(change)
        // A load that joins now starts to watch too late; the bytes were watched before.
        let watch = cache.watch(key)
        cache.insert(
            try solidImage(), for: key, expiration: stored.expiration, isStored: true,
            unlessChangedSince: [watch, stored.watch])
        #expect(cache.memory.contains(key) == (change == .none))
    }

    @Test func promotesNoVariantRemovedSinceItWasRead() async throws {
        await cache.store(nil, data: try solidPNG(), for: key, in: .disk)
        let watch = cache.watch(fixture.thumbnailKey)
        let stored = try #require(await read(key, from: cache))
        #expect(stored.data == (try solidPNG()))
        await cache.remove(for: fixture.thumbnailKey)
        cache.insert(
            try solidImage(), for: fixture.thumbnailKey, expiration: stored.expiration, isStored: true,
            unlessChangedSince: [watch, stored.watch])
        #expect(cache.memory.count == 0)
    }

    @Test func doesNotReplaceImagesInMemory() async throws {
        await cache.store(nil, data: try solidPNG(), for: key, in: .disk)
        let watch = cache.watch(key)
        let stored = try #require(await read(key, from: cache))
        cache.memory.set(try solidImage(3, 3), for: key)
        cache.insert(
            try solidImage(), for: key, expiration: stored.expiration, isStored: true,
            unlessChangedSince: [watch, stored.watch])
        #expect(cache.image(inMemoryFor: key)?.width == 3)
    }

    @Test(arguments: Change.allCases)
    func discardsDamagedDataOnly(_ change: Change) async throws {
        await cache.store(nil, data: Data("damaged".utf8), for: key, in: .disk)
        let stored = try #require(await read(key, from: cache))
        try await make(change)
        for _ in 0..<2 {
            ImageCacheAdapter(cache).discard(stored, because: .decoding(format: .png, reason: .truncated))
        }
        #expect(await cache.disk?.contains(key.source) == (change == .store))
        #expect(fixture.reports.codes == (change == .none ? [403] : []))
    }

    @Test func promotionKeepsScaleExtendedDataAndExpiration() async throws {
        let memory = MemoryCacheFixture<ImageCacheKey, Image>()
        memory.ticking.set(nanoseconds: fixture.disk.clock.withLock { $0 } * 1_000)
        let cache = ImageCache(memory: memory.cache, disk: fixture.disk.cache())
        var image = try solidImage()
        image.scale = 2
        await cache.store(
            image, data: try solidPNG(), for: key, in: .disk,
            attributes: DiskCache.Attributes(expiration: .after(.seconds(100)), extendedData: Data("mine".utf8)))
        let watch = cache.watch(key)
        let stored = try #require(await read(key, from: cache))
        var decoded = try solidImage()
        stored.describe(&decoded)
        #expect(decoded.scale == 2 && decoded.extendedData == Data("mine".utf8))
        cache.insert(
            decoded, for: key, expiration: stored.expiration, isStored: true, unlessChangedSince: [watch, stored.watch])
        memory.ticking.advance(seconds: 99)
        #expect(cache.image(inMemoryFor: key) != nil)
        memory.ticking.advance(seconds: 2)
        #expect(cache.image(inMemoryFor: key) == nil)
    }

    @Test func storesLoadedImages() async throws {
        let png = try solidPNG()
        ImageCacheAdapter(cache).storeLoaded(try solidImage(), original: change(png), for: key)
        #expect(cache.image(inMemoryFor: key)?.width == 8)
        #expect(await cache.disk?.data(for: key.source) == png)
        ImageCacheAdapter(cache).storeLoaded(
            try solidImage(2, 1), original: change(try solidPNG(3, 3)), for: fixture.thumbnailKey)
        #expect(cache.image(inMemoryFor: fixture.thumbnailKey)?.width == 2)
        #expect(await cache.disk?.data(for: key.source) == (try solidPNG(3, 3)))
        #expect(await cache.disk?.count == 1)
        // Without bytes to store, the disk stays as it is.
        ImageCacheAdapter(cache).storeLoaded(try solidImage(1, 1), original: nil, for: key)
        #expect(cache.image(inMemoryFor: key)?.width == 1)
        #expect(await cache.disk?.data(for: key.source) == (try solidPNG(3, 3)))
    }

    @Test func queriesDoNotRestoreImagesReplacedByALoad() async throws {
        let gate = Gate()
        let cache = fixture.cache(decoder: ProbeDecoder { _ in gate.pass() })
        await cache.store(nil, data: try solidPNG(1, 1), for: key, in: .disk)
        let query = Task { await cache.image(for: key)?.image?.width }
        try await gate.reached.wait()
        ImageCacheAdapter(cache).storeLoaded(
            try solidImage(), original: change(try solidPNG(2, 2)), for: fixture.thumbnailKey)
        gate.open()
        #expect(await query.value == 1)
        #expect(!cache.memory.contains(key))
        #expect(await cache.image(for: key)?.image?.width == 2)
    }

    @Test func storesOnlyFirstFramesInACacheWithoutAnimation() async throws {
        let cache = fixture.cache { $0.allowsAnimated = false }
        let gif = try animatedGIF()
        let animated = try CodecRegistry.builtIn.decode(gif)
        ImageCacheAdapter(cache).storeLoaded(animated, original: change(gif), for: key)
        #expect(cache.image(inMemoryFor: key)?.animation == nil && cache.image(inMemoryFor: key)?.frameCount == 1)
        #expect(cache.memory.value(for: key) == nil)
        cache.memory.removeAll()
        let watch = cache.watch(key)
        let stored = try #require(await read(key, from: cache))
        cache.insert(
            animated, for: key, expiration: stored.expiration, isStored: true,
            unlessChangedSince: [watch, stored.watch])
        #expect(cache.image(inMemoryFor: key)?.frameCount == 1)
        #expect(cache.memory.value(for: key) == nil)
    }
}

private func change(_ data: Data) -> StoredChange { .store(data, responseMetadata: nil) }
