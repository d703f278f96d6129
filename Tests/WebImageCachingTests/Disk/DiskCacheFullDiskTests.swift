import CacheCrashWriter
import FoundationEssentials
import Glibc
import Testing
import WebImageTestSupport

@testable import WebImageCaching

/// A cache on a real file system that is full.
@Suite(.enabled(if: SmallFileSystem.isAvailable, "needs the right to mount a small tmpfs, which root has"))
struct DiskCacheFullDiskTests {
    private let fixture: DiskFixture
    private let disk: SmallFileSystem

    init() throws {
        fixture = try DiskFixture()
        disk = try SmallFileSystem(mebibytes: 8)
    }

    private func makeCache() -> DiskCache { fixture.cache(at: disk.path + "/cache") }

    private func version(of key: String, in cache: DiskCache) async -> UInt64? {
        guard let data = await cache.data(for: key) else { return nil }
        let version = CheckedValue.version(of: data, key: key)
        #expect(version != nil, "\(key) is not whole")
        return version
    }

    private func store(_ key: String, version: UInt64, byteCount: Int = 30_000, in cache: DiskCache) async {
        await cache.storeNow(CheckedValue.make(key: key, version: version, byteCount: byteCount), for: key)
    }

    @Test func whatIsStoredIsFoundWhileTheDiskIsFull() async throws {
        let cache = makeCache()
        let keys = (0..<40).map { "key \($0)" }
        for (number, key) in keys.enumerated() {
            await store(key, version: 1, byteCount: number % 2 == 0 ? 1_000 : 60_000, in: cache)
        }
        await cache.flush()
        try disk.fill()
        for key in keys { #expect(await version(of: key, in: cache) == 1) }
        // Also by one that opens its index only now.
        let next = makeCache()
        for key in keys { #expect(await version(of: key, in: next) == 1) }
        await cache.flush()
        await next.flush()
        #expect(fixture.reported.allSatisfy { $0 == .system(errno: ENOSPC) })
    }

    /// Values that do not fit are not there afterwards; nor are those that they were to replace.
    @Test func aFullDiskKeepsNothingWrong() async throws {
        let cache = makeCache()
        let keys = (0..<20).map { "key \($0)" }
        for key in keys { await store(key, version: 1, in: cache) }
        await cache.flush()
        try disk.fill()
        for key in keys.prefix(10) { await store(key, version: 2, in: cache) }
        for number in 0..<10 { await store("new \(number)", version: 2, in: cache) }
        for cache in [cache, makeCache()] {
            for key in keys.prefix(10) { #expect([2, nil].contains(await version(of: key, in: cache))) }
            for key in keys.suffix(10) { #expect([1, nil].contains(await version(of: key, in: cache))) }
            for number in 0..<10 { #expect([2, nil].contains(await version(of: "new \(number)", in: cache))) }
        }
        #expect(fixture.reported == [.system(errno: ENOSPC)])
    }

    @Test func storesAgainOnceThereIsSpace() async throws {
        let cache = makeCache()
        await store("first", version: 1, in: cache)
        try disk.fill()
        for number in 0..<20 { await store("lost \(number)", version: 1, byteCount: 100_000, in: cache) }
        disk.clear()
        for number in 0..<20 { await store("kept \(number)", version: 2, byteCount: 100_000, in: cache) }
        await cache.flush()
        for cache in [cache, makeCache()] {
            for number in 0..<20 { #expect(await version(of: "kept \(number)", in: cache) == 2) }
        }
        let entries = await cache.entries()
        #expect(await cache.totalSize == entries.reduce(0) { $0 + Int64($1.byteCount) })
        #expect(fixture.reported == [.system(errno: ENOSPC)])
    }

    @Test func removesFromAFullDisk() async throws {
        let cache = makeCache()
        for number in 0..<20 { await store("key \(number)", version: 1, byteCount: 100_000, in: cache) }
        await cache.flush()
        try disk.fill()
        for number in 0..<10 { cache.remove(for: "key \(number)") }
        await cache.flush()
        for number in 0..<10 { #expect(await version(of: "key \(number)", in: cache) == nil) }
        await cache.removeAll()
        #expect(await cache.count == 0)
        #expect(await makeCache().count == 0)
        // What they took is free again.
        await store("new", version: 2, byteCount: 100_000, in: cache)
        #expect(await version(of: "new", in: cache) == 2)
    }

    /// Small changes until there is no room, again and again, each of which must be whole or nothing.
    @Test(.timeLimit(.minutes(1)))
    func everyEntryIsWholeOrAbsentOverManyFullDisks() async throws {
        var random = SplitMix64(seed: 21)
        for round in 1...8 as ClosedRange<UInt64> {
            let cache = makeCache()
            for _ in 0..<80 {
                let key = "key \(Int.random(in: 0..<200, using: &random))"
                let byteCount = Int.random(in: 24...200_000, using: &random)
                cache.store(CheckedValue.make(key: key, version: round, byteCount: byteCount), for: key)
                if Int.random(in: 0..<10, using: &random) == 0 { await cache.flush() }
            }
            await cache.flush()
            for entry in await cache.entries() { #expect(await version(of: entry.key, in: cache) != nil) }
            // One round each: fill the rest, empty a half, go on.
            if round % 2 == 0 { try disk.fill() } else { disk.clear() }
            if round % 3 == 0 { await cache.trim(toSize: 2 << 20) }
        }
        disk.clear()
        let cache = makeCache()
        await cache.trim(toSize: 1 << 20)
        await store("last", version: 9, in: cache)
        #expect(await version(of: "last", in: cache) == 9)
        let entries = await cache.entries()
        #expect(await cache.count == entries.count)
        #expect(fixture.reported.allSatisfy { $0 == .system(errno: ENOSPC) })
    }
}
