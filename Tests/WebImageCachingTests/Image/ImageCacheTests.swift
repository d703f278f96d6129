import FoundationEssentials
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

@Suite(.timeLimit(.minutes(3))) struct ImageCacheTests {
    private let fixture: ImageCacheFixture
    private let cache: ImageCache
    private let key: ImageCacheKey
    private let thumbnailKey: ImageCacheKey

    init() throws {
        fixture = try ImageCacheFixture()
        cache = fixture.cache()
        (key, thumbnailKey) = (fixture.key, fixture.thumbnailKey)
    }

    // MARK: Storing

    @Test func theCostIsTheByteCountOfTheImage() async throws {
        var image = try solidImage(30, 20)
        image.extendedData = Data(7, of: 1)
        await cache.store(image, for: key, in: .memory)
        #expect(cache.memory.totalCost == 30 * 20 * 4 + 7)
        #expect(cache.image(inMemoryFor: key)?.width == 30)
    }

    @Test(arguments: [ImageCache.Tiers.memory, .disk, .all])
    func storesInTheGivenTiers(_ tiers: ImageCache.Tiers) async throws {
        await cache.store(try solidImage(), data: try solidPNG(), for: key, in: tiers)
        #expect(cache.memory.contains(key) == tiers.contains(.memory))
        #expect(await cache.disk?.contains(key.description) == tiers.contains(.disk))
        #expect(await cache.tier(holding: key) == (tiers.contains(.memory) ? .memory : .disk))
        #expect(await cache.tier(holding: key, in: .memory) == (tiers.contains(.memory) ? .memory : nil))
        #expect(await cache.tier(holding: key, in: .disk) == (tiers.contains(.disk) ? .disk : nil))
        #expect(await cache.contains(key, in: tiers))
        #expect(await !cache.contains(key, in: []))
    }

    @Test func findsStoredImagesImmediately() async throws {
        let data = try solidPNG()
        storeAtOnce(try solidImage(), data)
        #expect(cache.image(inMemoryFor: key) != nil)
        #expect(await cache.data(for: key, in: .disk)?.data == data)
    }

    private func storeAtOnce(_ image: Image?, _ data: Data?) { cache.store(image, data: data, for: key) }

    @Test func storesDataUnchanged() async throws {
        let data = try solidPNG() + Data("behind the end".utf8)
        await cache.store(try solidImage(), data: data, for: key)
        #expect(await cache.disk?.data(for: key.source) == data)
        cache.memory.removeAll()
        let result = await cache.image(for: key)
        #expect(result?.data == data && result?.tier == .disk)
    }

    @Test func storesAVariantSeparatelyFromItsOriginal() async throws {
        await cache.store(try solidImage(3, 2), for: thumbnailKey)
        #expect(await cache.image(for: key) == nil)
        await cache.store(try solidImage(30, 20), for: key)
        #expect(cache.image(inMemoryFor: thumbnailKey)?.width == 3)
        #expect(cache.image(inMemoryFor: key)?.width == 30)
    }

    @Test func writesAVariantToDiskOnlyIfRequested() async throws {
        let original = try solidPNG(30, 20)
        await cache.store(nil, data: original, for: key)
        await cache.store(try solidImage(3, 2), for: thumbnailKey)
        #expect(await cache.disk?.count == 1)
        await cache.store(try solidImage(3, 2), for: thumbnailKey, in: .all)
        #expect(await cache.disk?.count == 2)
        #expect(await cache.disk?.contains("http://example.org/a.png#thumb") == true)
        #expect(await cache.disk?.data(for: key.source) == original)
        cache.memory.removeAll()
        #expect(await cache.image(for: thumbnailKey)?.image?.width == 3)
    }

    @Test func decodesDataStoredWithoutAnImage() async throws {
        await cache.store(nil, data: try solidPNG(), for: key)
        #expect(cache.image(inMemoryFor: key)?.width == 8)
        #expect(await cache.disk?.contains(key.source) == true)
    }

    @Test func doesNotStoreDataThatIsNotAnImage() async throws {
        await cache.store(nil, data: Data("not an image".utf8), for: key)
        #expect(await cache.tier(holding: key) == nil)
        #expect(fixture.reports.codes == [403])
    }

    @Test func doesNotStorePartialImages() async throws {
        let data = try solidPNG()
        await cache.store(try solidImage(), data: data, for: key)
        var partial = try solidImage(2, 2)
        partial.isPartial = true
        await cache.store(partial, data: Data(3, of: 1), for: key)
        #expect(cache.image(inMemoryFor: key)?.width == 8)
        #expect(await cache.disk?.data(for: key.source) == data)
    }

    @Test func theLastOfConcurrentStoresWins() async throws {
        let gate = Gate()
        let cache = fixture.cache { configuration in
            configuration.serializer = { _, data, _ in
                gate.pass()
                return data
            }
        }
        // The second store starts while the first is in progress.
        async let first: Void = cache.store(try solidImage(1, 1), data: Data(1, of: 1), for: key, in: .disk)
        try await gate.reached.wait()
        let data = try solidPNG()
        await cache.store(nil, data: data, for: key, in: .disk)
        gate.open()
        try await first
        #expect(await cache.data(for: key)?.data == data)
    }

    // MARK: Looking up

    @Test func lookUpsFillMemoryOnlyIfTheyIncludeIt() async throws {
        await cache.store(nil, data: try solidPNG(30, 20), for: key, in: .disk)
        #expect(await cache.image(for: key, in: .memory) == nil)
        #expect(await cache.image(for: key, in: .disk)?.image?.width == 30)
        #expect(cache.memory.count == 0)
        #expect(await cache.image(for: key, in: .all)?.tier == .disk)
        #expect(cache.memory.totalCost == 30 * 20 * 4)
        #expect(await cache.image(for: key, in: .all)?.tier == .memory)
        #expect(await cache.image(for: key, in: .disk)?.tier == .disk)
    }

    @Test func storesScaleAndExtendedData() async throws {
        var image = try solidImage()
        image.scale = 2
        image.isTransformed = true
        await cache.store(
            image, data: try solidPNG(), for: key,
            attributes: DiskCache.Attributes(extendedData: Data("mine".utf8), responseMetadata: Data("etag".utf8)))
        let inMemory = await cache.image(for: key)
        #expect(inMemory?.attributes.extendedData == Data("mine".utf8))

        cache.memory.removeAll()
        let onDisk = await cache.image(for: key)
        #expect(onDisk?.tier == .disk)
        #expect(onDisk?.image?.scale == 2)
        #expect(onDisk?.image?.size == PointSize(width: 4, height: 3))
        #expect(onDisk?.image?.isTransformed == true)
        #expect(onDisk?.image?.extendedData == Data("mine".utf8))
        #expect(onDisk?.attributes.extendedData == Data("mine".utf8))
        #expect(onDisk?.attributes.responseMetadata == Data("etag".utf8))
        #expect(await cache.image(for: key)?.attributes.extendedData == Data("mine".utf8))
    }

    @Test func returnsDataWithoutDecoding() async throws {
        let decoder = ProbeDecoder()
        let cache = fixture.cache(decoder: decoder)
        let data = try solidPNG()
        await cache.store(nil, data: data, for: key, in: .disk)
        let result = await cache.data(for: key)
        #expect(result?.data == data && result?.image == nil && result?.tier == .disk)
        #expect(decoder.callCount == 0 && cache.memory.count == 0)
        #expect(await cache.data(for: key, in: .memory) == nil)
    }

    @Test func worksWithoutADisk() async throws {
        let cache = fixture.cache(hasDisk: false)
        await cache.store(try solidImage(), data: try solidPNG(), for: key)
        #expect(await cache.image(for: key)?.tier == .memory)
        #expect(await cache.image(for: key, in: .disk) == nil)
        await cache.remove(for: key)
        #expect(await cache.tier(holding: key) == nil)
        await cache.clear()
    }

    @Test func supportsBlockingCallers() throws {
        let data = try solidPNG()
        cache.store(nil, data: data, for: key, in: .disk)
        #expect(cache.blockingTier(holding: key) == .disk)
        #expect(cache.blockingData(for: key)?.data == data)
        #expect(cache.blockingImage(for: key, in: .disk)?.image?.width == 8)
        #expect(cache.memory.count == 0)
        #expect(cache.blockingImage(for: key)?.tier == .disk)
        #expect(cache.blockingImage(for: key)?.tier == .memory)
        #expect(cache.blockingTier(holding: key) == .memory)
        cache.remove(for: key)
        #expect(cache.blockingImage(for: key) == nil && cache.blockingData(for: key) == nil)
        #expect(cache.blockingTier(holding: key) == nil)
    }

    @Test func hasDefaults() {
        let memory = ImageCache(disk: nil).memory
        #expect(memory.costLimit == MemoryBudget.defaultImageCost())
        #expect(memory.ageLimit == .seconds(12 * 3_600))
    }

    @Test func findsEvictedImagesStillInUse() async throws {
        var configuration = MemoryCache<ImageCacheKey, Image>.Configuration.images
        configuration.findsLivingImages = true
        let cache = ImageCache(memory: MemoryCache(configuration: configuration), disk: nil)
        let shown = try solidImage()
        await cache.store(shown, for: key)
        cache.memory.trim(toCost: 0)
        #expect(cache.image(inMemoryFor: key)?.pixels === shown.pixels)
        await cache.remove(for: key)
        #expect(cache.image(inMemoryFor: key) == nil)
    }

    @Test(arguments: [ImageCache.Tiers.memory, .disk, .all])
    func imagesExpireInBothTiers(_ tiers: ImageCache.Tiers) async throws {
        let memory = MemoryCacheFixture<ImageCacheKey, Image>()
        memory.ticking.set(nanoseconds: fixture.disk.clock.withLock { $0 } * 1_000)
        let cache = ImageCache(memory: memory.cache, disk: fixture.disk.cache())
        func advance(seconds: Double) {
            memory.ticking.advance(seconds: seconds)
            fixture.disk.advance(seconds: seconds)
        }
        let attributes = DiskCache.Attributes(expiration: .after(.seconds(100)))
        await cache.store(try solidImage(), data: try solidPNG(), for: key, in: tiers, attributes: attributes)
        #expect(await cache.image(for: key) != nil)
        advance(seconds: 99)
        // In memory it has its remaining lifetime, also after it was read from the disk.
        #expect(await cache.image(for: key)?.tier == .memory)
        advance(seconds: 2)
        #expect(await cache.image(for: key) == nil)
        #expect(await cache.tier(holding: key) == nil)
    }

    @Test func memoryUsesItsOwnExpirationIfTheDiskHasNone() async throws {
        let memory = MemoryCacheFixture<ImageCacheKey, Image> { $0.expiration = .after(.seconds(100)) }
        let cache = ImageCache(memory: memory.cache, disk: fixture.disk.cache())
        await cache.store(try solidImage(), data: try solidPNG(), for: key)
        for _ in 0..<2 {
            #expect(await cache.image(for: key)?.tier == .memory)
            memory.ticking.advance(seconds: 101)
            // Promoted from the disk into memory for another 100 seconds.
            #expect(await cache.image(for: key)?.tier == .disk)
        }
    }

    // MARK: Removing

    @Test(arguments: [ImageCache.Tiers.memory, .disk, .all])
    func removesFromTheGivenTiers(_ tiers: ImageCache.Tiers) async throws {
        await cache.store(try solidImage(), data: try solidPNG(), for: key)
        await cache.store(try solidImage(), for: thumbnailKey, in: .all)
        await cache.remove(for: key, from: tiers)
        #expect(cache.memory.contains(key) == !tiers.contains(.memory))
        #expect(await cache.disk?.contains(key.source) == !tiers.contains(.disk))
        #expect(await cache.tier(holding: thumbnailKey, in: .memory) == .memory)
        #expect(await cache.tier(holding: thumbnailKey, in: .disk) == .disk)
    }

    @Test(arguments: [ImageCache.Tiers.memory, .disk, .all])
    func clearsTheGivenTiers(_ tiers: ImageCache.Tiers) async throws {
        await cache.store(try solidImage(), data: try solidPNG(), for: key)
        await cache.clear(tiers)
        #expect(cache.memory.count == (tiers.contains(.memory) ? 0 : 1))
        #expect(await cache.disk?.count == (tiers.contains(.disk) ? 0 : 1))
    }

    @Test func reportsTheProgressOfClearing() async throws {
        for number in 0..<10 {
            await cache.store(nil, data: Data(10, of: 1), for: ImageCacheKey(source: "\(number)"), in: .disk)
        }
        let last = LockBox((0, 0))
        await cache.clear { removed, total in last.withLock { $0 = (removed, total) } }
        #expect(last.withLock { $0 } == (10, 10))
        #expect(await cache.disk?.count == 0)
    }
}
