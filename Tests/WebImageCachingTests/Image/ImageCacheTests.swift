import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

@Suite struct ImageCacheTests {
    private let fixture: DiskFixture
    private let cache: ImageCache
    private let key = ImageCacheKey(source: "http://example.org/a.jpg")
    private let thumbnailKey = ImageCacheKey(source: "http://example.org/a.jpg", variant: "thumb")

    init() throws {
        fixture = try DiskFixture()
        cache = ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: fixture.cache())
    }

    private func image(_ width: Int, _ height: Int) throws -> Image {
        Image(pixels: try MutablePixelBuffer(width: width, height: height).freeze(isOpaque: false))
    }

    @Test func costsAPictureItsBytes() throws {
        let image = try image(30, 20)
        cache.store(image, for: key)
        #expect(cache.memory.totalCost == image.memoryCost)
        #expect(image.memoryCost >= 30 * 20 * 4)
        #expect(cache.image(inMemoryFor: key)?.pixels.width == 30)
    }

    @Test func keepsAVariantApartFromItsOriginal() throws {
        cache.store(try image(3, 2), for: thumbnailKey)
        #expect(cache.image(inMemoryFor: key) == nil)
        cache.store(try image(30, 20), for: key)
        #expect(cache.image(inMemoryFor: thumbnailKey)?.width == 3)
        #expect(cache.image(inMemoryFor: key)?.width == 30)
    }

    @Test func removesFromMemoryAndDisk() async throws {
        cache.store(try image(3, 2), for: key)
        cache.store(try image(3, 2), for: thumbnailKey)
        await cache.disk?.storeNow(Data(10, of: 1), for: key.source)
        await cache.remove(for: key)
        #expect(cache.image(inMemoryFor: key) == nil)
        #expect(cache.image(inMemoryFor: thumbnailKey) != nil)
        #expect(await cache.disk?.data(for: key.source) == nil)
    }

    @Test func removingAVariantTakesItsOriginalFromTheDisk() async throws {
        cache.store(try image(30, 20), for: key)
        cache.store(try image(3, 2), for: thumbnailKey)
        await cache.disk?.storeNow(Data(10, of: 1), for: key.source)
        await cache.remove(for: thumbnailKey)
        #expect(cache.image(inMemoryFor: thumbnailKey) == nil)
        #expect(cache.image(inMemoryFor: key) != nil)
        #expect(await cache.disk?.data(for: key.source) == nil)
    }

    @Test func emptiesMemoryAndDisk() async throws {
        cache.store(try image(3, 2), for: key)
        await cache.disk?.storeNow(Data(10, of: 1), for: key.source)
        await cache.removeAll()
        #expect(cache.memory.count == 0)
        #expect(await cache.disk?.count == 0)
    }
}
