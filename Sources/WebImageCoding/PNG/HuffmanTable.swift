/// A prefix code of deflate (RFC 1951, 3.2.2) as a lookup table for the next bits of the stream.
///
/// Codes longer than the table's index share an entry that refers to a second table after the first:
///
///     ┌──────────────────────┬────┬────┬───┐
///     │ 2^indexBitCount      │ 2nd│ 2nd│ … │
///     └───────────┬──────────┴────┴────┴───┘
///                 └─ long code ───▲
final class HuffmanTable {
    /// What the bits mean:
    ///
    ///     31        30 … 16          15             14        11 … 8           5 … 0
    ///     literal   value or place   second table   special   bits of code     bits of code, and extra ones
    ///
    /// In an entry for a second table, the two numbers are the bits of its index and of the first index. The end of a
    /// block and invalid codes are special.
    struct Entry {
        let word: UInt32

        @inline(__always) var isLiteral: Bool { Int32(bitPattern: word) < 0 }
        @inline(__always) var leadsToSecondTable: Bool { word & 1 << 15 != 0 }
        @inline(__always) var isSpecial: Bool { word & 1 << 14 != 0 }
        /// The bits of the code and its extra bits.
        @inline(__always) var bitCount: UInt64 { UInt64(word & 0x3F) }
        /// The bits of the code.
        @inline(__always) var codeBitCount: UInt64 { UInt64(word >> 8 & 0xF) }
        @inline(__always) var value: Int { Int(word >> 16 & 0x7FFF) }
        /// The value plus the number in its extra bits.
        @inline(__always) func value(with bits: UInt64) -> Int {
            value &+ Int(truncatingIfNeeded: (bits & (1 &<< bitCount &- 1)) &>> codeBitCount)
        }
        @inline(__always) var literal: UInt8 { UInt8(truncatingIfNeeded: word >> 16) }
    }

    let indexBitCount: Int
    let entries: UnsafeMutablePointer<Entry>
    private let capacity: Int

    /// - Parameters:
    ///   - indexBitCount: the bits of the first table's index.
    ///   - symbolLimit: the most symbols of a code.
    init(indexBitCount: Int, symbolLimit: Int) {
        self.indexBitCount = indexBitCount
        // In a complete code, a second table has at least two codes.
        capacity = 1 << indexBitCount + (symbolLimit / 2) << max(0, Self.longestCode - indexBitCount)
        entries = .allocate(capacity: capacity)
        entries.initialize(repeating: Self.missing, count: capacity)
    }

    deinit { entries.deallocate() }

    /// Fills the table for symbols with codes of these lengths; `meanings` are their entries without the codes' bits.
    ///
    /// - Returns: whether the code is complete. A code of a single bit, or none, counts as complete: there may be few
    ///   distances.
    func build(_ lengths: ArraySlice<UInt8>, meanings: [UInt32]) -> Bool {
        var counts = [Int](repeating: 0, count: Self.longestCode + 1)
        var places = counts
        for length in lengths { counts[Int(length)] += 1 }
        counts[0] = 0
        var (place, spaceLeft, longest) = (0, 1, 0)
        for length in 1...Self.longestCode {
            spaceLeft = spaceLeft * 2 - counts[length]
            if spaceLeft < 0 { return false }
            places[length] = place
            place += counts[length]
            if counts[length] > 0 { longest = length }
        }
        if spaceLeft > 0 {
            guard place == counts[1], place <= 1 else { return false }
            entries.update(repeating: Self.missing, count: 1 << indexBitCount)
        }
        let sorted = [Int](unsafeUninitializedCapacity: place) { sorted, count in
            for (symbol, length) in zip(0..., lengths) where length > 0 {
                sorted.initializeElement(at: places[Int(length)], to: symbol)
                places[Int(length)] += 1
            }
            count = place
        }
        fillEntries(for: sorted, longest: longest, lengths, meanings)
        return true
    }

    /// Visits `symbols` in the order of their codes, so that those with a common prefix are adjacent.
    private func fillEntries(
        for symbols: [Int], longest: Int, _ lengths: ArraySlice<UInt8>, _ meanings: [UInt32]
    ) {
        let secondBitCount = max(0, longest - indexBitCount)
        var end = 1 << indexBitCount
        var secondTable = (prefix: -1, place: 0)
        // Its first bit is the lowest.
        var code = 0
        for symbol in symbols {
            let length = Int(lengths[lengths.startIndex + symbol])
            let ownLength = length > indexBitCount ? length - indexBitCount : length
            let entry = Entry(word: meanings[symbol] + UInt32(ownLength) << 8 + UInt32(ownLength))
            if length <= indexBitCount {
                fill(entries, from: code, step: 1 << length, count: 1 << indexBitCount, entry)
            } else {
                let prefix = code & (1 << indexBitCount - 1)
                if prefix != secondTable.prefix {
                    secondTable = (prefix, end)
                    end += 1 << secondBitCount
                    precondition(end <= capacity, "more second tables than a complete code has")
                    let link = UInt32(secondTable.place) << 16 + UInt32(secondBitCount) << 8 + UInt32(indexBitCount)
                    entries[prefix] = Entry(word: link + 1 << 15)
                }
                fill(
                    entries + secondTable.place, from: code >> indexBitCount, step: 1 << ownLength,
                    count: 1 << secondBitCount, entry)
            }
            // Adds 1 from the other end; longer codes keep their prefix.
            var bit = 1 << (length - 1)
            while code & bit != 0 {
                code ^= bit
                bit >>= 1
            }
            code |= bit
        }
    }

    private func fill(
        _ table: UnsafeMutablePointer<Entry>, from first: Int, step: Int, count: Int, _ entry: Entry
    ) {
        var index = first
        while index < count {
            table[index] = entry
            index += step
        }
    }

    private static let missing = Entry(word: 1 << 14 + 1)
    private static let longestCode = 15
}
