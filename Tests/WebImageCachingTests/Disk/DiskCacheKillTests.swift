import CacheCrashWriter
import FoundationEssentials
import Glibc
import Testing
import WebImageTestSupport

@testable import WebImageCaching

/// A process that is killed with SIGKILL anywhere, again and again, in one directory.
@Suite struct DiskCacheKillTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    /// Two hundred times. Each time every key is looked up; each tenth time the cache is trimmed before, after which
    /// the directory must hold nothing that the cache does not know of.
    @Test(.timeLimit(.minutes(5)))
    func everyEntryIsWholeAndNoneIsLostHoweverOftenTheWriterIsKilled() async throws {
        var random = SplitMix64(seed: 42)
        var ledger = ChangeLedger()
        for round in 1...200 {
            let writer = try CacheWriterProcess.changing(fixture.directory, owner: "writer", seed: round, count: 0)
            // One in ten dies while it opens the index.
            let count = Int.random(in: 0..<10, using: &random) == 0 ? 0 : Int.random(in: 1..<50, using: &random)
            writer.readRecords(untilDone: count) { ledger.note($0) }
            // In the middle of something: the time that a batch takes is of this size.
            usleep(UInt32.random(in: 0..<3_000, using: &random))
            writer.kill()
            writer.readRest { ledger.note($0) }
            try await verify(&ledger, trims: round % 10 == 0)
        }
        #expect(await !makeCache().entries().isEmpty)
    }

    /// On the writer's calendar.
    private func makeCache() -> DiskCache {
        fixture.clock.withLock { $0 = Int64(Date().timeIntervalSince1970 * 1_000_000) }
        return fixture.cache()
    }

    private func verify(_ ledger: inout ChangeLedger, trims: Bool) async throws {
        let cache = makeCache()
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
    /// The blocks that the directory takes, with everything in it.
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
    /// Each file fills its last block in part, and so does the directory. Segments keep some removed bytes: as many as live
    /// ones, and those of the one that grows, which is whole here, as all values together are smaller than one.
    func expectNoOrphans(of cache: DiskCache) async {
        let statistics = await cache.statistics()
        let known = statistics.indexByteCount + statistics.segments.byteCount + statistics.files.byteCount
        let fileCount = statistics.segments.count + statistics.files.count + 10
        #expect(allocatedByteCount <= known + Int64(fileCount) * 4_096 + 32_768)
        #expect(statistics.segments.byteCount <= 2 * statistics.segments.liveByteCount + (32 << 20))
        #expect(statistics.files.byteCount + statistics.segments.liveByteCount == statistics.byteCount)
    }
}
