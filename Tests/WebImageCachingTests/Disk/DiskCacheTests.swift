import Dispatch
import FoundationEssentials
import Glibc
import Testing
import WebImageTestSupport

@testable import WebImageCaching

@Suite(.timeLimit(.minutes(3))) struct DiskCacheTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    @Test(arguments: [0, 1, 20_480, 20_481, 300_000])
    func returnsTheStoredBytes(byteCount: Int) async throws {
        let data = Data((0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        do {
            let cache = fixture.cache()
            await cache.storeNow(data, for: "key")
            #expect(await cache.data(for: "key") == data)
            #expect(await cache.data(for: "other") == nil)
        }
        #expect(await fixture.cache().data(for: "key") == data)
        #expect(fixture.reported.isEmpty)
    }

    @Test func storesSmallValuesInOneFileAndLargeOnesInSeparateFiles() async {
        let cache = fixture.cache(fileThreshold: 1_000)
        await cache.storeNow(Data(1_000, of: 1), for: "small")
        await cache.storeNow(Data(1_000, of: 1), for: "small too")
        #expect(fixture.valueFiles.isEmpty)
        #expect(fixture.segmentFiles.count == 1)
        await cache.storeNow(Data(1_001, of: 2), for: "large")
        #expect(fixture.valueFiles.count == 1)
    }

    @Test func theDefaultDirectoryHasTheNameOfTheProgram() throws {
        let program = try #require(CommandLine.arguments.first?.split(separator: "/").last)
        let (own, other) = (
            DiskCache.Configuration.defaultDirectory(), DiskCache.Configuration.defaultDirectory(application: "a b")
        )
        #expect(own.pathComponents.suffix(2) == [String(program), "images"])
        #expect(other.pathComponents.suffix(2) == ["a b", "images"])
        #expect(own.pathComponents.dropLast(2) == other.pathComponents.dropLast(2))
        #expect(DiskCache.Configuration().directory == own)
    }

    @Test func onlyTheOwnerCanAccessTheDirectory() async {
        let cache = fixture.cache()
        await cache.storeNow(Data(30_000, of: 1), for: "key")
        for path in [fixture.directory] + fixture.valueFiles + fixture.segmentFiles {
            var status = stat()
            #expect(stat(path, &status) == 0)
            #expect(status.st_mode & 0o077 == 0)
        }
    }

    @Test func onlyTheOwnerCanAccessTheFilesInAPublicDirectory() async {
        mkdir(fixture.directory, 0o755)
        let cache = fixture.cache()
        await cache.storeNow(Data(30_000, of: 1), for: "key")
        await cache.storeNow(Data(10, of: 1), for: "small")
        let names = DiskDirectory.names(in: fixture.directory)
        #expect(Set(names).isSuperset(of: ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "lock"]))
        for path in names.map({ "\(fixture.directory)/\($0)" }) + fixture.valueFiles + fixture.segmentFiles {
            var status = stat()
            #expect(stat(path, &status) == 0)
            #expect(status.st_mode & 0o077 == 0)
        }
    }

    @Test(arguments: [(10, 20), (10, 50_000), (50_000, 10), (50_000, 60_000)])
    func replacesAValueAndItsFile(old: Int, new: Int) async {
        let cache = fixture.cache()
        await cache.storeNow(Data(old, of: 1), for: "key")
        await cache.storeNow(Data(new, of: 2), for: "key")
        #expect(await cache.data(for: "key") == Data(new, of: 2))
        #expect(await cache.count == 1)
        #expect(await cache.totalSize == Int64(new))
        #expect(fixture.valueFiles.count == (new > 20_480 ? 1 : 0))
    }

    @Test func removesAValueAndItsFile() async {
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "small")
        await cache.storeNow(Data(50_000, of: 2), for: "large")
        cache.remove(for: "small")
        cache.remove(for: "large")
        cache.remove(for: "none")
        #expect(await cache.data(for: "small") == nil)
        #expect(await cache.data(for: "large") == nil)
        #expect(await cache.count == 0)
        #expect(await cache.totalSize == 0)
        #expect(fixture.valueFiles.isEmpty)
    }

    @Test func removeAllRemovesEarlierEntriesOnly() async {
        let cache = fixture.cache()
        for number in 0..<50 { cache.store(Data(number * 1_000, of: 1), for: "\(number)") }
        await cache.removeAll()
        #expect(await cache.count == 0)
        #expect(fixture.valueFiles.isEmpty)
        cache.store(Data(10, of: 2), for: "after")
        #expect(await cache.count == 1)
        #expect(await cache.data(for: "0") == nil)
        #expect(await cache.data(for: "after") == Data(10, of: 2))
    }

    @Test func distinguishesKeysWithTheSameHash() async throws {
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "one")
        let other = try SQLiteConnection(path: fixture.indexPath, creates: false, busyTimeoutMilliseconds: 1_000)
        try other.execute("UPDATE entry SET hash = \("two".diskHash)")
        #expect(await cache.data(for: "two") == nil)
        #expect(await !cache.contains("two"))
        await cache.storeNow(Data(10, of: 2), for: "two")
        #expect(await cache.data(for: "two") == Data(10, of: 2))
        #expect(await cache.count == 1)
    }

    @Test func acceptsAnyKey() async {
        let cache = fixture.cache()
        let keys = ["", "a\0b", "a\0c", "../../etc/passwd", String(repeating: "long", count: 10_000), "ключ 🔑"]
        for (number, key) in keys.enumerated() { cache.store(Data(30_000, of: UInt8(number)), for: key) }
        await cache.flush()
        for (number, key) in keys.enumerated() {
            #expect(await cache.data(for: key) == Data(30_000, of: UInt8(number)))
        }
    }

    @Test func listsEntriesPageByPage() async {
        let cache = fixture.cache()
        for number in 0..<25 {
            fixture.advance(seconds: 1)
            await cache.storeNow(Data(number, of: 0), for: "key \(number)")
        }
        fixture.advance(seconds: 100)
        _ = await cache.data(for: "key 7")
        await cache.flush()
        var listed: [DiskCache.Entry] = []
        while true {
            let page = await cache.entries(after: listed.last, limit: 10)
            if page.isEmpty { break }
            #expect(page.count <= 10)
            listed += page
        }
        #expect(listed.map(\.key) == (0..<25).map { "key \($0)" })
        #expect(listed.map(\.byteCount) == Array(0..<25))
        #expect(listed[7].lastAccess.timeIntervalSince(listed[7].created) > 100)
        #expect(listed[8].lastAccess == listed[8].created)
    }

    @Test func findsAValueBeforeItIsWritten() async throws {
        let cache = fixture.cache()
        await cache.storeNow(Data(1, of: 0), for: "other")
        // While another connection holds the write lock, nothing can reach the disk.
        let other = try SQLiteConnection(path: fixture.indexPath, creates: false, busyTimeoutMilliseconds: 1_000)
        try other.execute("BEGIN IMMEDIATE")
        cache.store(Data(10, of: 1), for: "key")
        #expect(await cache.data(for: "key") == Data(10, of: 1))
        #expect(await cache.contains("key"))
        cache.store(Data(20, of: 2), for: "key")
        #expect(await cache.data(for: "key") == Data(20, of: 2))
        cache.remove(for: "key")
        #expect(await cache.data(for: "key") == nil)
        cache.remove(for: "other")
        #expect(await cache.data(for: "other") == nil)
        cache.store(Data(30, of: 3), for: "key")
        try other.execute("COMMIT")
        await cache.flush()
        #expect(await cache.data(for: "key") == Data(30, of: 3))
        #expect(await !cache.contains("other"))
    }

    @Test func limitsTheBytesWaitingToBeWritten() async throws {
        let cache = fixture.cache(stagedByteLimit: 100_000)
        await cache.storeNow(Data(10, of: 0), for: "third")
        let other = try SQLiteConnection(path: fixture.indexPath, creates: false, busyTimeoutMilliseconds: 1_000)
        try other.execute("BEGIN IMMEDIATE")
        cache.store(Data(150_000, of: 1), for: "first")
        cache.store(Data(10, of: 2), for: "second")
        cache.store(Data(10, of: 3), for: "third")
        try other.execute("COMMIT")
        await cache.flush()
        #expect(await cache.data(for: "first") == Data(150_000, of: 1))
        #expect(await cache.data(for: "second") == nil)
        // Neither the new value nor the replaced one is found.
        #expect(await cache.data(for: "third") == nil)
    }

    @Test func writesManyValuesInFewTransactions() async throws {
        let cache = fixture.cache()
        await cache.storeNow(Data(), for: "first")
        let other = try SQLiteConnection(path: fixture.indexPath, creates: false, busyTimeoutMilliseconds: 1_000)
        try other.execute("BEGIN IMMEDIATE")
        for number in 0..<200 { cache.store(Data(10, of: 1), for: "\(number)") }
        try other.execute("COMMIT")
        await cache.flush()
        #expect(await cache.count == 201)
        // A transaction writes at least four pages of 16 KiB to the log: one for each value would make 12 MiB.
        var status = stat()
        #expect(stat("\(fixture.indexPath)-wal", &status) == 0)
        #expect(status.st_size < 2 << 20)
    }

    @Test func aCancelledLookUpReturnsNothing() async throws {
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "key")
        // Block every thread of the pool, so that later work has to wait.
        let (held, gate) = (Countdown(DiskCache.threadCount), DispatchSemaphore(value: 0))
        for _ in 0..<DiskCache.threadCount {
            cache.onReadingThread(priority: .veryHigh) {
                held.signal()
                _ = gate.wait(timeout: .now() + 30)
            }
        }
        try await held.wait()
        let answers = Countdown(1)
        let item = cache.onReadingThread(priority: .normal) { answers.signal() }
        #expect(item.cancel())
        for _ in 0..<DiskCache.threadCount { gate.signal() }

        let last = Countdown(DiskCache.threadCount)
        for _ in 0..<DiskCache.threadCount { cache.onReadingThread(priority: .low) { last.signal() } }
        try await last.wait()
        #expect(answers.remaining == 1)
    }

    @Test func twoCachesShareADirectory() async {
        let (first, second) = (fixture.cache(), fixture.cache())
        await withTaskGroup { group in
            for (cache, name) in [(first, "first"), (second, "second")] {
                group.addTask {
                    for number in 0..<200 {
                        cache.store(Data(number * 200, of: UInt8(number)), for: "\(name) \(number)")
                        if number % 20 == 0 { await cache.flush() }
                    }
                    await cache.flush()
                }
            }
        }
        for number in 0..<200 {
            let expected = Data(number * 200, of: UInt8(number))
            #expect(await first.data(for: "second \(number)") == expected)
            #expect(await second.data(for: "first \(number)") == expected)
        }
        await first.removeAll()
        #expect(await second.data(for: "second 7") == nil)
        #expect(await second.count == 0)
        #expect(fixture.reported.isEmpty)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func behavesLikeADictionary(seed: UInt64) async {
        var random = SplitMix64(seed: seed)
        var cache = fixture.cache(fileThreshold: 500)
        var model: [String: Data] = [:]
        for step in 0..<1_500 {
            let key = "key \(Int.random(in: 0..<40, using: &random))"
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<45: #expect(await cache.data(for: key) == model[key])
            case 45..<85:
                let data = Data(Int.random(in: 0..<1_000, using: &random), of: UInt8(truncatingIfNeeded: step))
                cache.store(data, for: key)
                model[key] = data
            case 85..<95:
                cache.remove(for: key)
                model[key] = nil
            case 95..<97: #expect(await cache.contains(key) == (model[key] != nil))
            case 97..<99:
                #expect(await cache.count == model.count)
                #expect(await cache.totalSize == Int64(model.values.reduce(0) { $0 + $1.count }))
            default:
                if step % 3 == 0 {
                    await cache.removeAll()
                    model = [:]
                } else {
                    await cache.flush()
                    cache = fixture.cache(fileThreshold: 500)
                }
            }
        }
        #expect(fixture.reported.isEmpty)
    }
}

