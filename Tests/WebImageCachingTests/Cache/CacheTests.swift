import Foundation
import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

@Suite(.timeLimit(.minutes(3))) struct CacheTests {
    private struct Person: Codable, Sendable, Equatable {
        var name: String
        var age = 36
    }

    private let fixture: DiskFixture
    private let reports = Reports()
    private let ada = Person(name: "Ada")

    init() throws { fixture = try DiskFixture() }

    /// A cache on the directory, with its own memory cache.
    private func cache<Value>(
        _ archiver: CacheArchiver<Value>, cost: (@Sendable (Value, Int) -> Int)? = nil
    ) -> Cache<Value> {
        Cache(
            disk: fixture.cache(), archiver: archiver, memory: MemoryCache(costLimit: 1_000),
            cost: cost ?? { _, byteCount in byteCount }, onFailure: { [reports] in reports.add($0) })
    }

    private func people() -> Cache<Person> { cache(.codable) }

    // MARK: Both tiers

    @Test func storesValuesInMemoryAndOnDisk() async throws {
        let cache = people()
        #expect(await cache.value(for: "ada") == nil)
        try await cache.set(ada, for: "ada")
        #expect(await cache.item(for: "ada")?.tier == .memory)
        #expect(await cache.value(for: "ada") == ada)
        cache.memory.removeAll()
        #expect(await cache.contains("ada"))
        let fromDisk = await cache.item(for: "ada")
        #expect(fromDisk?.tier == .disk && fromDisk?.value == ada)
        #expect(await cache.item(for: "ada")?.tier == .memory)
        // Another process has its own memory cache.
        #expect(await people().value(for: "ada") == ada)
    }

    @Test func supportsBlockingCallers() throws {
        let cache = people()
        try cache.set(ada, for: "ada")
        #expect(cache.blockingItem(for: "ada")?.tier == .memory)
        cache.memory.removeAll()
        #expect(cache.blockingContains("ada"))
        #expect(cache.blockingItem(for: "ada")?.tier == .disk)
        #expect(cache.blockingItem(for: "ada")?.tier == .memory)
        #expect(cache.blockingValue(for: "ada") == ada)
        cache.remove(for: "ada")
        #expect(!cache.blockingContains("ada") && cache.blockingValue(for: "ada") == nil)
        try cache.set(ada, for: "ada")
        try cache.set(nil, for: "ada")
        #expect(cache.blockingValue(for: "ada") == nil)
    }

    @Test func removesValues() async throws {
        let cache = people()
        for name in ["a", "b", "c"] { try await cache.set(Person(name: name), for: name) }
        await cache.remove(for: "a")
        try await cache.set(nil, for: "b")
        #expect(await cache.value(for: "a") == nil)
        #expect(await cache.value(for: "b") == nil)
        #expect(await cache.disk.count == 1)
        await cache.removeAll()
        #expect(await cache.value(for: "c") == nil)
        #expect(cache.memory.count == 0)
        #expect(await cache.disk.count == 0)
    }

    @Test func reportsTheProgressOfRemoval() async throws {
        let cache = people()
        for number in 0..<10 { try await cache.set(ada, for: "\(number)") }
        let last = LockBox((0, 0))
        await cache.removeAll { removed, total in last.withLock { $0 = (removed, total) } }
        #expect(last.withLock { $0 } == (10, 10))
        #expect(cache.memory.count == 0)
    }

    @Test func storesExtendedData() async throws {
        let cache = people()
        let attributes = DiskCache.Attributes(extendedData: Data("mine".utf8))
        try await cache.set(ada, for: "ada", attributes: attributes)
        #expect(await cache.item(for: "ada")?.extendedData == Data("mine".utf8))
        cache.memory.removeAll()
        #expect(await cache.item(for: "ada")?.extendedData == Data("mine".utf8))
        #expect(await cache.item(for: "ada")?.extendedData == Data("mine".utf8))
    }

    @Test func valuesExpireInMemoryAndOnDisk() async throws {
        let memory = MemoryCacheFixture<String, Cache<Person>.Item>()
        memory.ticking.set(nanoseconds: fixture.clock.withLock { $0 } * 1_000)
        let cache = Cache(disk: fixture.cache(), archiver: .codable, memory: memory.cache)
        func advance(seconds: Double) {
            memory.ticking.advance(seconds: seconds)
            fixture.advance(seconds: seconds)
        }
        for isPromoted in [false, true] {
            try await cache.set(ada, for: "ada", attributes: DiskCache.Attributes(expiration: .after(.seconds(100))))
            if isPromoted { memory.cache.removeAll() }
            #expect(await cache.item(for: "ada")?.tier == (isPromoted ? .disk : .memory))
            advance(seconds: 99)
            #expect(await cache.item(for: "ada")?.tier == .memory)
            advance(seconds: 2)
            #expect(await cache.value(for: "ada") == nil)
            #expect(await !cache.contains("ada"))
        }
    }

    @Test func memoryUsesItsOwnExpirationIfTheDiskHasNone() async throws {
        let memory = MemoryCacheFixture<String, Cache<Person>.Item> { $0.expiration = .after(.seconds(100)) }
        let cache = Cache(disk: fixture.cache(), archiver: .codable, memory: memory.cache)
        try await cache.set(ada, for: "ada")
        for _ in 0..<2 {
            #expect(await cache.item(for: "ada")?.tier == .memory)
            memory.ticking.advance(seconds: 101)
            #expect(await cache.item(for: "ada")?.tier == .disk)
        }
    }

    @Test func trimsMemoryAndDisk() async throws {
        let memory = MemoryCacheFixture<String, Cache<Person>.Item>()
        let cache = Cache(disk: fixture.cache(), archiver: .codable, memory: memory.cache)
        func fill() async throws {
            for name in ["a", "b", "c"] {
                try await cache.set(ada, for: name)
                fixture.advance(seconds: 10)
                memory.ticking.advance(seconds: 10)
            }
        }
        try await fill()
        await cache.trim(toCount: 2)
        #expect(memory.cache.count == 2)
        #expect(await cache.disk.count == 2)
        #expect(await cache.value(for: "a") == nil)
        try await fill()
        await cache.trim(toAge: .seconds(25))
        #expect(memory.cache.count == 2)
        #expect(await cache.disk.count == 2)
        await cache.trim(toSize: 0)
        #expect(await cache.disk.count == 0)
        try await cache.set(ada, for: "d", attributes: DiskCache.Attributes(expiration: .after(.seconds(1))))
        fixture.advance(seconds: 2)
        memory.ticking.advance(seconds: 2)
        await cache.removeExpired()
        #expect(await cache.disk.count == 0)
        #expect(!memory.cache.contains("d"))
    }

    @Test func theCostIsTheByteCountOnDiskByDefault() async throws {
        let cache = cache(.identity)
        try await cache.set(Data(300, of: 1), for: "key")
        #expect(cache.memory.totalCost == 300)
        cache.memory.removeAll()
        _ = await cache.value(for: "key")
        #expect(cache.memory.totalCost == 300)
        // A value above the limit is only on disk.
        try await cache.set(Data(1_001, of: 1), for: "large")
        #expect(await cache.item(for: "large")?.tier == .disk)
        #expect(cache.memory.totalCost == 300)
    }

    @Test func usesACustomCost() async throws {
        let cache = cache(.identity, cost: { value, byteCount in value.count + byteCount + 1 })
        try await cache.set(Data(10, of: 1), for: "key")
        #expect(cache.memory.totalCost == 21)
        cache.memory.removeAll()
        _ = await cache.value(for: "key")
        #expect(cache.memory.totalCost == 21)
    }

    // MARK: Archivers

    @Test func reportsAValueThatCannotBeArchivedAndStoresNothing() async throws {
        struct Refusal: Error {}
        let cache = cache(
            CacheArchiver<String>(
                archive: { value in
                    if value == "bad" { throw Refusal() }
                    return Data(value.utf8)
                }, unarchive: { String(decoding: $0, as: UTF8.self) }))
        try await cache.set("good", for: "key")
        await #expect(
            throws: WebImageError.diskCache(
                path: cache.disk.configuration.directory.path, reason: .archiving(key: "key", message: "Refusal()"))
        ) {
            try await cache.set("bad", for: "key")
        }
        #expect(await cache.value(for: "key") == nil)
        #expect(await !cache.disk.contains("key"))
    }

    @Test(arguments: [false, true])
    func treatsUnreadableValuesAsMissing(_ throwsError: Bool) async throws {
        let cache = cache(
            CacheArchiver<String>(
                archive: { Data($0.utf8) },
                unarchive: { data in
                    guard throwsError else { return nil }
                    throw WebImageError.truncatedValue
                }))
        try await cache.set("value", for: "key")
        cache.memory.removeAll()
        await withTaskGroup { group in
            for _ in 0..<8 { group.addTask { #expect(await cache.value(for: "key") == nil) } }
        }
        #expect(await !cache.disk.contains("key"))
        #expect(reports.codes == [403])
        #expect(cache.memory.count == 0)
    }

    @Test func treatsDamagedJSONAsMissing() async throws {
        let cache = people()
        for text in ["", "{", "{\"name\":\"Ada\"}", "[]", "null", "\u{1}"] {
            await cache.disk.storeNow(Data(text.utf8), for: "key")
            #expect(await cache.value(for: "key") == nil, "\(text)")
        }
        #expect(reports.codes == Array(repeating: 403, count: 6))
    }

    // MARK: At the same time

    @Test func doesNotInsertOutdatedValuesIntoMemory() async throws {
        let gate = Gate()
        let cache = cache(
            CacheArchiver<String>(
                archive: { Data($0.utf8) },
                unarchive: { data in
                    gate.pass()
                    return String(decoding: data, as: UTF8.self)
                }))
        await cache.disk.storeNow(Data("old".utf8), for: "key")
        let reading = Task { await cache.value(for: "key") }
        try await gate.reached.wait()
        await cache.remove(for: "key")
        gate.open()
        #expect(await reading.value == "old")
        #expect(cache.memory.count == 0)
        #expect(await cache.value(for: "key") == nil)
    }

    @Test func memoryMatchesTheDiskAfterConcurrentWrites() async throws {
        let cache = cache(.identity)
        let keys = (0..<4).map { "\($0)" }
        await withTaskGroup { group in
            for seed in 0..<4 {
                group.addTask {
                    var random = SplitMix64(seed: UInt64(seed))
                    for step in 0..<300 {
                        let key = keys.randomElement(using: &random) ?? ""
                        switch Int.random(in: 0..<10, using: &random) {
                        case 0: await cache.remove(for: key)
                        case 1...5: try? await cache.set(Data("\(seed) \(step)".utf8), for: key)
                        case 6: cache.memory.removeAll()
                        default: _ = await cache.value(for: key)
                        }
                    }
                }
            }
        }
        for key in keys {
            let inMemory = cache.memory.value(for: key)?.value
            let onDisk = await cache.disk.data(for: key)
            #expect(inMemory == nil || inMemory == onDisk)
        }
        #expect(reports.codes == [])
    }

    // MARK: Names

    @Test func isNamedAfterItsDirectory() {
        let cache = Cache<Data>(directory: URL(filePath: fixture.folder.path("profiles")), archiver: .identity)
        #expect(cache.name == "profiles")
        #expect(cache.memory.costLimit == 64 << 20)
    }

    @Test(arguments: [
        ("profiles", "profiles"), ("a/b", "a%2Fb"), ("..", "%2E."), (".hidden", "%2Ehidden"), ("a.b", "a.b"),
        ("100%", "100%25"), ("", "%"), ("a\0b", "a%00b"), ("größe", "größe"),
    ])
    func createsADirectoryForEachName(_ name: String, _ fileName: String) {
        #expect(Cache<Data>.fileName(for: name) == fileName)
    }
}

extension WebImageError {
    fileprivate static let truncatedValue = WebImageError.decoding(format: .png, reason: .truncated)
}

@Suite(.timeLimit(.minutes(3))) struct CacheArchiverTests {
    private struct Record: Codable, Equatable {
        var name: String
        var scores: [Double]
        var bytes: Data
        var date: Date
        var next: [Record]?
    }

    private func copy<Value: Codable & Sendable>(_ value: Value) throws -> Value? {
        let archiver = CacheArchiver<Value>.codable
        return try archiver.unarchive(try archiver.archive(value))
    }

    @Test func decodesEveryKindOfValue() throws {
        var record = Record(
            name: "Ännchen \"😀\" \0",
            scores: [0.1, -.infinity, .infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude],
            bytes: Data(0...255), date: Date(timeIntervalSinceReferenceDate: 123_456_789.123_456_7))
        record.next = [record]
        #expect(try copy(record) == record)
        #expect(try copy([UInt64.max]) == [.max])
        #expect(try copy(["a": [1: Optional("$null"), 2: nil]]) == ["a": [1: "$null", 2: nil]])
        #expect(try copy(Double.nan)?.isNaN == true)
    }

    @Test func archivesScalars() throws {
        #expect(try copy(3) == 3)
        #expect(try copy(Int64.min) == .min)
        #expect(try copy("text") == "text")
        #expect(try copy("") == "")
        #expect(try copy(true) == true)
        #expect(try copy(0.1) == 0.1)
        #expect(try copy(Double.infinity) == .infinity)
        #expect(try copy(Int?.none) == .some(nil))
        #expect(try copy(Data([1, 2])) == Data([1, 2]))
    }

    @Test func identityStoresDataUnchanged() throws {
        let archiver = CacheArchiver<Data>.identity
        #expect(try archiver.unarchive(try archiver.archive(Data([1, 2, 3]))) == Data([1, 2, 3]))
        #expect(try archiver.archive(Data()) == Data())
    }
}

@Suite(.timeLimit(.minutes(3))) struct ChangeMonitorTests {
    private let monitor = ChangeMonitor<String>()

    @Test func detectsChangesBetweenBeginAndEnd() {
        let reading = monitor.begin("key")
        var change = monitor.begin("key")
        #expect(!monitor.hasChanged(since: reading))
        monitor.change(&change)
        #expect(monitor.hasChanged(since: reading))
        #expect(!monitor.end(change))
        #expect(monitor.end(reading))
    }

    @Test func ignoresOtherKeysAndEarlierChanges() {
        var change = monitor.begin("key")
        monitor.change(&change)
        let (late, other) = (monitor.begin("key"), monitor.begin("other"))
        #expect(!monitor.end(change))
        #expect(!monitor.end(late))
        #expect(!monitor.end(other))
    }

    @Test func detectsOverlappingChanges() {
        var (first, second) = (monitor.begin("key"), monitor.begin("key"))
        monitor.change(&first)
        monitor.change(&second)
        #expect(monitor.end(first))
        #expect(monitor.end(second))
    }

    @Test func onlyOneOfSeveralConcurrentChangesApplies() {
        var (first, second) = (monitor.begin("key"), monitor.begin("key"))
        var calls: [Int] = []
        #expect(monitor.changeDiskIfUnchanged(&first) { calls.append(1) })
        #expect(!monitor.changeDiskIfUnchanged(&second) { calls.append(2) })
        #expect(calls == [1])
        #expect(!monitor.end(first))
        #expect(monitor.end(second))
    }

    @Test func attributesOfChangedBytesStay() {
        let (reading, other) = (monitor.begin("key"), monitor.begin("other"))
        var change = monitor.begin("key")
        var calls: [Int] = []
        monitor.change(&change, reachesDisk: false)
        monitor.ifUnchangedOnDisk(since: reading) { calls.append(1) }
        monitor.change(&change)
        monitor.ifUnchangedOnDisk(since: reading) { calls.append(2) }
        monitor.ifUnchangedOnDisk(since: other) { calls.append(3) }
        monitor.ifUnchangedOnDisk(since: change) { calls.append(4) }
        #expect(calls == [1, 3, 4])
        for passage in [reading, other, change] { _ = monitor.end(passage) }
    }

    @Test func changeAllAffectsEveryKey() {
        let passages = ["a", "b"].map(monitor.begin)
        monitor.changeAll()
        #expect(passages.allSatisfy(monitor.end))
    }

    @Test func forgetsKeysWithoutWorkInProgress() {
        var change = monitor.begin("key")
        monitor.change(&change)
        #expect(monitor.changeCount(of: "key") == 1)
        _ = monitor.end(change)
        #expect(monitor.changeCount(of: "key") == 0)
    }
}

@Suite(.timeLimit(.minutes(3))) struct ExpirationDeadlineTests {
    private let now: Int64 = 5_000_000

    private func deadline(_ expiration: CacheExpiration) -> ExpirationDeadline {
        ExpirationDeadline(expiration, now: now, date: 1_000_000_000_000_000)
    }

    @Test func neverDoesNotExpire() {
        #expect(!deadline(.never).isPassed(at: .max))
    }

    @Test func secondsCountFromNow() {
        let deadline = deadline(.after(.seconds(2)))
        #expect(!deadline.isPassed(at: now + 1_999_999))
        #expect(deadline.isPassed(at: now + 2_000_000))
    }

    @Test(arguments: [.zero, .seconds(-1), .seconds(Int64.min), .nanoseconds(999)] as [Duration])
    func durationsBelowAMicrosecondExpireImmediately(_ duration: Duration) {
        #expect(deadline(.after(duration)).isPassed(at: now))
    }

    @Test func theLongestDurationDoesNotExpire() {
        #expect(!deadline(.after(.seconds(Int64.max))).isPassed(at: now + 1_000_000_000_000_000))
    }

    @Test func aDateExpiresAtThatTime() {
        let deadline = deadline(.date(Date(timeIntervalSince1970: 1_000_000_003)))
        #expect(!deadline.isPassed(at: now + 2_999_999))
        #expect(deadline.isPassed(at: now + 3_000_000))
    }

    @Test func aDateInThePastHasExpired() {
        #expect(deadline(.date(.distantPast)).isPassed(at: now))
    }

    @Test func extendsDurationsByTheRule() {
        var original = deadline(.after(.seconds(10)))
        let isOriginalLonger = original.extend(by: .original, at: now + 4_000_000)
        #expect(isOriginalLonger)
        #expect(original.time == now + 14_000_000)

        var longer = deadline(.after(.seconds(10)))
        let isLonger = longer.extend(by: DeadlineExtension(.atLeast(.seconds(30))), at: now)
        #expect(isLonger)
        #expect(longer.time == now + 30_000_000)
    }

    @Test func extendingNeverShortensAnExpiration() {
        var deadline = deadline(.after(.seconds(10)))
        let isLonger = deadline.extend(by: DeadlineExtension(.atLeast(.seconds(1))), at: now)
        #expect(!isLonger)
        let isLongerByNothing = deadline.extend(by: .none, at: now + 9_000_000)
        #expect(!isLongerByNothing)
        #expect(deadline.time == now + 10_000_000)
    }

    @Test func extendsNeitherDatesNorNever() {
        var date = deadline(.date(.distantFuture))
        var never = deadline(.never)
        let isDateLonger = date.extend(by: DeadlineExtension(.atLeast(.seconds(1e12))), at: now)
        #expect(!isDateLonger)
        let isNeverLonger = never.extend(by: .original, at: now)
        #expect(!isNeverLonger)
    }
}
