internal import CWebImageISAL
internal import WebImageCore

/// Decompresses a zlib stream (RFC 1950 and 1951) through a window with ISA-L, so that the whole output is never in
/// memory.
///
///     ┌──────────────────┬──────────────┐
///     │ unpacked, unread │ free         │   unread bytes move to the front before more are unpacked
///     └──────────────────┴──────────────┘
///
/// It does not check the checksum, which is left to libpng. ISA-L ends some good streams early on ARM before version 2.32,
/// so an end is no proof of damage.
final class Inflater {
    /// The ranges of the stream in the file.
    private let pieces: [Range<Int>]
    private var pieceIndex = 0
    /// The offset in the file of the next byte for ISA-L.
    private var position = 0
    private var pieceEnd = 0
    private var hasBegun = false
    /// After the last block, damage, or all bytes of the stream.
    private var hasEnded = false
    private let state = UnsafeMutablePointer<inflate_state>.allocate(capacity: 1)

    private let window: UnsafeMutablePointer<UInt8>
    private let capacity: Int
    private var readCount = 0
    private var unpackedCount = 0
    private var pages = FilePages()

    /// - Parameters:
    ///   - pieces: the ranges of the stream in the file.
    ///   - readByteCount: the maximum number of bytes that one call reads.
    init(_ pieces: [Range<Int>], readByteCount: Int) {
        self.pieces = pieces
        capacity = readByteCount
        window = .allocate(capacity: capacity)
        position = pieces.first?.lowerBound ?? 0
        pieceEnd = pieces.first?.upperBound ?? 0
        isal_inflate_init(state)
        state.pointee.crc_flag = UInt32(ISAL_DEFLATE)
    }

    deinit {
        window.deallocate()
        state.deallocate()
    }

    /// Returns the next `count` bytes, valid until the next call; `nil` if the stream is damaged or ends.
    ///
    /// - Throws: ``WebImageError/cancelled``, checked often, since a stream may be long and unpack to nothing.
    func read(
        _ count: Int, of data: RawSpan, cancellation: Cancellation?
    ) throws(WebImageError) -> UnsafePointer<UInt8>? {
        if unpackedCount - readCount < count {
            window.update(from: window + readCount, count: unpackedCount - readCount)
            unpackedCount -= readCount
            readCount = 0
            try data.withUnsafeBytes { (data) throws(WebImageError) in
                while unpackedCount < capacity, !hasEnded {
                    try cancellation?.check()
                    unpack(data)
                }
            }
            pages.release(before: position, of: data)
            guard unpackedCount >= count else { return nil }
        }
        defer { readCount += count }
        return UnsafePointer(window + readCount)
    }

    /// Has ISA-L unpack a step.
    private func unpack(_ data: UnsafeRawBufferPointer) {
        if !hasBegun {
            guard readHeader(data) else { return hasEnded = true }
            hasBegun = true
        }
        // At the end of the stream this is 0, and there may still be output.
        let inputCount = moveToNextPiece() ? min(pieceEnd - position, Self.stepByteCount) : 0
        let outputCount = capacity - unpackedCount
        guard let start = data.bindMemory(to: UInt8.self).baseAddress else { return hasEnded = true }
        // ISA-L does not write to it.
        state.pointee.next_in = UnsafeMutablePointer(mutating: start + position)
        state.pointee.avail_in = UInt32(inputCount)
        state.pointee.next_out = window + unpackedCount
        state.pointee.avail_out = UInt32(outputCount)
        let status = isal_inflate(state)
        // After damage, the numbers may be wrong.
        let (inputLeft, outputLeft) = (Int(state.pointee.avail_in), Int(state.pointee.avail_out))
        guard status == ISAL_DECOMP_OK, inputLeft <= inputCount, outputLeft <= outputCount else {
            return hasEnded = true
        }
        position += inputCount - inputLeft
        unpackedCount += outputCount - outputLeft
        hasEnded =
            state.pointee.block_state == ISAL_BLOCK_FINISH || (inputLeft == inputCount && outputLeft == outputCount)
    }

    /// Deflate, a window of at most 32 KiB, and no dictionary, as PNG requires.
    private func readHeader(_ data: UnsafeRawBufferPointer) -> Bool {
        guard let method = nextByte(data), let flags = nextByte(data) else { return false }
        return method & 0xF == 8 && method >> 4 <= 7 && (method << 8 | flags) % 31 == 0 && flags & 0x20 == 0
    }

    private func nextByte(_ data: UnsafeRawBufferPointer) -> Int? {
        guard moveToNextPiece() else { return nil }
        defer { position += 1 }
        return Int(data[position])
    }

    /// Moves to the next piece if this one is used up; returns `false` at the end of the stream.
    private func moveToNextPiece() -> Bool {
        while position == pieceEnd {
            guard pieceIndex + 1 < pieces.count else { return false }
            pieceIndex += 1
            (position, pieceEnd) = (pieces[pieceIndex].lowerBound, pieces[pieceIndex].upperBound)
        }
        return true
    }

    /// The maximum number of bytes between checks of the cancellation. As empty blocks, they take 2 ms.
    private static let stepByteCount = 1 << 14
}
