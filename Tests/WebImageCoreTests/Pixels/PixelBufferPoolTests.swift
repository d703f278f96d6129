import Testing

@testable import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct PixelBufferPoolTests {
    private func address(width: Int, height: Int, pool: PixelBufferPool) throws -> UnsafeRawPointer {
        try MutablePixelBuffer(width: width, height: height, pool: pool).freeze(isOpaque: true).baseAddress
    }

    @Test func reusesMemory() throws {
        let pool = PixelBufferPool()
        let first = try address(width: 100, height: 100, pool: pool)
        #expect(pool.freeByteCount >= 40_000)
        #expect(try address(width: 100, height: 100, pool: pool) == first)
        // A little smaller shares the block, much smaller does not.
        #expect(try address(width: 99, height: 100, pool: pool) == first)
        #expect(try address(width: 50, height: 100, pool: pool) != first)
    }

    @Test func retainsMemoryWhileAnImageUsesIt() throws {
        let pool = PixelBufferPool()
        let first = try MutablePixelBuffer(width: 10, height: 10, pool: pool).freeze(isOpaque: true)
        let second = try MutablePixelBuffer(width: 10, height: 10, pool: pool).freeze(isOpaque: true)
        #expect(first.baseAddress != second.baseAddress)
        #expect(pool.freeByteCount == 0)
    }

    @Test func reusesMemoryOfPixelsThatWereNeverFrozen() throws {
        let pool = PixelBufferPool()
        do { _ = try MutablePixelBuffer(width: 10, height: 10, pool: pool) }
        #expect(pool.freeByteCount > 0)
    }

    @Test func staysWithinItsCapacity() throws {
        let pool = PixelBufferPool(capacity: 100_000)
        for width in stride(from: 40, to: 200, by: 10) { _ = try address(width: width, height: 100, pool: pool) }
        #expect(pool.freeByteCount > 0)
        #expect(pool.freeByteCount <= 100_000)
        _ = try address(width: 1_000, height: 1_000, pool: pool)
        #expect(pool.freeByteCount <= 100_000)
    }

    @Test func keepsLittleMemoryOfSmallBlocks() throws {
        let pool = PixelBufferPool()
        // Each of another size class: 64 MB together.
        for index in 0..<32 {
            _ = try address(width: 1_000 + 16 * index, height: 400, pool: pool)
            _ = try address(width: 2_000 + 32 * index, height: 200, pool: pool)
        }
        let buffers = try (0..<40).map { _ in
            try MutablePixelBuffer(width: 500, height: 500, pool: pool).freeze(isOpaque: true)
        }
        withExtendedLifetime(buffers) {}
        let large = try address(width: 3_000, height: 1_000, pool: pool)
        #expect(pool.freeByteCount <= (16 << 20) + 12_582_912)
        #expect(try address(width: 3_000, height: 1_000, pool: pool) == large)
    }

    @Test func freesAllMemoryOnRequest() throws {
        let pool = PixelBufferPool()
        _ = try address(width: 100, height: 100, pool: pool)
        pool.removeAll()
        #expect(pool.freeByteCount == 0)
    }

    @Test func throwsIfTheSystemCannotAllocateTheMemory() throws {
        let pool = PixelBufferPool()
        #expect(throws: WebImageError.outOfResources(reason: .memory(byteCount: 1 << 60))) {
            try pool.take(byteCount: 1 << 60)
        }
        #expect(pool.freeByteCount == 0)
        // The pool is as usable as before.
        #expect(try MutablePixelBuffer(width: 1, height: 1, pool: pool).size.width == 1)
    }

    @Test(arguments: [1, 4096, 4097, 40_000, 1 << 20, (1 << 20) + 1, 48_771_072])
    func wastesAtMostAnEighth(byteCount: Int) {
        let capacity = PixelBufferPool.roundedCapacity(for: byteCount)
        #expect(capacity >= byteCount)
        #expect(capacity % 64 == 0)
        #expect(capacity <= byteCount + byteCount / 8 + 64)
    }

    /// A cache has thousands of them.
    @Test(arguments: [1, 4096, 4097, 300_000, 307_201, 8 << 20]) func blocksOfThumbnailsWasteNothing(byteCount: Int) {
        #expect(PixelBufferPool.roundedCapacity(for: byteCount) < byteCount + 64)
    }

    /// A block of huge pages has been rounded up already.
    @Test func doesNotReuseMuchLargerBlocks() throws {
        let pool = PixelBufferPool()
        let small = try address(width: 100, height: 100, pool: pool)
        #expect(try address(width: 100, height: 88, pool: pool) != small, "40,000 bytes for 35,200")
        #expect(try address(width: 100, height: 89, pool: pool) == small, "and for 35,600")
        let large = try address(width: 4_000, height: 3_000, pool: pool)
        #expect(try address(width: 4_000, height: 2_700, pool: pool) != large)
        #expect(try address(width: 4_000, height: 2_990, pool: pool) == large)
    }
}
