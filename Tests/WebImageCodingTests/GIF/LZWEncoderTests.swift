import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// What is packed can be unpacked.
@Suite struct LZWEncoderTests {
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
    func packsEveryLengthAtWhichCodesGrow(minimumCodeSize: Int) throws {
        var generator = SplitMix64(seed: UInt64(minimumCodeSize))
        for count in Array(1...80) + [255, 256, 257, 1_000, 4_000, 5_000, 30_000] {
            for range in [0, 1, (1 << minimumCodeSize) - 1] {
                let indices = (0..<count).map { _ in UInt8.random(in: 0...UInt8(range), using: &generator) }
                let codes = try LZWEncoder.packed(indices, minimumCodeSize: minimumCodeSize, cancellation: nil)
                #expect(try unpacked(codes, count: count) == indices, "\(count) of \(range + 1)")
            }
        }
    }

    @Test func packsOneColorTightly() throws {
        let indices = [UInt8](repeating: 3, count: 100_000)
        let codes = try LZWEncoder.packed(indices, minimumCodeSize: 2, cancellation: nil)
        #expect(codes.count < 700)
        #expect(try unpacked(codes, count: indices.count) == indices)
    }
}
