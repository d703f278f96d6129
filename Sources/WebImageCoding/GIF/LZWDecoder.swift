internal import WebImageCore

/// Unpacks GIF's variant of LZW: codes grow from `minimumCodeSize + 1` to 12 bits, lowest bit first.
///
/// A code stands for a string of palette indices: that of an older code (its prefix) and one more index. A prefix is
/// always a smaller number, so walking from prefix to prefix ends.
struct LZWDecoder {
    private var prefixes = [UInt16](repeating: 0, count: codeLimit)
    private var suffixes = [UInt8](repeating: 0, count: codeLimit)
    private var lengths = [Int](repeating: 0, count: codeLimit)

    private let minimumCodeSize: Int
    private let clearCode: Int
    private var nextCode: Int
    private var codeSize: Int

    /// `nil` unless `minimumCodeSize` is 1 to 8: an index has 8 bits.
    init?(minimumCodeSize: UInt8) {
        guard (1...8).contains(minimumCodeSize) else { return nil }
        self.minimumCodeSize = Int(minimumCodeSize)
        clearCode = 1 << self.minimumCodeSize
        for index in 0..<clearCode {
            suffixes[index] = UInt8(index)
            lengths[index] = 1
        }
        nextCode = clearCode + 2
        codeSize = self.minimumCodeSize + 1
    }

    /// Fills `indices` from its start and returns how many there are: fewer where the end code or the end of `bytes`
    /// comes first.
    ///
    /// - Throws: ``WebImageError/decoding(format:reason:)`` for a code that means nothing yet,
    ///   ``WebImageError/cancelled``.
    mutating func unpack(
        _ bytes: [UInt8], into indices: inout [UInt8], cancellation: Cancellation?
    ) throws(WebImageError) -> Int {
        var position = 0
        var bits = 0
        var bitCount = 0
        var filled = 0
        var nextCheck = 0
        var previous: Int?
        while filled < indices.count {
            // A byte can stand for thousands of pixels, or, with codes that only clear the table, for none.
            if filled >= nextCheck {
                try cancellation?.check()
                nextCheck = filled + Self.pixelsBetweenChecks
            }
            while bitCount < codeSize {
                guard position < bytes.count else { return filled }
                if position % Self.bytesBetweenChecks == 0 { try cancellation?.check() }
                bits |= Int(bytes[position]) << bitCount
                position += 1
                bitCount += 8
            }
            let code = bits & ((1 << codeSize) - 1)
            bits >>= codeSize
            bitCount -= codeSize

            if code == clearCode {
                nextCode = clearCode + 2
                codeSize = minimumCodeSize + 1
                previous = nil
                continue
            }
            if code == clearCode + 1 { return filled }
            guard code < nextCode || (code == nextCode && previous != nil) else {
                throw .decoding(format: .gif, reason: .corrupt("LZW code \(code) before it is defined"))
            }
            // A code can be used in the step that defines it: it is then the previous string and its own first index.
            if let previous { define(prefix: previous, suffix: firstIndex(of: code == nextCode ? previous : code)) }
            filled = write(code, to: &indices, at: filled)
            previous = code
        }
        return filled
    }

    /// A full table stays as it is until a clear code.
    private mutating func define(prefix: Int, suffix: UInt8) {
        guard nextCode < Self.codeLimit else { return }
        prefixes[nextCode] = UInt16(prefix)
        suffixes[nextCode] = suffix
        lengths[nextCode] = lengths[prefix] + 1
        nextCode += 1
        if nextCode == 1 << codeSize, codeSize < 12 { codeSize += 1 }
    }

    private func firstIndex(of code: Int) -> UInt8 {
        var code = code
        while code > clearCode { code = Int(prefixes[code]) }
        return suffixes[code]
    }

    /// Writes the string of `code`, last index first, and returns where the next begins. What does not fit is dropped.
    private func write(_ code: Int, to indices: inout [UInt8], at start: Int) -> Int {
        let end = start + lengths[code]
        var code = code
        var position = end - 1
        while position >= start {
            if position < indices.count { indices[position] = suffixes[code] }
            code = Int(prefixes[code])
            position -= 1
        }
        return min(end, indices.count)
    }

    private static let codeLimit = 4096
    private static let bytesBetweenChecks = 1 << 16
    private static let pixelsBetweenChecks = 1 << 18
}
