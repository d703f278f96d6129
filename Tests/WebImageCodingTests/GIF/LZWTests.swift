import Testing
@testable import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// The LZW decoder compared with a literal implementation of the specification, on noise, in pieces of every size.
@Suite(.timeLimit(.minutes(3))) struct LZWDecoderTests {
    @Test func decompressesAnyBytesLikeASimpleDecoder() throws {
        var generator = SplitMix64(seed: 21)
        for round in 0..<500 {
            let minimumCodeSize = UInt8.random(in: 1...11, using: &generator)
            let capacity = Int.random(in: 1...3000, using: &generator)
            let bytes =
                round.isMultiple(of: 2)
                ? (0..<Int.random(in: 0...300, using: &generator)).map { _ in
                    UInt8.random(in: 0...255, using: &generator)
                }
                : validCodes(minimumCodeSize: Int(minimumCodeSize), count: 400, using: &generator)
            let expected = PlainLZW.unpack(bytes, minimumCodeSize: Int(minimumCodeSize), capacity: capacity)
            let decoder = try LZWDecoder(minimumCodeSize: minimumCodeSize, capacity: capacity)
            var start = 0
            while start < bytes.count {
                let end = min(bytes.count, start + Int.random(in: 1...40, using: &generator))
                bytes[start..<end].withUnsafeBytes { decoder.unpack($0) }
                start = end
            }
            #expect(Array(UnsafeBufferPointer(start: decoder.indices, count: decoder.count)) == expected.indices)
            #expect(decoder.state == expected.state)
        }
    }

    @Test(arguments: [0, 12, 255] as [UInt8])
    func refusesInvalidCodeSizes(_ size: UInt8) {
        #expect(throws: (any Error).self) { _ = try LZWDecoder(minimumCodeSize: size, capacity: 1) }
    }

    /// Valid codes with long strings, strings defined by their own step, full tables and clears.
    private func validCodes(minimumCodeSize: Int, count: Int, using generator: inout SplitMix64) -> [UInt8] {
        var bits: [Bool] = []
        let clear = 1 << minimumCodeSize
        var (size, next, hasPrevious) = (minimumCodeSize + 1, clear + 2, false)
        for _ in 0..<count {
            let isLiteral = !hasPrevious || Int.random(in: 0..<3, using: &generator) == 0
            var code = Int.random(in: 0..<clear, using: &generator)
            if !isLiteral { code = Int.random(in: max(clear + 2, next - 3)...min(next, 4095), using: &generator) }
            let isClear = Int.random(in: 0..<200, using: &generator) == 0
            if isClear { code = clear }
            for bit in 0..<size { bits.append(code >> bit & 1 == 1) }
            if isClear {
                (size, next, hasPrevious) = (minimumCodeSize + 1, clear + 2, false)
                continue
            }
            if hasPrevious, next < 4096 {
                next += 1
                if next == 1 << size, size < 12 { size += 1 }
            }
            hasPrevious = true
        }
        return stride(from: 0, to: bits.count, by: 8).map { start in
            (0..<8).reduce(0) { $0 | (start + $1 < bits.count && bits[start + $1] ? 1 << UInt8($1) : 0) }
        }
    }
}

/// Appendix F of the specification, with whole strings in its table.
private enum PlainLZW {
    static func unpack(
        _ bytes: [UInt8], minimumCodeSize: Int, capacity: Int
    ) -> (indices: [UInt8], state: LZWDecoder.State) {
        let clear = 1 << minimumCodeSize
        var table: [[UInt8]] = []
        var (size, position) = (0, 0)
        var previous: [UInt8]?
        func reset() {
            table = (0..<clear).map { [UInt8(truncatingIfNeeded: $0)] } + [[], []]
            size = minimumCodeSize + 1
            previous = nil
        }
        reset()
        var output: [UInt8] = []
        while output.count < capacity {
            guard position + size <= bytes.count * 8 else { return (output, .needsBytes) }
            let code = (0..<size).reduce(0) { code, bit in
                code | Int(bytes[(position + bit) / 8] >> UInt8((position + bit) % 8) & 1) << bit
            }
            position += size
            if code == clear {
                reset()
                continue
            }
            if code == clear + 1 { break }
            if let previous, table.count < 4096 {
                let first = code < table.count ? table[code][0] : previous[0]
                table.append(previous + [first])
                if table.count == 1 << size, size < 12 { size += 1 }
            }
            guard code < table.count else { return (output, .undefinedCode(code)) }
            output += table[code]
            previous = table[code]
        }
        return (Array(output.prefix(capacity)), .ended)
    }
}

/// Round trips.
@Suite(.timeLimit(.minutes(3))) struct LZWEncoderTests {
    private func unpacked(_ codes: [UInt8], count: Int) throws -> [UInt8] {
        let decoder = try LZWDecoder(minimumCodeSize: codes[0], capacity: count)
        var offset = 1
        while codes[offset] > 0 {
            let block = codes[offset + 1..<offset + 1 + Int(codes[offset])]
            Array(block).withUnsafeBytes { decoder.unpack($0) }
            offset += 1 + Int(codes[offset])
        }
        #expect(offset == codes.count - 1)
        #expect(decoder.count == count)
        return Array(UnsafeBufferPointer(start: decoder.indices, count: decoder.count))
    }

    @Test(arguments: 2...8)
    func compressesEveryLengthAtWhichCodesGrow(minimumCodeSize: Int) throws {
        var generator = SplitMix64(seed: UInt64(minimumCodeSize))
        for count in Array(1...80) + [255, 256, 257, 1_000, 4_000, 5_000, 30_000] {
            for range in [0, 1, (1 << minimumCodeSize) - 1] {
                let indices = (0..<count).map { _ in UInt8.random(in: 0...UInt8(range), using: &generator) }
                let codes = try LZWEncoder.packed(indices, minimumCodeSize: minimumCodeSize, cancellation: nil)
                #expect(try unpacked(codes, count: count) == indices, "\(count) of \(range + 1)")
            }
        }
    }

    @Test func compressesOneColorWell() throws {
        let indices = [UInt8](repeating: 3, count: 100_000)
        let codes = try LZWEncoder.packed(indices, minimumCodeSize: 2, cancellation: nil)
        #expect(codes.count < 700)
        #expect(try unpacked(codes, count: indices.count) == indices)
    }
}
