internal import FoundationEssentials
internal import WebImageCore

/// Bytes in memory that only grow at their end, so that what is there can be read while more arrive, without copies.
struct BodyBuffer {
    private(set) var count = 0
    /// `nil` as long as there is nothing, and nobody has said how much there will be.
    private var block: Block?

    /// Makes room for so many bytes; 0 for an unknown number.
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

    /// The first bytes, in the same memory, which lives as long as they do; to be read and not changed.
    func prefix(_ byteCount: Int) -> Data {
        let byteCount = min(byteCount, count)
        guard byteCount > 0, let block else { return Data() }
        return Data(bytesNoCopy: block.start, count: byteCount, deallocator: .custom { [block] _, _ in _ = block })
    }

    /// `@unchecked`: a byte is written once, by the only owner of the buffer, before anybody can see it; the rest is fixed.
    private final class Block: @unchecked Sendable {
        let start: UnsafeMutableRawPointer
        let capacity: Int

        init(capacity: Int) {
            // A larger one would take a slower way than `malloc`, which aligns to 16 anyway.
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
