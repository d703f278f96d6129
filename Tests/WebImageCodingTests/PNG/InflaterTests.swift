import CWebImageDeflate
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// Decompression through a window, compared with libdeflate.
@Suite(.timeLimit(.minutes(3))) struct InflaterTests {
    /// Content of more than two windows that compresses differently: not at all, into long and short matches, into one
    /// code, into codes of 15 bits.
    enum Content: CaseIterable {
        case nothing, oneByte, zeros, noise, waves, words, rare

        func bytes(_ random: inout SplitMix64) -> [UInt8] {
            switch self {
            case .nothing: return []
            case .oneByte: return [7]
            case .zeros: return [UInt8](repeating: 0, count: 100_000)
            case .noise: return random.bytes(count: 70_000)
            case .waves: return (0..<80_000).map { UInt8(truncatingIfNeeded: $0 * $0 / 900) & 0xFC }
            case .words:
                let words = (0..<200).map { _ in
                    (0..<Int.random(in: 1...40, using: &random)).map { _ in UInt8.random(in: 97...122, using: &random) }
                }
                return (0..<4_000).flatMap { _ in words[Int.random(in: 0..<200, using: &random)] }
            case .rare:
                // Each value half as often as the previous one.
                return (0..<80_000).map { _ in
                    UInt8(min(20, UInt64.random(in: 1...UInt64.max, using: &random).leadingZeroBitCount))
                }
            }
        }
    }

    @Test(arguments: Content.allCases, [0, 1, 6, 12])
    func decompressesWhatLibdeflateCompresses(_ content: Content, level: Int32) throws {
        var random = SplitMix64(seed: 11)
        let bytes = content.bytes(&random)
        let packed = try zlibStream(bytes, level: level)
        let (file, pieces) = scattered(packed, &random)
        for readByteCount in [1, 13, 1 << 16] {
            #expect(try unpacked(file, pieces, count: bytes.count, readByteCount: readByteCount) == bytes)
        }
        #expect(try unpacked(file, pieces, count: bytes.count + 1, readByteCount: bytes.count + 1) == nil)
    }

    /// A truncated stream gives the available bytes and no others.
    @Test(arguments: Content.allCases) func endsWhereTheStreamEnds(_ content: Content) throws {
        var random = SplitMix64(seed: 12)
        let bytes = content.bytes(&random)
        guard bytes.count > 1 else { return }
        let packed = try zlibStream(bytes, level: 6)
        for part in 0..<20 {
            let cut = [UInt8](packed.prefix((packed.count - 5) * part / 20))
            #expect(try unpacked(cut, [0..<cut.count], count: bytes.count, readByteCount: 4096) == nil)
        }
    }

    /// Gives what libdeflate gives, if that accepts the stream.
    @Test(arguments: Content.allCases) func agreesWithLibdeflateAboutDamage(_ content: Content) throws {
        var random = SplitMix64(seed: 13)
        let bytes = Array(content.bytes(&random).prefix(30_000))
        guard !bytes.isEmpty else { return }
        let packed = try zlibStream(bytes, level: 6)
        var refusedCount = 0
        for _ in 0..<300 {
            var damaged = packed
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                // Damage at the start, where the codes are, is the most harmful.
                let end = Bool.random(using: &random) ? min(packed.count, 100) : packed.count
                damaged[Int.random(in: 0..<end, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
            let theirs = unpackedByLibdeflate(damaged, count: bytes.count)
            let ours = try unpacked(damaged, [0..<damaged.count], count: bytes.count, readByteCount: 500)
            #expect(theirs == nil || ours == theirs)
            if ours == nil { refusedCount += 1 }
        }
        if bytes.count > 1, content != .zeros { #expect(refusedCount > 0) }
    }

    /// A block with fixed codes, one with its own codes and only an end, and another one with fixed codes.
    @Test func alternatesBetweenFixedAndDynamicCodes() throws {
        var bits = Bits()
        for letter in [65, 66] as [UInt8] {
            bits.append(0b010, count: 3)
            bits.appendCode(Int(letter) + 0x30, count: 8)
            bits.appendCode(0, count: 7)
            if letter == 66 { break }
            bits.append(0b100, count: 3)
            bits.append(0, count: 10)
            bits.append(14, count: 4)
            // In the length code, 18 has one bit, 0 and 1 have two.
            for length in [0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2] { bits.append(length, count: 3) }
            // No lengths for 138 and 118 symbols, then the end's, and none for a distance.
            bits.append(127 << 1, count: 8)
            bits.append(107 << 1, count: 8)
            bits.append(0b0111, count: 4)
            bits.append(0, count: 1)
        }
        bits.append(0b011, count: 3)
        bits.appendCode(67 + 0x30, count: 8)
        bits.appendCode(0, count: 7)
        let file = [0x78, 0x9C] + bits.bytes + checksum(of: [65, 66, 67])
        #expect(unpackedByLibdeflate(file, count: 3) == [65, 66, 67])
        #expect(try unpacked(file, [0..<file.count], count: 3, readByteCount: 1) == [65, 66, 67])
        #expect(try unpacked(file, [0..<file.count], count: 4, readByteCount: 4) == nil)
    }

    /// Ten bits can be a block.
    @Test func canBeCancelledBetweenEmptyBlocks() throws {
        var bits = Bits()
        for _ in 0..<200_000 { bits.append(0b010, count: 10) }
        let file = [0x78, 0x9C] + bits.bytes
        let inflater = Inflater([0..<file.count], readByteCount: 1)
        let checkpoints = Checkpoints(cancellingAt: 10)
        #expect(throws: WebImageError.cancelled) {
            try inflater.read(1, of: file.span.bytes, cancellation: checkpoints.cancellation)
        }
        #expect(checkpoints.count == 10)
        #expect(try unpacked(file, [0..<file.count], count: 1, readByteCount: 1) == nil)
    }

    @Test func refusesStreamsThatAreNotZlib() throws {
        let packed = try zlibStream([1, 2, 3], level: 6)
        // Another method, a window that is too large, a wrong checksum, a dictionary.
        for header in [[0x79, 0x9C], [0x88, 0x1C], [0x78, 0x9D], [0x78, 0xBB]] as [[UInt8]] {
            let file = header + packed.dropFirst(2)
            #expect(try unpacked(file, [0..<file.count], count: 3, readByteCount: 3) == nil)
        }
        #expect(try unpacked([], [], count: 1, readByteCount: 1) == nil)
    }

    /// In parts of any length, also empty, with other bytes between them.
    private func scattered(_ packed: [UInt8], _ random: inout SplitMix64) -> ([UInt8], [Range<Int>]) {
        var (file, pieces): ([UInt8], [Range<Int>]) = ([], [])
        var rest = packed[...]
        while !rest.isEmpty {
            file += random.bytes(count: Int.random(in: 0...9, using: &random))
            let count = min(
                rest.count, Int.random(in: 0...1, using: &random) * Int.random(in: 1...3_000, using: &random))
            pieces.append(file.count..<file.count + count)
            file += rest.prefix(count)
            rest = rest.dropFirst(count)
        }
        return (file, pieces)
    }

    private func unpacked(_ file: [UInt8], _ pieces: [Range<Int>], count: Int, readByteCount: Int) throws -> [UInt8]? {
        let inflater = Inflater(pieces, readByteCount: readByteCount)
        var bytes: [UInt8] = []
        while bytes.count < count {
            let step = min(readByteCount, count - bytes.count)
            guard let read = try inflater.read(step, of: file.span.bytes, cancellation: nil) else { return nil }
            bytes += UnsafeBufferPointer(start: read, count: step)
        }
        return bytes
    }

    private func zlibStream(_ bytes: [UInt8], level: Int32) throws -> [UInt8] {
        let compressor = try #require(libdeflate_alloc_compressor(level))
        defer { libdeflate_free_compressor(compressor) }
        let bound = libdeflate_zlib_compress_bound(compressor, bytes.count)
        return [UInt8](unsafeUninitializedCapacity: bound) { output, count in
            count = libdeflate_zlib_compress(compressor, bytes, bytes.count, output.baseAddress, bound)
        }
    }

    /// `nil` if the stream is not intact, or has another length.
    private func unpackedByLibdeflate(_ stream: [UInt8], count: Int) -> [UInt8]? {
        guard let decompressor = libdeflate_alloc_decompressor() else { return nil }
        defer { libdeflate_free_decompressor(decompressor) }
        var status = LIBDEFLATE_BAD_DATA
        let output = [UInt8](unsafeUninitializedCapacity: count) { output, filled in
            status = libdeflate_zlib_decompress(
                decompressor, stream, stream.count, output.baseAddress, count, nil)
            filled = status == LIBDEFLATE_SUCCESS ? count : 0
        }
        return status == LIBDEFLATE_SUCCESS ? output : nil
    }

    private func checksum(of bytes: [UInt8]) -> [UInt8] {
        Array(PNGWriter.number(Int(libdeflate_adler32(1, bytes, bytes.count))))
    }
}

/// Bits in deflate's order: the lowest of a byte first.
private struct Bits {
    private(set) var bytes: [UInt8] = []
    private var count = 0

    /// Appends a number, lowest bit first.
    mutating func append(_ number: Int, count bitCount: Int) {
        for bit in 0..<bitCount { append(number >> bit & 1) }
    }

    /// Appends a code, highest bit first.
    mutating func appendCode(_ code: Int, count bitCount: Int) {
        for bit in (0..<bitCount).reversed() { append(code >> bit & 1) }
    }

    private mutating func append(_ bit: Int) {
        if count % 8 == 0 { bytes.append(0) }
        bytes[count / 8] |= UInt8(bit) << UInt8(count % 8)
        count += 1
    }
}
