internal import WebImageCore

/// Packs palette indices with GIF's variant of LZW; see ``LZWDecoder``.
///
/// Strings are found by their hash: that of the code for all but the last index, and that index. When all 4096 codes mean
/// something, it starts anew.
struct LZWEncoder {
    private let minimumCodeSize: Int
    /// Packed codes, lowest bit first.
    private var bytes: [UInt8] = []
    private var bits: UInt64 = 0
    private var bitCount = 0

    /// - Parameter minimumCodeSize: 2 to 8.
    init(minimumCodeSize: Int) { self.minimumCodeSize = minimumCodeSize }

    /// The content of an image block: the minimum code size, then codes in blocks of at most 255 bytes.
    static func packed(
        _ indices: [UInt8], minimumCodeSize: Int, cancellation: Cancellation?
    ) throws(WebImageError) -> [UInt8] {
        var encoder = LZWEncoder(minimumCodeSize: minimumCodeSize)
        try encoder.pack(indices, cancellation: cancellation)
        var output: [UInt8] = [UInt8(minimumCodeSize)]
        output.reserveCapacity(encoder.bytes.count + encoder.bytes.count / 255 + 3)
        for start in stride(from: 0, to: encoder.bytes.count, by: 255) {
            let block = encoder.bytes[start..<min(start + 255, encoder.bytes.count)]
            output.append(UInt8(block.count))
            output += block
        }
        output.append(0)
        return output
    }

    private mutating func pack(_ indices: [UInt8], cancellation: Cancellation?) throws(WebImageError) {
        let clearCode = UInt32(1 << minimumCodeSize)
        let firstCode = clearCode + 2
        var nextCode = firstCode
        var codeSize = minimumCodeSize + 1
        // What a slot is for, shifted left by 12, and the code for it; 0 is none, since no code follows itself so.
        var table = [UInt32](repeating: 0, count: Self.slotCount)
        bytes.reserveCapacity(indices.count / 2)
        put(clearCode, codeSize)
        var prefix = UInt32(indices.first ?? 0)
        for start in stride(from: 1, to: indices.count, by: Self.indicesBetweenChecks) {
            try cancellation?.check()
            for index in indices[start..<min(start + Self.indicesBetweenChecks, indices.count)] {
                let string = prefix << 8 | UInt32(index)
                var slot = Int((string &* 0x9E37_79B1) >> (32 - Self.slotBits))
                while table[slot] != 0, table[slot] >> 12 != string { slot = (slot + 1) & (Self.slotCount - 1) }
                if table[slot] != 0 {
                    prefix = table[slot] & 0xFFF
                    continue
                }
                put(prefix, codeSize)
                prefix = UInt32(index)
                if nextCode < Self.codeLimit {
                    table[slot] = string << 12 | nextCode
                    if nextCode == 1 << UInt32(codeSize) { codeSize += 1 }
                    nextCode += 1
                } else {
                    put(clearCode, codeSize)
                    for slot in table.indices { table[slot] = 0 }
                    nextCode = firstCode
                    codeSize = minimumCodeSize + 1
                }
            }
        }
        put(prefix, codeSize)
        // A decoder adds a string with each code that it reads.
        if nextCode == 1 << UInt32(codeSize), codeSize < 12 { codeSize += 1 }
        put(clearCode + 1, codeSize)
        if bitCount > 0 { bytes.append(UInt8(truncatingIfNeeded: bits)) }
    }

    private mutating func put(_ code: UInt32, _ codeSize: Int) {
        bits |= UInt64(code) << UInt64(bitCount)
        bitCount += codeSize
        while bitCount >= 8 {
            bytes.append(UInt8(truncatingIfNeeded: bits))
            bits >>= 8
            bitCount -= 8
        }
    }

    private static let codeLimit: UInt32 = 4096
    /// Half of them are used at most.
    private static let slotBits: UInt32 = 13
    private static let slotCount = 1 << 13
    private static let indicesBetweenChecks = 1 << 18
}
