internal import Glibc
internal import WebImageCore
internal import WebImageIsolation

/// The memory for a result, as the source of pixel memory while an image is decoded: what is decoded need not be copied.
///
///     0 ──▶ block ──▶ block (released: discarded) ──▶ block (the result) ──▶ next … end
///
/// Addresses are not used twice, because those that were released take no memory.
final class OutputMemory: PixelMemorySource, @unchecked Sendable {
    // `@unchecked`: the state is under a lock, the mapping is a constant.
    private let mapping: SharedMemory.Mapping
    private let state = Lock(State())

    private struct State {
        var end = 0
        var blockCount = 0
        /// Where the result is.
        var result: Int?
    }

    /// `nil` if there is no address space for it.
    init?(_ memory: SharedMemory) {
        guard let mapping = memory.mapped(.shared) else { return nil }
        self.mapping = mapping
    }

    /// Whether no pixels are in the memory any more.
    var isUnused: Bool { state.withLock { $0.blockCount == 0 } }

    func take(byteCount: Int) -> UnsafeMutableRawPointer? {
        let offset = state.withLock { state -> Int? in
            // Whole pages, so that those of a released block can be given back.
            let end = (state.end + byteCount + 4095) / 4096 * 4096
            guard end <= mapping.byteCount else { return nil }
            defer { state.end = end }
            state.blockCount += 1
            return state.end
        }
        return offset.map { mapping.address + $0 }
    }

    func release(_ address: UnsafeMutableRawPointer, byteCount: Int) {
        let offset = address - mapping.address
        let isResult = state.withLock { state in
            state.blockCount -= 1
            return state.result.map((offset..<offset + byteCount).contains) == true
        }
        if !isResult { mapping.discard(address, byteCount: byteCount) }
    }

    /// Returns where `pixels` are in the memory, copied there if they are elsewhere. `nil` without space.
    func layout(of pixels: PixelBuffer) -> PixelLayout? {
        let distance = UnsafeRawPointer(pixels.baseAddress) - UnsafeRawPointer(mapping.address)
        if distance >= 0, distance < mapping.byteCount {
            state.withLock { $0.result = distance }
            return PixelLayout(
                offset: distance, size: pixels.size, bytesPerRow: pixels.bytesPerRow, isOpaque: pixels.isOpaque)
        }
        let rowByteCount = pixels.width * 4
        guard let copy = take(byteCount: rowByteCount * pixels.height) else { return nil }
        // It is not released: it is the result.
        state.withLock { $0.blockCount -= 1 }
        for row in 0..<pixels.height { memcpy(copy + row * rowByteCount, pixels.row(row), rowByteCount) }
        return PixelLayout(
            offset: copy - mapping.address, size: pixels.size, bytesPerRow: rowByteCount, isOpaque: pixels.isOpaque)
    }

    /// Writes bytes one after the other; `false` without space.
    func write(_ parts: [[UInt8]?]) -> Bool {
        guard parts.reduce(0, { $0 + ($1?.count ?? 0) }) <= mapping.byteCount else { return false }
        var offset = 0
        for part in parts.compactMap(\.self) {
            part.withUnsafeBytes { bytes in
                if let start = bytes.baseAddress { memcpy(mapping.address + offset, start, bytes.count) }
            }
            offset += part.count
        }
        return true
    }
}
