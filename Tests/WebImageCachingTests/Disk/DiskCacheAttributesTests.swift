import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImageCaching

@Suite struct DiskCacheAttributesTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    private let attributes = DiskCache.Attributes(
        expiration: .seconds(100), extendedData: Data(3, of: 7), responseMetadata: Data(5, of: 9))

    @Test(arguments: [false, true]) func keepsAttributesBesideTheBytes(isWritten: Bool) async throws {
        let cache = fixture.cache()
        cache.store(Data(10, of: 1), for: "key", attributes: attributes)
        if isWritten { await cache.flush() }
        let item = try #require(await (isWritten ? fixture.cache() : cache).item(for: "key"))
        #expect(item.data == Data(10, of: 1))
        #expect(item.entry.key == "key")
        #expect(item.entry.byteCount == 10)
        #expect(item.entry.extendedData == Data(3, of: 7))
        #expect(item.entry.responseMetadata == Data(5, of: 9))
        #expect(item.entry.expires == item.entry.created.addingTimeInterval(100))
        let entry = try #require(await cache.entry(for: "key"))
        #expect(entry.extendedData == Data(3, of: 7))
        #expect(entry.responseMetadata == Data(5, of: 9))
    }

    @Test(arguments: [false, true]) func anUpdateLeavesTheTimeWhenTheBytesWereStored(isWritten: Bool) async throws {
        let cache = fixture.cache()
        let other = try await lockedIndex(of: cache)
        cache.store(Data(10, of: 1), for: "key")
        let created = try #require(await cache.entry(for: "key")).created
        fixture.advance(seconds: 10)
        cache.update(attributes, for: "key")
        try other.execute("COMMIT")
        if isWritten { await cache.flush() }
        let entry = try #require(await cache.entry(for: "key"))
        #expect(entry.created == created)
        #expect(entry.modified == created.addingTimeInterval(10))
        #expect(entry.extendedData == attributes.extendedData)
    }

    /// Whoever holds it keeps changes waiting until it commits.
    private func lockedIndex(of cache: DiskCache) async throws -> SQLiteConnection {
        await cache.flush()
        let other = try SQLiteConnection(path: fixture.indexPath, creates: false, busyTimeoutMilliseconds: 1_000)
        try other.execute("BEGIN IMMEDIATE")
        return other
    }

    @Test func replacingAValueDropsWhatWasKeptBesideIt() async throws {
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "key", attributes: attributes)
        await cache.storeNow(Data(10, of: 2), for: "key")
        let entry = try #require(await cache.entry(for: "key"))
        #expect(entry.extendedData == nil)
        #expect(entry.responseMetadata == nil)
        #expect(entry.expires == nil)
        let index = try SQLiteConnection(path: fixture.indexPath, creates: false, busyTimeoutMilliseconds: 1_000)
        #expect(try index.integer("SELECT count(*) FROM attachment") == 0)
    }

    @Test(arguments: [false, true]) func anUpdateKeepsTheBytes(isWritten: Bool) async throws {
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "key", attributes: attributes)
        fixture.advance(seconds: 150)
        #expect(await cache.data(for: "key") == nil)
        cache.update(DiskCache.Attributes(expiration: .seconds(50), responseMetadata: Data(1, of: 1)), for: "key")
        if isWritten { await cache.flush() }
        let item = try #require(await cache.item(for: "key"))
        #expect(item.data == Data(10, of: 1))
        #expect(item.entry.extendedData == nil)
        #expect(item.entry.responseMetadata == Data(1, of: 1))
        #expect(await cache.contains("key"))
        if isWritten { #expect(item.entry.modified.timeIntervalSince(item.entry.created) == 150) }
        fixture.advance(seconds: 51)
        #expect(await cache.data(for: "key") == nil)
    }

    @Test func anUpdateOfAValueThatWaitsReachesTheDiskWithIt() async throws {
        let cache = fixture.cache()
        cache.store(Data(10, of: 1), for: "key")
        cache.update(attributes, for: "key")
        await cache.flush()
        #expect(await fixture.cache().item(for: "key")?.entry.extendedData == Data(3, of: 7))
    }

    @Test(arguments: [false, true])
    func anUpdateForSomeBytesLeavesThoseOfAnotherProcess(isWritten: Bool) async throws {
        let (cache, other) = (fixture.cache(), fixture.cache())
        await cache.storeNow(Data(10, of: 1), for: "key", attributes: attributes)
        if isWritten {
            await other.storeNow(Data(10, of: 2), for: "key")
        } else {
            cache.store(Data(10, of: 2), for: "key")
        }
        cache.update(attributes, of: BytesMark(Data(10, of: 1)), for: "key")
        await cache.flush()
        let item = try #require(await fixture.cache().item(for: "key"))
        #expect(item.data == Data(10, of: 2))
        #expect(item.entry.extendedData == nil)
        cache.update(attributes, of: BytesMark(Data(10, of: 2)), for: "key")
        await cache.flush()
        #expect(await fixture.cache().item(for: "key")?.entry.extendedData == Data(3, of: 7))
    }

    @Test func anUpdateDropsWhatItDoesNotName() async throws {
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "key", attributes: attributes)
        cache.update(DiskCache.Attributes(), for: "key")
        await cache.flush()
        let entry = try #require(await cache.entry(for: "key"))
        #expect(entry.extendedData == nil)
        #expect(entry.expires == nil)
        let index = try SQLiteConnection(path: fixture.indexPath, creates: false, busyTimeoutMilliseconds: 1_000)
        #expect(try index.integer("SELECT count(*) FROM attachment") == 0)
    }

    @Test func anUpdateOfNothingMakesNothing() async throws {
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "removed")
        cache.remove(for: "removed")
        cache.update(attributes, for: "removed")
        cache.update(attributes, for: "key")
        #expect(await !cache.contains("key"))
        #expect(await cache.count == 0)
        #expect(await cache.entry(for: "removed") == nil)
    }

    @Test func attributesThatAreTooLargeAreRefusedWithAReport() async throws {
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "key")
        let large = DiskCache.Attributes(extendedData: Data(1 << 20, of: 0), responseMetadata: Data(1, of: 0))
        cache.update(large, for: "key")
        await cache.flush()
        #expect(await cache.data(for: "key") == Data(10, of: 1))
        await cache.storeNow(Data(10, of: 2), for: "key", attributes: large)
        #expect(await cache.data(for: "key") == nil)
        #expect(fixture.reported == [.attributesTooLarge(byteCount: 1 << 20 | 1, limit: 1 << 20)])
        await cache.storeNow(
            Data(10, of: 3), for: "key", attributes: DiskCache.Attributes(extendedData: Data(1 << 20, of: 0)))
        #expect(await cache.item(for: "key")?.entry.extendedData?.count == 1 << 20)
    }

    // MARK: Expiration

    @Test(arguments: [false, true]) func anExpiredEntryIsNotFoundAnyMore(isWritten: Bool) async {
        let cache = fixture.cache()
        cache.store(Data(10, of: 1), for: "key", attributes: DiskCache.Attributes(expiration: .seconds(10)))
        cache.store(Data(10, of: 2), for: "other")
        if isWritten { await cache.flush() }
        fixture.advance(seconds: 9)
        #expect(await cache.data(for: "key") != nil)
        fixture.advance(seconds: 2)
        #expect(await cache.data(for: "key") == nil)
        #expect(await cache.item(for: "key") == nil)
        #expect(await cache.entry(for: "key") == nil)
        #expect(await !cache.contains("key"))
        #expect(await cache.data(for: "other") != nil)
    }

    @Test func theConfigurationSaysWhenOtherEntriesExpire() async {
        let cache = fixture.cache { $0.expiration = .seconds(10) }
        await cache.storeNow(Data(10, of: 1), for: "standard")
        await cache.storeNow(Data(10, of: 1), for: "never", attributes: DiskCache.Attributes(expiration: .never))
        fixture.advance(seconds: 11)
        #expect(await cache.data(for: "standard") == nil)
        #expect(await cache.data(for: "never") != nil)
    }

    @Test func removesExpiredEntriesOnly() async {
        let cache = fixture.cache()
        for number in 0..<200 {
            let expiration = CacheExpiration.seconds(number % 2 == 0 ? 10 : 1_000)
            cache.store(Data(10, of: 1), for: "\(number)", attributes: DiskCache.Attributes(expiration: expiration))
        }
        await cache.flush()
        fixture.advance(seconds: 11)
        #expect(await cache.count == 200)
        await cache.removeExpired()
        #expect(await cache.count == 100)
        #expect(await cache.statistics().evictions == 100)
    }

    @Test(arguments: [false, true]) func usesPutAnExpirationOff(isWritten: Bool) async {
        let cache = fixture.cache { $0.expirationExtension = .original }
        cache.store(Data(10, of: 1), for: "key", attributes: DiskCache.Attributes(expiration: .seconds(10)))
        if isWritten { await cache.flush() }
        for _ in 0..<3 {
            fixture.advance(seconds: 8)
            #expect(await cache.data(for: "key") != nil)
        }
        await cache.flush()
        let other = fixture.cache()
        fixture.advance(seconds: 8)
        #expect(await other.data(for: "key") != nil)
        fixture.advance(seconds: 8)
        #expect(await other.data(for: "key") == nil)
    }

    @Test func usesLeaveAnExpirationAloneByDefault() async {
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "key", attributes: DiskCache.Attributes(expiration: .seconds(10)))
        fixture.advance(seconds: 8)
        #expect(await cache.data(for: "key") != nil)
        fixture.advance(seconds: 3)
        #expect(await cache.data(for: "key") == nil)
    }
}
