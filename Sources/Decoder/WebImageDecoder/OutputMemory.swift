internal import Glibc
internal import WebImageCore
internal import WebImageIsolation

/// The memory for results, as the source of pixel memory while an image is decoded: what is decoded need not be copied.
///
///     0 ──▶ block ──▶ gap ──▶ block (the result) ──▶ gap … end
///
/// It is kept for all images, because new pages cost more than what is written to them. A block takes the first gap, whose pages
/// exist. The program has copied a result when it sends its next request, so its block is free then.
final class OutputMemory: PixelMemorySource, @unchecked Sendable {
    // `@unchecked`: the state is under a lock, the mapping is a constant.
    private let mapping: SharedMemory.Mapping
    private let state = Lock(State())

    private struct State {
        /// Those in use, by position.
        var blocks: [Range<Int>] = []
        /// Where memory begins that was not used since it was given back.
        var end = 0
        /// The rows of an image that were reported.
        var reported: (layout: PixelLayout, rowCount: Int)?
        /// Gets the rows of the first image that are finished; `nil` if nothing wants them.
        var onRows: (@Sendable (PixelLayout, Int) -> Void)?

        /// Forgets the rows of an image that were reported, and reports no others of the request.
        mutating func forgetRows(at offset: Int) {
            if reported?.layout.offset == offset { (reported, onRows) = (nil, nil) }
        }
    }

    /// `nil` if there is no address space for it.
    init?(_ memory: SharedMemory) {
        guard let mapping = memory.mapped(.shared) else { return nil }
        self.mapping = mapping
    }

    var byteCount: Int { mapping.byteCount }

    func take(byteCount: Int) -> UnsafeMutableRawPointer? {
        let offset = state.withLock { state -> Int? in
            // A block begins at a page, so that the pages of a gap belong to no other.
            let length = (byteCount + Self.pageByteCount - 1) / Self.pageByteCount * Self.pageByteCount
            var (start, index) = (0, 0)
            while index < state.blocks.count, state.blocks[index].lowerBound - start < length {
                start = state.blocks[index].upperBound
                index += 1
            }
            guard length <= mapping.byteCount - start else { return nil }
            state.blocks.insert(start..<start + length, at: index)
            state.end = max(state.end, start + length)
            return start
        }
        return offset.map { mapping.address + $0 }
    }

    func release(_ address: UnsafeMutableRawPointer, byteCount: Int) {
        let offset = address - mapping.address
        state.withLock { state in
            guard let index = state.blocks.firstIndex(where: { $0.lowerBound == offset }) else { return }
            state.blocks.remove(at: index)
            state.forgetRows(at: offset)
        }
    }

    // MARK: Rows

    /// Reports the rows of the first image whose decoder tells that they are finished, so that the program copies them while others are
    /// decoded.
    func reportRows(to body: (@Sendable (PixelLayout, Int) -> Void)?) {
        state.withLock { ($0.reported, $0.onRows) = (nil, body) }
    }

    func finish(_ address: UnsafeMutableRawPointer, size: PixelSize, bytesPerRow: Int, rowCount: Int) {
        // The program gives the pages of a longer image back while it copies it.
        guard (Self.leastReportedByteCount..<Self.keptByteCount).contains(bytesPerRow * size.height) else { return }
        let layout = PixelLayout(
            offset: address - mapping.address, size: size, bytesPerRow: bytesPerRow, isOpaque: true)
        let report = state.withLock { state -> (@Sendable (PixelLayout, Int) -> Void)? in
            let known = state.reported?.layout == layout ? state.reported?.rowCount : nil
            guard state.onRows != nil, state.reported == nil || known != nil,
                (rowCount - (known ?? 0)) * bytesPerRow >= Self.reportByteCount
            else { return nil }
            state.reported = (layout, rowCount)
            return state.onRows
        }
        report?(layout, rowCount)
    }

    func reopen(_ address: UnsafeMutableRawPointer) {
        state.withLock { $0.forgetRows(at: address - mapping.address) }
    }

    /// How many rows of an image are as they were reported.
    func finishedRowCount(of layout: PixelLayout) -> Int {
        state.withLock { $0.reported?.layout.isSamePlace(as: layout) == true ? $0.reported?.rowCount ?? 0 : 0 }
    }

    /// From this on, copying takes a millisecond.
    private static let leastReportedByteCount = 8 << 20
    /// A report takes some 20 µs, and what is left at the end is copied by several threads.
    private static let reportByteCount = 4 << 20
    /// Pages behind this are given back with the next image: 16 megapixels.
    static let keptByteCount = 64 << 20

    /// Gives the pages behind `offset` back that no block has.
    func discardGaps(from offset: Int) {
        state.withLock { state in
            var start = offset
            for block in state.blocks + [state.end..<state.end] {
                if block.lowerBound > start {
                    mapping.discard(mapping.address + start, byteCount: block.lowerBound - start)
                }
                start = max(start, block.upperBound)
            }
            state.end = min(state.end, max(offset, state.blocks.last?.upperBound ?? 0))
        }
    }

    private static let pageByteCount = sysconf(Int32(_SC_PAGESIZE))

    /// Returns where `pixels` are in the memory, copied there if they are elsewhere. `nil` without space.
    func layout(of pixels: PixelBuffer) -> PixelLayout? {
        let distance = UnsafeRawPointer(pixels.baseAddress) - UnsafeRawPointer(mapping.address)
        if distance >= 0, distance < mapping.byteCount {
            return PixelLayout(
                offset: distance, size: pixels.size, bytesPerRow: pixels.bytesPerRow, isOpaque: pixels.isOpaque)
        }
        let rowByteCount = pixels.width * 4
        let offset = write(byteCount: rowByteCount * pixels.height) { copy in
            for row in 0..<pixels.height { memcpy(copy + row * rowByteCount, pixels.row(row), rowByteCount) }
        }
        return offset.map {
            PixelLayout(offset: $0, size: pixels.size, bytesPerRow: rowByteCount, isOpaque: pixels.isOpaque)
        }
    }

    /// Writes bytes one after the other. Returns where they begin; `nil` without space.
    func write(_ parts: [[UInt8]?]) -> Int? {
        write(byteCount: parts.reduce(0) { $0 + ($1?.count ?? 0) }) { memory in
            var offset = 0
            for part in parts.compactMap(\.self) {
                part.withUnsafeBytes { bytes in
                    if let start = bytes.baseAddress { memcpy(memory + offset, start, bytes.count) }
                }
                offset += part.count
            }
        }
    }

    /// Writes a result. Its block is free at once: nothing is written before the next request.
    private func write(byteCount: Int, _ body: (UnsafeMutableRawPointer) -> Void) -> Int? {
        guard let memory = take(byteCount: max(byteCount, 1)) else { return nil }
        body(memory)
        release(memory, byteCount: byteCount)
        return memory - mapping.address
    }
}
