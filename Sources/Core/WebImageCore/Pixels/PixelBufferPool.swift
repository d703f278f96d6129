internal import Glibc

/// Keeps freed pixel memory for the next image of about the same size.
///
/// A fresh block costs a page fault for each 4 KiB, which doubles the time of decoding a JPEG (32 ms into reused
/// memory, 53 ms into fresh memory, for 12 megapixels). Blocks larger than 8 MiB use huge pages, which reduces the cost
/// of fresh blocks.
package final class PixelBufferPool: Sendable {
    /// The default pool of all images.
    package static let shared = PixelBufferPool()

    /// The maximum size of free blocks, in bytes.
    let capacity: Int

    private let free = Lock(FreeBlocks())

    /// - Parameter capacity: the maximum size of free blocks, in bytes. The default of 96 MiB is two 12-megapixel
    ///   photos, so that a decode and the following resize find their memory again.
    init(capacity: Int = 96 << 20) {
        self.capacity = capacity
    }

    deinit { removeAll() }

    /// The size of the free blocks, in bytes.
    var freeByteCount: Int { free.withLock { $0.byteCount } }

    /// Returns all free blocks to the system, as on memory pressure.
    package func removeAll() {
        let blocks = free.withLock { free in
            defer { (free.blocks, free.byteCount, free.smallByteCount) = ([], 0, 0) }
            return free.blocks
        }
        blocks.forEach { $0.release() }
    }

    /// Where new blocks come from; `nil` for malloc. A process that decodes for another sets it while it works on an image.
    package func setSource(_ source: (any PixelMemorySource)?) { free.withLock { $0.source = source } }

    /// Tells the owner of the memory of `pixels` that their first rows stay as they are, so that it can pass them on while
    /// others are written.
    package static func finishRows(_ count: Int, of pixels: borrowing MutablePixelBuffer) {
        let (storage, size) = (pixels.storage, pixels.size)
        storage.source?.finish(storage.address, size: size, bytesPerRow: pixels.bytesPerRow, rowCount: count)
    }

    func take(byteCount: Int) throws(WebImageError) -> Block {
        let capacity = Self.roundedCapacity(for: byteCount)
        let (reused, source) = free.withLock { ($0.take(capacity: capacity), $0.source) }
        if let reused { return reused }
        if let source, let address = source.take(byteCount: capacity) {
            return Block(address: address, capacity: capacity, source: source)
        }
        let address = capacity >= Self.hugeThreshold ? Self.mapped(capacity) : Self.allocated(capacity)
        guard let address else { throw .outOfResources(reason: .memory(byteCount: byteCount)) }
        return Block(address: address, capacity: capacity, source: nil)
    }

    private static func allocated(_ byteCount: Int) -> UnsafeMutableRawPointer? {
        var address: UnsafeMutableRawPointer?
        return posix_memalign(&address, 64, byteCount) == 0 ? address : nil
    }

    /// Returns memory of huge pages. It is mapped, because malloc would keep blocks of up to 32 MiB.
    ///
    /// - Parameter byteCount: a multiple of 1 MiB, as capacities of that size are.
    private static func mapped(_ byteCount: Int) -> UnsafeMutableRawPointer? {
        let length = byteCount + hugePageByteCount
        guard let start = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            start != MAP_FAILED
        else { return nil }
        let gap = -Int(bitPattern: start) & (hugePageByteCount - 1)
        let address = start + gap
        if gap > 0 { munmap(start, gap) }
        munmap(address + byteCount, hugePageByteCount - gap)
        madvise(address, byteCount, MADV_HUGEPAGE)
        return address
    }

    private static let hugePageByteCount = 2 << 20

    func recycle(_ block: Block) {
        guard block.source == nil else { return block.release() }
        let dropped = free.withLock { $0.insert(block, capacity: capacity) }
        dropped.forEach { $0.release() }
    }

    /// The smallest size for huge pages. Below it, filling them costs more than the page faults (7.1 against 5.4 ms at
    /// 8 MiB).
    fileprivate static let hugeThreshold = (8 << 20) + 1

    /// Rounds up to a multiple of 64. Blocks of huge pages are rounded up to an eighth of the power of two below.
    ///
    /// Small blocks are mostly those of thumbnails, of which a cache keeps thousands: rounded up alike, they took 8 % more.
    static func roundedCapacity(for byteCount: Int) -> Int {
        let minimum = max(byteCount, 64)
        let step = minimum < hugeThreshold ? 64 : (1 << (Int.bitWidth - 1 - minimum.leadingZeroBitCount)) >> 3
        return (minimum + step - 1) / step * step
    }

    /// A block of memory. Its owner must recycle or release it exactly once.
    struct Block: @unchecked Sendable {
        // `@unchecked`: a plain address; a `PixelStorage` or the pool owns the memory.
        let address: UnsafeMutableRawPointer
        let capacity: Int
        /// The owner of the memory; `nil` for malloc.
        let source: (any PixelMemorySource)?

        var isSmall: Bool { capacity < PixelBufferPool.hugeThreshold }

        func release() {
            if let source {
                source.release(address, byteCount: capacity)
            } else if capacity >= PixelBufferPool.hugeThreshold {
                munmap(address, capacity)
            } else {
                Glibc.free(address)
            }
        }
    }

    /// Free blocks, oldest first.
    private struct FreeBlocks {
        var blocks: [Block] = []
        var byteCount = 0
        /// Of blocks below the size for huge pages.
        var smallByteCount = 0
        var source: (any PixelMemorySource)?

        /// None while there is a source: its memory is where the result must be.
        ///
        /// Images of almost the same size share blocks, and at most an eighth is wasted.
        mutating func take(capacity: Int) -> Block? {
            let usable = capacity...(capacity < PixelBufferPool.hugeThreshold ? capacity + capacity / 8 : capacity)
            guard source == nil, let index = blocks.lastIndex(where: { usable.contains($0.capacity) }) else {
                return nil
            }
            return remove(at: index)
        }

        /// Adds `block` and returns the blocks to be released to stay within `capacity`, oldest first.
        mutating func insert(_ block: Block, capacity: Int) -> [Block] {
            guard block.capacity <= capacity else { return [block] }
            blocks.append(block)
            byteCount += block.capacity
            if block.isSmall { smallByteCount += block.capacity }
            var dropped: [Block] = []
            while smallByteCount > Self.smallByteLimit, let index = blocks.firstIndex(where: \.isSmall) {
                dropped.append(remove(at: index))
            }
            while byteCount > capacity || blocks.count > Self.countLimit { dropped.append(remove(at: 0)) }
            return dropped
        }

        private mutating func remove(at index: Int) -> Block {
            let block = blocks.remove(at: index)
            byteCount -= block.capacity
            if block.isSmall { smallByteCount -= block.capacity }
            return block
        }

        /// Bounds the linear search; small blocks are cheap to allocate with malloc anyway.
        private static let countLimit = 64
        /// A page of thumbnails makes blocks of many sizes, each of which is rarely wanted again: 16 MiB.
        private static let smallByteLimit = 16 << 20
    }
}

