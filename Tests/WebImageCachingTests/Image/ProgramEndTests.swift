import CacheCrashWriter
import FoundationEssentials
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

/// What is on disk after a program has ended.
@Suite(.timeLimit(.minutes(3))) struct ProgramEndTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    /// The number of thumbnails that a new process finds as pixels.
    private func foundCount() -> Int {
        fixture.clock.withLock { $0 = Int64(Date().timeIntervalSince1970 * 1_000_000) }
        let cache = WriterPixels.cache(on: fixture.cache())
        return (0..<WriterPixels.count).count { number in
            guard let found = ImageCacheAdapter(cache).blockingPixels(of: WriterPixels.key(number)) else {
                return false
            }
            return WriterPixels.matches(found.image, number)
        }
    }

    @Test(arguments: ["return", "exit"])
    func aProgramThatEndsHasWrittenAllPixels(_ end: String) throws {
        #expect(try CacheWriterProcess(["pixels", fixture.directory, end]).waitForEnd() == 0)
        #expect(foundCount() == WriterPixels.count)
    }

    @Test func aProgramThatEndsInACompletionHasWrittenAll() async throws {
        #expect(try CacheWriterProcess(["completion", fixture.directory]).waitForEnd() == 0)
        fixture.clock.withLock { $0 = Int64(Date().timeIntervalSince1970 * 1_000_000) }
        let cache = fixture.cache()
        for key in ["first", "second", "third"] {
            let data = try #require(await cache.data(for: key), "\(key)")
            #expect(CheckedValue.version(of: data, key: key) == 1)
        }
    }

    @Test func whatIsUnwrittenDoesNotWaitForWorkInProgress() async {
        let (calls, continuation) = AsyncStream<Void>.makeStream()
        let (end, cache) = (ProgramEnd(), ReportingCache { continuation.yield() })
        end.add(cache)
        end.work.enter()
        let hasStarted = PlatformThread.start(name: "test-end") {
            end.writeAll()
            continuation.finish()
        }
        #expect(hasStarted)
        var iterator = calls.makeAsyncIterator()
        #expect(await iterator.next() != nil)
        end.work.leave()
        #expect(await iterator.next() != nil, "what the work has added is written, too")
        #expect(await iterator.next() == nil)
        withExtendedLifetime(cache) {}
    }

    @Test func aKilledProgramLeavesNoDamage() throws {
        #expect(try CacheWriterProcess(["pixels", fixture.directory, "kill"]).waitForEnd() == -1)
        _ = foundCount()
        #expect(try CacheWriterProcess(["pixels", fixture.directory, "return"]).waitForEnd() == 0)
        #expect(foundCount() == WriterPixels.count)
    }

    @Test func flushWritesMoreThanMayWait() async throws {
        fixture.clock.withLock { $0 = Int64(Date().timeIntervalSince1970 * 1_000_000) }
        let cache = WriterPixels.cache(on: fixture.cache())
        try WriterPixels.storeAll(in: cache)
        await cache.flush()
        #expect(await cache.pixelStatistics()?.count == WriterPixels.count)
        #expect(await cache.disk?.count == WriterPixels.count)
    }

    @Test func imagesWithoutBytesAreOnDiskAfterAFlush() async throws {
        let images = try ImageCacheFixture()
        let cache = images.cache()
        let image = try solidImage()
        // The methods that return immediately.
        func store() { cache.store(image, for: images.key) }
        store()
        await cache.flush()
        #expect(await images.disk.cache().contains(images.key.description))
    }

    @Test func aRemovalEndsAFlushOfThePixels() async throws {
        fixture.clock.withLock { $0 = Int64(Date().timeIntervalSince1970 * 1_000_000) }
        let cache = WriterPixels.cache(on: fixture.cache())
        try WriterPixels.storeAll(in: cache)
        func removeHalf() {
            for number in 0..<WriterPixels.count where number % 2 == 0 { cache.remove(for: WriterPixels.key(number)) }
        }
        removeHalf()
        await cache.flush()
        #expect(await cache.pixelStatistics()?.count == WriterPixels.count / 2)
        await cache.clear()
        #expect(await cache.pixelStatistics()?.count == 0)
    }
}

/// A cache that tells when it is asked to write.
private final class ReportingCache: UnwrittenCache {
    private let report: @Sendable () -> Void

    init(_ report: @escaping @Sendable () -> Void) { self.report = report }

    func writeUnwritten(completion: @escaping @Sendable () -> Void) {
        report()
        completion()
    }
}
