internal import FoundationEssentials
internal import WebImageCore

/// Bytes in memory that are only appended to, so that existing ones can be read without a copy while more arrive.
struct BodyBuffer {
    private(set) var count = 0
    /// `nil` while the buffer is empty and its final size is unknown.
    private var block: Block?

    /// Allocates memory for a number of bytes; 0 if unknown.
    init(capacity: Int) { block = capacity > 0 ? Block(capacity: max(capacity, Self.minimumCapacity)) : nil }

    private static let minimumCapacity = 512

    mutating func append(_ bytes: Data) {
        let block = room(for: bytes.count)
        bytes.withUnsafeBytes { block.write($0, at: count) }
        count += bytes.count
    }

    private mutating func room(for byteCount: Int) -> Block {
        let needed = count + byteCount
        if let block, needed <= block.capacity { return block }
        let larger = Block(capacity: max((block?.capacity ?? 0) * 2, needed, Self.minimumCapacity))
        if let block { larger.write(UnsafeRawBufferPointer(start: block.start, count: count), at: 0) }
        block = larger
        return larger
    }

    /// Returns the first bytes without a copy. They keep the memory alive and must not be changed.
    func prefix(_ byteCount: Int) -> Data {
        let byteCount = min(byteCount, count)
        guard byteCount > 0, let block else { return Data() }
        return Data(bytesNoCopy: block.start, count: byteCount, deallocator: .custom { [block] _, _ in _ = block })
    }

    /// `@unchecked`: each byte is written once, by the buffer's only owner, before other threads can see it. The rest
    /// is constant.
    private final class Block: @unchecked Sendable {
        let start: UnsafeMutableRawPointer
        let capacity: Int

        init(capacity: Int) {
            // A larger alignment would be slower than `malloc`, which aligns to 16 anyway.
            start = .allocate(byteCount: capacity, alignment: 1)
            self.capacity = capacity
        }

        deinit { start.deallocate() }

        func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
            precondition(offset + bytes.count <= capacity)
            if let source = bytes.baseAddress { (start + offset).copyMemory(from: source, byteCount: bytes.count) }
        }
    }
}