/// Memory for pixels that does not come from malloc, such as memory that two processes share.
///
/// A pool takes blocks from it, or a buffer uses a block that exists; both return them. Methods are called on any thread.
package protocol PixelMemorySource: AnyObject, Sendable {
    /// Returns a block aligned to 64 bytes, or `nil` if there is none: the pool then takes it from malloc.
    func take(byteCount: Int) -> UnsafeMutableRawPointer?

    /// Called once for each block, when nothing refers to it any more.
    func release(_ address: UnsafeMutableRawPointer, byteCount: Int)

    /// Called for pixels in a block when more of their rows stay as they are, unless ``reopen(_:)`` or ``release(_:byteCount:)`` follows.
    func finish(_ address: UnsafeMutableRawPointer, size: PixelSize, bytesPerRow: Int, rowCount: Int)

    /// Called when finished rows of a block may change after all.
    func reopen(_ address: UnsafeMutableRawPointer)
}

extension PixelMemorySource {
    package func finish(_ address: UnsafeMutableRawPointer, size: PixelSize, bytesPerRow: Int, rowCount: Int) {}
    package func reopen(_ address: UnsafeMutableRawPointer) {}
}

/// Owns a block of pixel memory and returns it to its pool when released.
final class PixelStorage: @unchecked Sendable {
    // `@unchecked`: the memory is written only through a `MutablePixelBuffer`, which is noncopyable and is consumed
    // when it passes this object to an immutable `PixelBuffer`.
    private let block: PixelBufferPool.Block
    let pool: PixelBufferPool
    /// The requested size, which may be smaller than the block.
    let byteCount: Int

    init(byteCount: Int, pool: PixelBufferPool) throws(WebImageError) {
        block = try pool.take(byteCount: byteCount)
        self.pool = pool
        self.byteCount = byteCount
    }

    /// Uses a block of memory that exists.
    init(_ address: UnsafeMutableRawPointer, byteCount: Int, source: any PixelMemorySource) {
        block = PixelBufferPool.Block(address: address, capacity: byteCount, source: source)
        pool = .shared
        self.byteCount = byteCount
    }

    /// Copies the bytes to another block of the same pool.
    convenience init(copying other: PixelStorage) throws(WebImageError) {
        try self.init(byteCount: other.byteCount, pool: other.pool)
        memcpy(address, other.address, byteCount)
    }

    deinit { pool.recycle(block) }

    var address: UnsafeMutableRawPointer { block.address }
    /// The owner of the memory; `nil` for malloc.
    var source: (any PixelMemorySource)? { block.source }
}

/// Temporary memory for a decoder, taken from the pool of pixel memory and returned to it when released.
///
/// The frames of an animation need the same memory again and again. From malloc, memory at the end of the heap can be
/// fresh each time, with a page fault for each 4 KiB. The memory is **not** cleared.
package final class ScratchMemory {
    private let storage: PixelStorage

    /// - Throws: ``WebImageError/outOfResources(reason:url:)``.
    package init(byteCount: Int, pool: PixelBufferPool = .shared) throws(WebImageError) {
        storage = try PixelStorage(byteCount: byteCount, pool: pool)
    }

    /// The first byte, aligned to 64 bytes, valid while this object exists.
    package var address: UnsafeMutableRawPointer { storage.address }
}
