internal import WebImageCore

/// Decompresses GIF's variant of LZW as its bytes arrive: codes grow from `minimumCodeSize + 1` to 12 bits, lowest bit
/// first. Some programs write minimum code sizes above 8. Of a code for an index above 255, the low 8 bits count, as in
/// browsers.
///
/// A code stands for a string of palette indices: the previous code's string and the first index of the next. Both are
/// adjacent in the output already, so a table entry is a position there, and decoding a code is one copy:
///
///     output   … a b c d e f g …        codes 40, 41, 42
///                └─40┘└41┘└42┘
///                └─ new ┘ = "abc" + "d", 4 indices from a
///
/// The buffer has space after the last index, since copies write eight bytes at a time. Positions are derived from
/// lengths that are checked: a string precedes the position it is copied to, and no copy starts after the last index.
final class LZWDecoder {
    /// The number of decompressed indices.
    private(set) var count = 0
    /// The number of indices that fit.
    let capacity: Int
    private(set) var state = State.needsBytes

    /// Initialized up to ``count``.
    let indices: UnsafeMutablePointer<UInt8>

    /// The strings, then the indices.
    private let memory: ScratchMemory
    private let strings: UnsafeMutablePointer<OutputString>
    private let minimumCodeSize: Int
    private var nextCode: Int
    private var codeSize: Int
    private var previous: OutputString?
    private var bits: UInt64 = 0
    private var bitCount = 0

    enum State: Equatable {
        /// More bytes are needed.
        case needsBytes
        /// All indices are there, or the end code was read.
        case ended
        /// An undefined code was read.
        case undefinedCode(Int)
    }

    private struct OutputString {
        var start: UInt32
        var length: UInt32
    }

    /// - Parameter minimumCodeSize: 1 to 11, so that the clear code fits in 12 bits.
    init(minimumCodeSize: UInt8, capacity: Int) throws(WebImageError) {
        guard (1...11).contains(minimumCodeSize) else {
            throw .decoding(format: .gif, reason: .corrupt("LZW codes of \(minimumCodeSize) bits"))
        }
        precondition(capacity <= UInt32.max, "\(capacity) indices")
        let stringsLength = Self.codeLimit * MemoryLayout<OutputString>.stride
        memory = try ScratchMemory(byteCount: stringsLength + capacity + Self.slack)
        strings = memory.address.bindMemory(to: OutputString.self, capacity: Self.codeLimit)
        indices = (memory.address + stringsLength).bindMemory(to: UInt8.self, capacity: capacity + Self.slack)
        self.capacity = capacity
        self.minimumCodeSize = Int(minimumCodeSize)
        nextCode = (1 << self.minimumCodeSize) + 2
        codeSize = self.minimumCodeSize + 1
    }

    /// Decompresses `bytes`; the bits of an incomplete code are kept for the next call.
    func unpack(_ bytes: UnsafeRawBufferPointer) {
        guard state == .needsBytes, let source = bytes.baseAddress else { return }
        let clearCode = 1 << minimumCodeSize
        let byteCount = bytes.count
        var position = 0
        var (bits, bitCount, codeSize, nextCode) = (bits, bitCount, codeSize, nextCode)
        var count = count
        var previous = previous
        defer { (self.bits, self.bitCount, self.codeSize, self.nextCode) = (bits, bitCount, codeSize, nextCode) }
        defer { (self.count, self.previous) = (count, previous) }

        while count < capacity {
            if bitCount < codeSize {
                if position <= byteCount - 8 {
                    let word = UInt64(littleEndian: source.loadUnaligned(fromByteOffset: position, as: UInt64.self))
                    bits |= word << UInt64(bitCount)
                    // As many whole bytes as fit.
                    position += (63 - bitCount) >> 3
                    bitCount |= 56
                } else {
                    while bitCount < codeSize {
                        guard position < byteCount else { return }
                        bits |= UInt64(source.load(fromByteOffset: position, as: UInt8.self)) << UInt64(bitCount)
                        position += 1
                        bitCount += 8
                    }
                }
            }
            let code = Int(truncatingIfNeeded: bits) & ((1 << codeSize) - 1)
            bits >>= UInt64(codeSize)
            bitCount -= codeSize

            if code == clearCode {
                nextCode = clearCode + 2
                codeSize = minimumCodeSize + 1
                previous = nil
                continue
            }
            if code == clearCode + 1 { break }
            // This may define the code just read. A full table stays unchanged until a clear code.
            if let previous, nextCode < Self.codeLimit {
                strings[nextCode] = OutputString(start: previous.start, length: previous.length + 1)
                nextCode += 1
                if nextCode == 1 << codeSize, codeSize < 12 { codeSize += 1 }
            }
            let start = UInt32(truncatingIfNeeded: count)
            if code < clearCode {
                indices[count] = UInt8(truncatingIfNeeded: code)
                count += 1
                previous = OutputString(start: start, length: 1)
            } else if code < nextCode {
                let string = strings[code]
                let length = min(Int(string.length), capacity - count)
                copy(from: Int(string.start), to: count, count: length)
                count += length
                previous = OutputString(start: start, length: string.length)
            } else {
                state = .undefinedCode(code)
                return
            }
        }
        state = .ended
    }

    /// Copies indices forward; the ranges may overlap, and up to ``slack`` bytes after the target are overwritten.
    private func copy(from source: Int, to target: Int, count: Int) {
        let (from, to) = (UnsafeMutableRawPointer(indices + source), UnsafeMutableRawPointer(indices + target))
        guard target - source >= 8 || count <= target - source else {
            for index in 0..<count { indices[target + index] = indices[source + index] }
            return
        }
        // Steps of eight never read what the same step writes.
        var index = 0
        while index < count {
            to.storeBytes(
                of: from.loadUnaligned(fromByteOffset: index, as: UInt64.self), toByteOffset: index, as: UInt64.self)
            index += 8
        }
    }

    private static let codeLimit = 4096
    private static let slack = 8
}

/// Compresses palette indices with GIF's variant of LZW; see ``LZWDecoder``.
///
/// Strings are found by a hash of the code for all but the last index, and that index. When all 4096 codes are used,
/// the table is cleared.
struct LZWEncoder {
    private let minimumCodeSize: Int
    /// The codes, lowest bit first.
    private var bytes: [UInt8] = []
    private var bits: UInt64 = 0
    private var bitCount = 0

    /// - Parameter minimumCodeSize: 2 to 8.
    init(minimumCodeSize: Int) { self.minimumCodeSize = minimumCodeSize }

    /// Returns the content of an image block: the minimum code size, then codes in blocks of at most 255 bytes.
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
        // The string, shifted left by 12, and its code; 0 if empty, since no code is its own prefix.
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
        // A decoder adds a string for each code that it reads.
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
    /// At most half of the slots are used.
    private static let slotBits: UInt32 = 13
    private static let slotCount = 1 << 13
    private static let indicesBetweenChecks = 1 << 18
}
