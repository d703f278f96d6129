internal import FoundationEssentials
internal import WebImageCore

/// Bytes in memory that only grow at their end, so that what is there can be read while more arrive, without copies.
struct BodyBuffer {
    private(set) var count = 0
    private var block: Block

    init(capacity: Int) { block = Block(capacity: max(capacity, 4096)) }

    mutating func append(_ bytes: Data) {
        if count + bytes.count > block.capacity {
            let larger = Block(capacity: max(block.capacity * 2, count + bytes.count))
            larger.write(UnsafeRawBufferPointer(start: block.start, count: count), at: 0)
            block = larger
        }
        bytes.withUnsafeBytes { block.write($0, at: count) }
        count += bytes.count
    }

    /// The first bytes, in the same memory, which lives as long as they do; to be read and not changed.
    func prefix(_ byteCount: Int) -> Data {
        let byteCount = min(byteCount, count)
        guard byteCount > 0 else { return Data() }
        return Data(bytesNoCopy: block.start, count: byteCount, deallocator: .custom { [block] _, _ in _ = block })
    }

    /// `@unchecked`: a byte is written once, by the only owner of the buffer, before anybody can see it; the rest is fixed.
    private final class Block: @unchecked Sendable {
        let start: UnsafeMutableRawPointer
        let capacity: Int

        init(capacity: Int) {
            start = .allocate(byteCount: capacity, alignment: 16)
            self.capacity = capacity
        }

        deinit { start.deallocate() }

        func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
            precondition(offset + bytes.count <= capacity)
            if let source = bytes.baseAddress { (start + offset).copyMemory(from: source, byteCount: bytes.count) }
        }
    }
}
