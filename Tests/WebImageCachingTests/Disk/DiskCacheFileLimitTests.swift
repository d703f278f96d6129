import FoundationEssentials
import Glibc
import Testing
import WebImageTestSupport

@testable import WebImageCaching

/// The size limit is about the space that the files take on disk.
@Suite(.timeLimit(.minutes(3))) struct DiskCacheFileLimitTests {
    private let fixture: DiskFixture
    init() throws { fixture = try DiskFixture() }

    /// What `du` says.
    private var allocatedByteCount: Int64 {
        let names = FileManager.default.enumerator(atPath: fixture.directory)?.compactMap { $0 as? String } ?? []
        return names.reduce(0) { sum, name in
            var status = stat()
            guard lstat("\(fixture.directory)/\(name)", &status) == 0 else { return sum }
            return sum + Int64(status.st_blocks) * 512
        }
    }

    private func value(_ number: Int) -> Data {
        Data((number * 7_919) % 190_000 + 2_000, of: UInt8(truncatingIfNeeded: number))
    }

    @Test(arguments: [5, 20]) func theFilesOfASmallCacheStayWithinItsLimit(mebibytes: Int64) async {
        let limit = mebibytes << 20
        let cache = fixture.cache(sizeLimit: limit, fileThreshold: 256 << 10)
        var largest: Int64 = 0
        for number in 0..<1_500 {
            // Every third replaces one of the last.
            cache.store(value(number), for: "\(number % 3 == 0 ? max(0, number - 10) : number)")
            guard number % 10 == 0 else { continue }
            _ = await cache.data(for: "\(number / 2)")
            await cache.flush()
            largest = max(largest, allocatedByteCount)
        }
        await cache.flush()
        #expect(largest <= limit)
        #expect(allocatedByteCount <= limit)
        #expect(await cache.totalSize > limit / 2)
        #expect(await cache.data(for: "1499") == value(1499))
        #expect(fixture.reported.isEmpty)
    }

    @Test func aLargeCacheHasLargeSegments() {
        #expect(SegmentFile.capacity(sizeLimit: 1 << 30) == 32 << 20)
        #expect(SegmentFile.capacity(sizeLimit: .max) == 32 << 20)
        #expect(SegmentFile.capacity(sizeLimit: 5 << 20) == 160 << 10)
        #expect(SegmentFile.capacity(sizeLimit: 0) == 64 << 10)
    }
}
