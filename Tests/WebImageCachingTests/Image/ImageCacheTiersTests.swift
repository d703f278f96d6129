import FoundationEssentials
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

/// A change of one tier while there is work on the other.
@Suite(.timeLimit(.minutes(1))) struct ImageCacheTiersTests {
    private let fixture: ImageCacheFixture
    private let key: ImageCacheKey
    private let gate = Gate()

    init() throws {
        fixture = try ImageCacheFixture()
        key = fixture.key
    }

    /// A cache that waits for the gate before it encodes.
    private func gatedCache(backlogByteLimit: Int = .max) -> ImageCache {
        var configuration = ImageCache.Configuration()
        configuration.serializer = { [gate] _, data, _ in
            gate.pass()
            return data
        }
        return ImageCache(
            memory: MemoryCache(costLimit: 1 << 20), disk: fixture.disk.cache(), configuration: configuration,
            backlogByteLimit: backlogByteLimit)
    }

    enum MemoryChange: CaseIterable { case remove, clear, store }

    @Test(arguments: MemoryChange.allCases)
    func changesInMemoryDoNotPreventDiskWrites(_ change: MemoryChange) async throws {
        let cache = gatedCache()
        let png = try solidPNG()
        async let storing: Void = cache.store(try solidImage(), data: png, for: key, in: .all)
        try await gate.reached.wait()
        switch change {
        case .remove: await cache.remove(for: key, from: .memory)
        case .clear: await cache.clear(.memory)
        case .store: await cache.store(try solidImage(2, 1), for: key, in: .memory)
        }
        gate.open()
        try await storing
        #expect(await cache.disk?.data(for: key.source) == png)
        // An image stored in memory since is not removed.
        #expect(cache.image(inMemoryFor: key)?.width == (change == .store ? 2 : nil))
    }

    @Test(arguments: [false, true])
    func changesOnDiskPreventOutdatedDiskWrites(_ clears: Bool) async throws {
        let cache = gatedCache()
        async let storing: Void = cache.store(try solidImage(), data: try solidPNG(), for: key, in: .disk)
        try await gate.reached.wait()
        if clears { await cache.clear(.disk) } else { await cache.remove(for: key, from: .disk) }
        gate.open()
        try await storing
        #expect(await cache.disk?.contains(key.source) == false)
    }

    @Test func damagedDataForMemoryDoesNotAffectTheDisk() async throws {
        let cache = fixture.cache()
        let png = try solidPNG()
        await cache.store(nil, data: png, for: key, in: .disk)
        await cache.store(nil, data: Data("not an image".utf8), for: key, in: .memory)
        #expect(await cache.disk?.data(for: key.source) == png)
        #expect(fixture.reports.codes == [403])
    }

    @Test func thumbnailsDoNotUseTheDataOfTheirOriginal() async throws {
        let cache = fixture.cache()
        var image = try solidImage()
        image.data = try solidPNG(80, 60)
        await cache.store(image, for: key, in: .memory)
        #expect(await cache.data(for: key, in: .memory)?.data == image.data)
        #expect(await cache.image(for: key, in: .memory)?.data == image.data)
        image.isThumbnail = true
        await cache.store(image, for: fixture.thumbnailKey, in: .memory)
        #expect(await cache.data(for: fixture.thumbnailKey, in: .memory) == nil)
        #expect(await cache.image(for: fixture.thumbnailKey, in: .memory)?.data == nil)
    }

    // MARK: The backlog

    private func storeAtOnce(_ image: Image, in cache: ImageCache, for source: String) {
        cache.store(image, data: Data(source.utf8), for: ImageCacheKey(source: source))
    }

    @Test func limitsTheImagesWaitingToBeEncoded() async throws {
        let cache = gatedCache(backlogByteLimit: 500)
        let image = try solidImage(8, 6)
        // 193 bytes each: two fit.
        for source in ["a", "b", "c"] { storeAtOnce(image, in: cache, for: source) }
        async let awaited: Void = cache.store(image, data: Data("d".utf8), for: ImageCacheKey(source: "d"))
        try await gate.reached.wait()
        gate.open()
        await awaited
        for source in ["a", "b"] {
            while await cache.disk?.contains(source) == false, !Task.isCancelled { await Task.yield() }
        }
        #expect(await cache.disk?.contains("c") == false)
        #expect(cache.memory.contains(ImageCacheKey(source: "c")))
        #expect(await cache.disk?.contains("d") == true)
        // Another one fits again.
        while await cache.disk?.contains("c") == false {
            storeAtOnce(image, in: cache, for: "c")
            await cache.disk?.flush()
        }
    }
}
