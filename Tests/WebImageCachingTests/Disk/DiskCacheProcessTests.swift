import CacheCrashWriter
import FoundationEssentials
import Glibc
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

/// One directory used by several processes, or by several caches in one.
@Suite(.timeLimit(.minutes(3))) struct DiskCacheSharingTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    /// Uses the system's clock, as the other processes do.
    private func makeCache() -> DiskCache {
        fixture.clock.withLock { $0 = Int64(Date().timeIntervalSince1970 * 1_000_000) }
        return fixture.cache()
    }

    /// The totals that the cache tracks match its entries.
    private func expectTrueTotals(in cache: DiskCache) async {
        let entries = await cache.entries()
        #expect(Set(entries.map(\.key)).count == entries.count)
        #expect(await cache.count == entries.count)
        #expect(await cache.totalSize == entries.reduce(0) { $0 + Int64($1.byteCount) })
    }

    /// Entries of one writer must be as it left them; shared entries are of either writer, and complete.
    @Test(.timeLimit(.minutes(2)))
    func twoProcessesWriteWhileTwoRead() async throws {
        let owners = ["first", "second"]
        let writers = try owners.enumerated().map { number, owner in
            try CacheWriterProcess.changing(fixture.directory, owner: owner, seed: number + 1, count: 300)
        }
        let reader = try CacheWriterProcess(["read", fixture.directory, "first"])
        let cache = makeCache()
        for number in 0..<1_000 {
            let key = WriterKeys.name(number % WriterKeys.count, owner: owners[number / WriterKeys.count % 2])
            guard let data = await cache.data(for: key) else { continue }
            #expect(CheckedValue.version(of: data, key: key) != nil)
        }
        var ledgers = [ChangeLedger(), ChangeLedger()]
        for (number, writer) in writers.enumerated() {
            #expect(writer.waitForEnd { ledgers[number].note($0) } == 0)
        }
        reader.endInput()
        #expect(reader.waitForEnd() == 0)

        for (number, owner) in owners.enumerated() {
            // The other writer's trims and removals removed entries too.
            let other = ledgers[1 - number]
            for place in WriterKeys.firstOwn..<WriterKeys.count {
                let key = WriterKeys.name(place, owner: owner)
                let data = await cache.data(for: key)
                ledgers[number].check(place, key: key, found: data, mayBeMissing: other.canRemoveAnyEntry)
            }
        }
        for place in 0..<WriterKeys.firstOwn {
            let key = WriterKeys.name(place, owner: "")
            if let data = await cache.data(for: key) { #expect(CheckedValue.version(of: data, key: key) != nil) }
        }
        await expectTrueTotals(in: cache)
        await cache.trim(toSize: .max)
        await expectTrueTotals(in: cache)
        await fixture.expectNoOrphans(of: cache)
        #expect(fixture.reported.isEmpty)
    }

    @Test(.timeLimit(.minutes(1)))
    func readsWhileAnotherProcessRemovesEverything() async throws {
        let cache = makeCache()
        let keys = (0..<200).map { "key \($0)" }
        for (number, key) in keys.enumerated() {
            cache.store(CheckedValue.make(key: key, version: 1, byteCount: 100 + number * 1_500), for: key)
        }
        await cache.flush()
        for key in keys { #expect(await cache.contains(key)) }

        let remover = try CacheWriterProcess(["clear", fixture.directory])
        // Before, during and after the removal; no found value may be damaged.
        repeat {
            for key in keys {
                guard let data = await cache.data(for: key) else { continue }
                #expect(CheckedValue.version(of: data, key: key) == 1)
            }
        } while await cache.count > 0
        #expect(remover.waitForEnd() == 0)
        for key in keys { #expect(await cache.data(for: key) == nil) }

        await cache.storeNow(CheckedValue.make(key: "new", version: 2, byteCount: 40_000), for: "new")
        #expect(await makeCache().data(for: "new").flatMap { CheckedValue.version(of: $0, key: "new") } == 2)
        #expect(await cache.count == 1)
        #expect(fixture.reported.isEmpty)
    }

    /// Each sees the changes of the other.
    @Test(.timeLimit(.minutes(1)))
    func twoCachesInOneProcessShareAllChanges() async throws {
        var random = SplitMix64(seed: 9)
        let caches = [fixture.cache(), fixture.cache()]
        var model = DiskCacheModel()
        for step in 0..<2_000 as Range<UInt64> {
            let cache = caches[Int.random(in: 0..<2, using: &random)]
            let key = "key \(Int.random(in: 0..<50, using: &random))"
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<50:
                let expected = model.use(key)
                #expect(await cache.data(for: key) == expected)
            case 50..<85:
                let byteCount = step % 10 == 0 ? 100_000 : Int.random(in: 0...5_000, using: &random)
                await cache.storeNow(CheckedValue.make(key: key, version: step, byteCount: byteCount), for: key)
                model.store(version: step, byteCount: byteCount, for: key)
            case 85..<95:
                await withCheckedContinuation { continuation in
                    cache.remove(for: key) { continuation.resume() }
                }
                model.remove(key)
            case 95..<98:
                #expect(await cache.count == model.count)
                #expect(await cache.totalSize == model.size)
            case 98:
                await cache.trim(toSize: .max)
            default:
                guard step % 10 == 0 else { continue }
                await cache.removeAll()
                model.removeAll()
            }
        }
        for cache in caches { #expect(Set(await cache.entries().map(\.key)) == Set(model.keys)) }
        #expect(fixture.reported.isEmpty)
    }

    /// An entry's row may have been replaced by the time it is described.
    @Test(.timeLimit(.minutes(1)))
    func describesAnEntryThatIsBeingReplaced() async {
        let (cache, other) = (fixture.cache(), fixture.cache())
        await cache.storeNow(Data(100, of: 0), for: "key")
        await withTaskGroup { group in
            group.addTask {
                for number in 0..<1_000 { await other.storeNow(Data(100, of: UInt8(number & 0xFF)), for: "key") }
                await other.storeNow(Data(1, of: 0), for: "end")
            }
            group.addTask {
                while await !cache.contains("end") {
                    for _ in 0..<50 {
                        #expect(await cache.item(for: "key")?.data.count == 100)
                        #expect(await cache.entry(for: "key") != nil)
                    }
                }
            }
        }
    }

    /// While an idle reader is checked, a look-up opens another one; their number must not grow.
    @Test(.timeLimit(.minutes(1)))
    func readersAreReused() async throws {
        await fixture.cache().storeNow(Data(10, of: 1), for: "key")
        let readers = DiskReaders(
            directory: DiskDirectory(path: fixture.directory), configuration: fixture.configuration, lookInterval: .max)
        let isOver = LockBox(false)
        await withTaskGroup { group in
            group.addTask {
                while !isOver.withLock({ $0 }) { readers.closeDeletedSegments() }
            }
            group.addTask {
                for _ in 0..<5_000 {
                    let isFound = try? readers.withReader { reader throws(DiskFault) in
                        try reader.record(for: "key") != nil
                    }
                    #expect(isFound == true)
                }
                isOver.withLock { $0 = true }
            }
        }
        #expect(readers.idleCount <= 2)
    }

    /// A deletion of the directory may catch an index that was just created.
    @Test func startsOverWhenTheLogOfTheIndexIsMissing() async throws {
        let cache = fixture.cache()
        await cache.storeNow(CheckedValue.make(key: "a", version: 1, byteCount: 1_000), for: "a")
        try FileManager.default.removeItem(atPath: fixture.directory + "/index.sqlite-wal")
        await cache.storeNow(CheckedValue.make(key: "b", version: 2, byteCount: 1_000), for: "b")
        #expect(await cache.data(for: "b").flatMap { CheckedValue.version(of: $0, key: "b") } == 2)
        #expect(await cache.entries().map(\.key) == ["b"])
    }

    /// Zeros must not be read in place of values whose segment was deleted.
    @Test func doesNotWriteToADeletedSegment() async throws {
        let cache = fixture.cache()
        await cache.storeNow(CheckedValue.make(key: "a", version: 1, byteCount: 1_000), for: "a")
        let values = try #require(
            FileManager.default.contentsOfDirectory(atPath: fixture.directory).first { $0.hasPrefix("values-") })
        let folder = "\(fixture.directory)/\(values)"
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        }
        await cache.storeNow(CheckedValue.make(key: "b", version: 2, byteCount: 1_000), for: "b")
        let other = fixture.cache()
        #expect(await other.data(for: "a") == nil)
        #expect(await other.data(for: "b").flatMap { CheckedValue.version(of: $0, key: "b") } == 2)
    }

    /// The user empties the caches while an app uses one.
    @Test(.timeLimit(.minutes(1)))
    func continuesAfterItsDirectoryWasDeletedInUse() async throws {
        let cache = fixture.cache()
        let keys = (0..<50).map { "key \($0)" }
        for _ in 0..<6 {
            for key in keys {
                await cache.storeNow(CheckedValue.make(key: key, version: 1, byteCount: 30_000), for: key)
            }
            await withTaskGroup { group in
                for task in 0..<3 {
                    group.addTask {
                        for (number, key) in keys.enumerated() {
                            if number % 3 == task {
                                let value = CheckedValue.make(key: key, version: 2, byteCount: 2_000 * number + 24)
                                cache.store(value, for: key)
                            } else if let data = await cache.data(for: key) {
                                #expect(CheckedValue.version(of: data, key: key) != nil)
                            }
                        }
                    }
                }
                group.addTask { _ = try? FileManager.default.removeItem(atPath: fixture.directory) }
            }
            await cache.flush()
            // If the deletion interrupted a change, the cache is off for a minute.
            fixture.advance(seconds: 61)
            await cache.storeNow(CheckedValue.make(key: "last", version: 3, byteCount: 50_000), for: "last")
            #expect(await cache.data(for: "last").flatMap { CheckedValue.version(of: $0, key: "last") } == 3)
            // The deletion may have reached files that were made since it began: they are misses, whose entries go.
            for entry in await cache.entries() { _ = await cache.data(for: entry.key) }
            for entry in await cache.entries() {
                let data = await cache.data(for: entry.key)
                #expect(data.flatMap { CheckedValue.version(of: $0, key: entry.key) } != nil)
            }
        }
    }
}