@Suite(.timeLimit(.minutes(3))) struct DiskCacheAttributesTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    private let attributes = DiskCache.Attributes(
        expiration: .after(.seconds(100)), extendedData: Data(3, of: 7), responseMetadata: Data(5, of: 9))

    @Test(arguments: [false, true]) func storesAttributesWithTheBytes(isWritten: Bool) async throws {
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

    @Test(arguments: [false, true]) func anUpdateKeepsTheCreationTime(isWritten: Bool) async throws {
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

    /// Returns a connection that holds the write lock; changes wait until it commits.
    private func lockedIndex(of cache: DiskCache) async throws -> SQLiteConnection {
        await cache.flush()
        let other = try SQLiteConnection(path: fixture.indexPath, creates: false, busyTimeoutMilliseconds: 1_000)
        try other.execute("BEGIN IMMEDIATE")
        return other
    }

    @Test func replacingAValueRemovesItsAttributes() async throws {
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
        cache.update(
            DiskCache.Attributes(expiration: .after(.seconds(50)), responseMetadata: Data(1, of: 1)), for: "key")
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

    @Test func anUpdateOfAWaitingValueIsWrittenWithIt() async throws {
        let cache = fixture.cache()
        cache.store(Data(10, of: 1), for: "key")
        cache.update(attributes, for: "key")
        await cache.flush()
        #expect(await fixture.cache().item(for: "key")?.entry.extendedData == Data(3, of: 7))
    }

    @Test(arguments: [false, true])
    func anUpdateOfReplacedBytesDoesNothing(isWritten: Bool) async throws {
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

    @Test func anUpdateRemovesAttributesItDoesNotContain() async throws {
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

    @Test func anUpdateOfAMissingEntryCreatesNothing() async throws {
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 1), for: "removed")
        cache.remove(for: "removed")
        cache.update(attributes, for: "removed")
        cache.update(attributes, for: "key")
        #expect(await !cache.contains("key"))
        #expect(await cache.count == 0)
        #expect(await cache.entry(for: "removed") == nil)
    }

    @Test func tooLargeAttributesAreRefusedAndReported() async throws {
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

    @Test(arguments: [false, true]) func anExpiredEntryIsNotFound(isWritten: Bool) async {
        let cache = fixture.cache()
        cache.store(Data(10, of: 1), for: "key", attributes: DiskCache.Attributes(expiration: .after(.seconds(10))))
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

    @Test func anExpiredEntryThatWaitsToBeWrittenIsNotFound() async throws {
        let cache = fixture.cache()
        await cache.storeNow(Data(10, of: 2), for: "other")
        let other = try SQLiteConnection(path: fixture.indexPath, creates: false, busyTimeoutMilliseconds: 1_000)
        try other.execute("BEGIN IMMEDIATE")
        cache.store(Data(10, of: 1), for: "key", attributes: DiskCache.Attributes(expiration: .after(.seconds(10))))
        fixture.advance(seconds: 9)
        #expect(await cache.data(for: "key") != nil)
        fixture.advance(seconds: 2)
        #expect(await cache.data(for: "key") == nil)
        #expect(await !cache.contains("key"))
        try other.execute("COMMIT")
        await cache.flush()
        #expect(await cache.data(for: "key") == nil)
    }

    @Test func theConfigurationHasTheDefaultExpiration() async {
        let cache = fixture.cache { $0.expiration = .after(.seconds(10)) }
        await cache.storeNow(Data(10, of: 1), for: "standard")
        await cache.storeNow(Data(10, of: 1), for: "never", attributes: DiskCache.Attributes(expiration: .never))
        fixture.advance(seconds: 11)
        #expect(await cache.data(for: "standard") == nil)
        #expect(await cache.data(for: "never") != nil)
    }

    @Test func removeExpiredRemovesExpiredEntriesOnly() async {
        let cache = fixture.cache()
        for number in 0..<200 {
            let expiration = CacheExpiration.after(.seconds(number % 2 == 0 ? 10 : 1_000))
            cache.store(Data(10, of: 1), for: "\(number)", attributes: DiskCache.Attributes(expiration: expiration))
        }
        await cache.flush()
        fixture.advance(seconds: 11)
        #expect(await cache.count == 200)
        await cache.removeExpired()
        #expect(await cache.count == 100)
        #expect(await cache.statistics().evictionCount == 100)
    }

    @Test(arguments: [false, true]) func usesExtendAnExpiration(isWritten: Bool) async {
        let cache = fixture.cache { $0.expirationExtension = .original }
        cache.store(Data(10, of: 1), for: "key", attributes: DiskCache.Attributes(expiration: .after(.seconds(10))))
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

    @Test func usesDoNotExtendAnExpirationByDefault() async {
        let cache = fixture.cache()
        await cache.storeNow(
            Data(10, of: 1), for: "key", attributes: DiskCache.Attributes(expiration: .after(.seconds(10))))
        fixture.advance(seconds: 8)
        #expect(await cache.data(for: "key") != nil)
        fixture.advance(seconds: 3)
        #expect(await cache.data(for: "key") == nil)
    }
}