/// Processes that use one directory and are killed with SIGKILL at random moments.
@Suite(.timeLimit(.minutes(3))) struct DiskCacheKillTests {
    /// Sixty times, and two hundred for a release, in two directories at once. Each time all keys are looked up; each
    /// tenth time the cache is trimmed before, after which the directory must hold nothing that the cache does not
    /// know.
    @Test(.timeLimit(.minutes(5)))
    func everyEntryIsCompleteAndNoneIsLostWhenTheWriterIsKilled() async throws {
        try await withThrowingTaskGroup { group in
            for seed in [42, 43] as [UInt64] {
                group.addTask { try await killWriters(fixture: DiskFixture(), seed: seed) }
            }
            try await group.waitForAll()
        }
    }

    private func killWriters(fixture: DiskFixture, seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        var ledger = ChangeLedger()
        for round in 1...ReleaseChecks.choose(30, forRelease: 100) {
            let writer = try CacheWriterProcess.changing(fixture.directory, owner: "writer", seed: round, count: 0)
            // One in ten is killed while it opens the index.
            let count = Int.random(in: 0..<10, using: &random) == 0 ? 0 : Int.random(in: 1..<50, using: &random)
            writer.readRecords(untilDone: count) { ledger.note($0) }
            // In the middle of something: the time that a batch takes is of this size.
            usleep(UInt32.random(in: 0..<3_000, using: &random))
            writer.kill()
            writer.readRest { ledger.note($0) }
            try await verify(&ledger, fixture, trims: round % 10 == 0)
        }
        #expect(await !makeCache(fixture).entries().isEmpty)
    }

    /// Uses the writer's clock.
    private func makeCache(_ fixture: DiskFixture) -> DiskCache {
        fixture.clock.withLock { $0 = Int64(Date().timeIntervalSince1970 * 1_000_000) }
        return fixture.cache()
    }

    private func verify(_ ledger: inout ChangeLedger, _ fixture: DiskFixture, trims: Bool) async throws {
        let cache = makeCache(fixture)
        if trims { await cache.trim(toSize: .max) }
        for number in 0..<WriterKeys.count {
            let key = WriterKeys.name(number, owner: "writer")
            ledger.check(number, key: key, found: await cache.data(for: key))
        }
        #expect(fixture.reported.isEmpty)
        guard trims else { return }
        let entries = await cache.entries()
        #expect(await cache.count == entries.count)
        #expect(await cache.totalSize == entries.reduce(0) { $0 + Int64($1.byteCount) })
        for entry in entries { #expect(await cache.data(for: entry.key)?.count == entry.byteCount) }
        await fixture.expectNoOrphans(of: cache)
    }
}

extension DiskFixture {
    /// The space allocated to the directory and its contents.
    var allocatedByteCount: Int64 { Self.allocatedByteCount(directory) }

    private static func allocatedByteCount(_ path: String) -> Int64 {
        var status = stat()
        guard lstat(path, &status) == 0 else { return 0 }
        let own = Int64(status.st_blocks) * 512
        guard status.st_mode & S_IFMT == S_IFDIR else { return own }
        return DiskDirectory.names(in: path).reduce(own) { $0 + allocatedByteCount("\(path)/\($1)") }
    }

    /// After a trim: no more on the disk than the cache knows of, and no more of that than the entries explain.
    ///
    /// Each file fills its last block in part, and so does the directory. Segments keep some removed bytes: as many as
    /// live ones, and those of the one that grows, which is whole here, as all values together are smaller than one.
    func expectNoOrphans(of cache: DiskCache) async {
        let statistics = await cache.statistics()
        let known = statistics.indexByteCount + statistics.segments.byteCount + statistics.files.byteCount
        let fileCount = statistics.segments.count + statistics.files.count + 10
        #expect(allocatedByteCount <= known + Int64(fileCount) * 4_096 + 32_768)
        #expect(statistics.segments.byteCount <= 2 * statistics.segments.liveByteCount + (32 << 20))
        #expect(statistics.files.byteCount + statistics.segments.liveByteCount == statistics.byteCount)
    }
}
