internal import WebImageCore

/// Decompresses a zlib stream (RFC 1950 and 1951) through a window, so that the whole output is never in memory.
/// libdeflate can't do that; zlib takes a third longer.
///
///     ┌──────────────────┬──────────────────┬──────────────┐
///     │ history, 32 KiB  │ unpacked, unread │ free         │   moves to the front once it is full
///     └──────────────────┴──────────────────┴──────────────┘
///
/// It's for complete, valid streams. It doesn't check the checksum, which is left to libpng, but no damage makes it
/// access memory out of bounds.
final class Inflater {
    /// The ranges of the stream in the file.
    private let pieces: [Range<Int>]
    private var pieceIndex = 0
    /// The offset in the file of the next byte that isn't in ``bits``.
    private var position = 0
    private var pieceEnd = 0
    /// Bits read but not used, the next one lowest. Those above `bitCount` are 0 or the bits that follow.
    private var bits: UInt64 = 0
    private var bitCount = 0

    private enum Block {
        /// Before a block's first bits.
        case start
        case stored(byteCount: Int)
        case coded
        /// After the last block, or damage.
        case none
    }
    private var block = Block.start
    private var isLastBlock = false
    private var hasBegun = false
    private let literals = HuffmanTable(indexBitCount: 11, symbolLimit: 288)
    private let distances = HuffmanTable(indexBitCount: 8, symbolLimit: 32)
    private let lengths = HuffmanTable(indexBitCount: 7, symbolLimit: 19)
    /// Whether the tables hold the fixed codes. Ten bits can be an empty block that uses them.
    private var hasFixedCodes = false

    private let window: UnsafeMutablePointer<UInt8>
    private let capacity: Int
    private var readCount = 0
    private var unpackedCount = 0

    /// - Parameters:
    ///   - pieces: the ranges of the stream in the file.
    ///   - readByteCount: the most bytes that one call reads.
    init(_ pieces: [Range<Int>], readByteCount: Int) {
        self.pieces = pieces
        capacity = Self.historyByteCount + readByteCount + Self.marginByteCount
        window = .allocate(capacity: capacity)
        position = pieces.first?.lowerBound ?? 0
        pieceEnd = pieces.first?.upperBound ?? 0
    }

    deinit { window.deallocate() }

    /// Returns the next `count` bytes, valid until the next call; `nil` if the stream is damaged or ends.
    ///
    /// - Throws: ``WebImageError/cancelled``, checked at each block, since any number may be empty.
    func read(
        _ count: Int, of data: RawSpan, cancellation: Cancellation?
    ) throws(WebImageError) -> UnsafePointer<UInt8>? {
        if unpackedCount - readCount < count {
            moveToFront()
            try data.withUnsafeBytes { (data) throws(WebImageError) in
                while unpackedCount - readCount < count {
                    if case .start = block { try cancellation?.check() }
                    // Bytes after damage must not be read as if they followed those before.
                    guard unpack(data) else { return block = .none }
                }
            }
            guard unpackedCount - readCount >= count else { return nil }
        }
        defer { readCount += count }
        return UnsafePointer(window + readCount)
    }

    private func moveToFront() {
        let kept = max(0, min(readCount, unpackedCount - Self.historyByteCount))
        guard kept > 0 else { return }
        window.update(from: window + kept, count: unpackedCount - kept)
        readCount -= kept
        unpackedCount -= kept
    }

    // MARK: - Blocks

    /// Decompresses until the window is full or the block ends; returns `false` at the end or at damage.
    private func unpack(_ data: UnsafeRawBufferPointer) -> Bool {
        if !hasBegun {
            guard readZlibHeader(data) else { return false }
            hasBegun = true
        }
        switch block {
        case .none: return false
        case .start: return startBlock(data)
        case .stored(let byteCount): return copy(byteCount, from: data)
        case .coded: return decode(data)
        }
    }

    /// Deflate, a window of at most 32 KiB, and no dictionary, as PNG requires.
    private func readZlibHeader(_ data: UnsafeRawBufferPointer) -> Bool {
        guard let method = take(8, from: data), let flags = take(8, from: data) else { return false }
        return method & 0xF == 8 && method >> 4 <= 7 && (method << 8 | flags) % 31 == 0 && flags & 0x20 == 0
    }

    private func startBlock(_ data: UnsafeRawBufferPointer) -> Bool {
        if isLastBlock { return false }
        guard let header = take(3, from: data) else { return false }
        isLastBlock = header & 1 != 0
        switch header >> 1 {
        case 0:
            _ = take(bitCount & 7, from: data)
            guard let count = take(16, from: data), let complement = take(16, from: data), count == ~complement & 0xFFFF
            else { return false }
            block = .stored(byteCount: count)
            return true
        case 1:
            block = .coded
            if hasFixedCodes { return true }
            hasFixedCodes = true
            let codeLengths = [144, 112, 24, 8].enumerated().flatMap {
                [UInt8](repeating: [8, 9, 7, 8][$0], count: $1)
            }
            return literals.build(codeLengths[...], meanings: Self.literalMeanings)
                && distances.build([UInt8](repeating: 5, count: 32)[...], meanings: Self.distanceMeanings)
        case 2:
            block = .coded
            hasFixedCodes = false
            return readCodes(data)
        default: return false
        }
    }

    private func copy(_ byteCount: Int, from data: UnsafeRawBufferPointer) -> Bool {
        var left = byteCount
        while left > 0, unpackedCount < capacity {
            var count = 1
            if bitCount > 0 {
                // Bytes that were read as bits; their number is a multiple of 8 here.
                window[unpackedCount] = UInt8(truncatingIfNeeded: bits)
                bits >>= 8
                bitCount -= 8
            } else {
                // The bits above are those of the next bytes.
                bits = 0
                guard moveToNextPiece(&position) else { return false }
                count = min(left, capacity - unpackedCount, pieceEnd - position)
                let target = UnsafeMutableRawBufferPointer(start: window + unpackedCount, count: count)
                target.copyMemory(from: UnsafeRawBufferPointer(rebasing: data[position..<position + count]))
                position += count
            }
            unpackedCount += count
            left -= count
        }
        block = left > 0 ? .stored(byteCount: left) : .start
        return true
    }

    /// Reads the lengths of the codes, which are coded themselves (RFC 1951, 3.2.7).
    private func readCodes(_ data: UnsafeRawBufferPointer) -> Bool {
        guard let counts = take(14, from: data) else { return false }
        let (literalCount, distanceCount) = (counts & 0x1F + 257, counts >> 5 & 0x1F + 1)
        guard literalCount <= 286, distanceCount <= 30 else { return false }
        var lengthLengths = [UInt8](repeating: 0, count: Self.lengthOrder.count)
        for index in 0..<(counts >> 10 + 4) {
            guard let length = take(3, from: data) else { return false }
            lengthLengths[Self.lengthOrder[index]] = UInt8(length)
        }
        guard lengths.build(lengthLengths[...], meanings: Self.lengthMeanings) else { return false }
        var codeLengths: [UInt8] = []
        codeLengths.reserveCapacity(literalCount + distanceCount)
        while codeLengths.count < literalCount + distanceCount {
            refillAtEnd(&bits, &bitCount, &position, data)
            let entry = lengths.entries[Int(bits & 0x7F)]
            let symbol = entry.value
            guard !entry.isSpecial, take(Int(entry.bitCount), from: data) != nil else { return false }
            var (repeated, count) = (UInt8(truncatingIfNeeded: symbol), 1)
            if symbol > 15 {
                let (base, extraBitCount) = [(3, 2), (3, 3), (11, 7)][symbol - 16]
                guard let extra = take(extraBitCount, from: data), symbol > 16 || !codeLengths.isEmpty else {
                    return false
                }
                repeated = symbol == 16 ? codeLengths[codeLengths.count - 1] : 0
                count = base + extra
            }
            codeLengths.append(contentsOf: repeatElement(repeated, count: count))
        }
        // The end of a block must have a code.
        guard codeLengths.count == literalCount + distanceCount, codeLengths[256] > 0 else { return false }
        return literals.build(codeLengths[..<literalCount], meanings: Self.literalMeanings)
            && distances.build(codeLengths[literalCount...], meanings: Self.distanceMeanings)
    }

    // MARK: - Symbols

    /// Decodes until no further match fits, or the block ends.
    private func decode(_ data: UnsafeRawBufferPointer) -> Bool {
        guard let start = data.baseAddress else { return false }
        let (literals, distances, window) = (literals.entries, distances.entries, window)
        let limit = capacity - Self.marginByteCount
        var (bits, bitCount, position, output) = (bits, bitCount, position, unpackedCount)
        var pieceEnd = pieceEnd
        defer {
            self.bits = bits
            self.bitCount = bitCount
            self.position = position
            unpackedCount = output
        }
        while output < limit {
            // Refill to at least 56 bits; the fast way may read 16 bytes.
            let isInside = pieceEnd &- position >= 16
            if isInside {
                Self.refill(&bits, &bitCount, &position, start)
            } else {
                refillAtEnd(&bits, &bitCount, &position, data)
                pieceEnd = self.pieceEnd
            }
            var entry = literals[Int(truncatingIfNeeded: bits & 0x7FF)]
            if entry.isLiteral, isInside {
                window[output] = entry.literal
                output &+= 1
                Self.consume(entry, &bits, &bitCount)
                entry = literals[Int(truncatingIfNeeded: bits & 0x7FF)]
                if entry.isLiteral {
                    window[output] = entry.literal
                    output &+= 1
                    Self.consume(entry, &bits, &bitCount)
                    entry = literals[Int(truncatingIfNeeded: bits & 0x7FF)]
                    if entry.isLiteral {
                        window[output] = entry.literal
                        output &+= 1
                        Self.consume(entry, &bits, &bitCount)
                        entry = literals[Int(truncatingIfNeeded: bits & 0x7FF)]
                    }
                }
            }
            // At least 23 bits are left, of which this takes 20.
            if entry.leadsToSecondTable {
                Self.consume(entry, &bits, &bitCount)
                entry = literals[entry.value &+ Int(truncatingIfNeeded: bits & (1 &<< entry.codeBitCount &- 1))]
            }
            let length = entry.value(with: bits)
            Self.consume(entry, &bits, &bitCount)
            if entry.isLiteral {
                window[output] = entry.literal
                output &+= 1
                if bitCount < 0 { return false }
                continue
            }
            if entry.isSpecial {
                block = .start
                return entry.value == Self.endOfBlock && bitCount >= 0
            }
            // 28 bits.
            if isInside {
                Self.refill(&bits, &bitCount, &position, start)
            } else {
                refillAtEnd(&bits, &bitCount, &position, data)
                pieceEnd = self.pieceEnd
            }
            entry = distances[Int(truncatingIfNeeded: bits & 0xFF)]
            if entry.leadsToSecondTable {
                Self.consume(entry, &bits, &bitCount)
                entry = distances[entry.value &+ Int(truncatingIfNeeded: bits & (1 &<< entry.codeBitCount &- 1))]
            }
            let distance = entry.value(with: bits)
            Self.consume(entry, &bits, &bitCount)
            guard !entry.isSpecial, distance <= output, bitCount >= 0 else { return false }
            Self.repeat(length, bytesFrom: distance, before: window + output)
            output &+= length
        }
        return true
    }

    /// Copies `length` bytes, and up to 7 more that don't matter; source and destination may overlap.
    @inline(__always)
    private static func `repeat`(_ length: Int, bytesFrom distance: Int, before output: UnsafeMutablePointer<UInt8>) {
        var destination = UnsafeMutableRawPointer(output)
        var source = UnsafeRawPointer(output - distance)
        let end = destination + length
        if distance >= 8 {
            repeat {
                destination.storeBytes(of: source.loadUnaligned(as: UInt64.self), as: UInt64.self)
                destination += 8
                source += 8
            } while destination < end
        } else if distance == 1 {
            let word = UInt64(output[-1]) &* 0x0101_0101_0101_0101
            repeat {
                destination.storeBytes(of: word, as: UInt64.self)
                destination += 8
            } while destination < end
        } else {
            repeat {
                destination.storeBytes(of: source.load(as: UInt8.self), as: UInt8.self)
                destination += 1
                source += 1
            } while destination < end
        }
    }

    // MARK: - Bits

    /// Refills to at least 56 bits, from 8 bytes of which some are read again.
    @inline(__always)
    private static func refill(
        _ bits: inout UInt64, _ bitCount: inout Int, _ position: inout Int, _ start: UnsafeRawPointer
    ) {
        bits |=
            UInt64(littleEndian: start.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            &<< UInt64(truncatingIfNeeded: bitCount)
        position &+= (63 &- bitCount) &>> 3
        bitCount |= 56
    }

    /// Drops the bits of an entry.
    @inline(__always)
    private static func consume(_ entry: HuffmanTable.Entry, _ bits: inout UInt64, _ bitCount: inout Int) {
        bits &>>= entry.bitCount
        bitCount &-= Int(truncatingIfNeeded: entry.bitCount)
    }

    /// Refills byte by byte, across pieces; at the end of the stream there are fewer bits.
    private func refillAtEnd(
        _ bits: inout UInt64, _ bitCount: inout Int, _ position: inout Int, _ data: UnsafeRawBufferPointer
    ) {
        while bitCount <= 56 {
            guard moveToNextPiece(&position) else { return }
            bits |= UInt64(data[position]) &<< UInt64(bitCount)
            position += 1
            bitCount += 8
        }
    }

    /// Moves to the next piece if this one is used up; returns `false` at the end of the stream.
    private func moveToNextPiece(_ position: inout Int) -> Bool {
        while position == pieceEnd {
            guard pieceIndex + 1 < pieces.count else { return false }
            pieceIndex += 1
            (position, pieceEnd) = (pieces[pieceIndex].lowerBound, pieces[pieceIndex].upperBound)
        }
        return true
    }

    /// Returns the next `count` bits, at most 16.
    private func take(_ count: Int, from data: UnsafeRawBufferPointer) -> Int? {
        refillAtEnd(&bits, &bitCount, &position, data)
        guard bitCount >= count else { return nil }
        let value = Int(bits & (1 << UInt64(count) - 1))
        bits >>= UInt64(count)
        bitCount -= count
        return value
    }

    // MARK: - Constants

    private static let historyByteCount = 1 << 15
    /// The output of a loop iteration: three literals, the longest match, and what its copy adds.
    private static let marginByteCount = 3 + 258 + 8
    private static let endOfBlock = 1
    /// The order of the lengths of the length codes.
    private static let lengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

    private static let lengthMeanings = (0..<19).map { UInt32($0) << 16 }
    private static let literalMeanings: [UInt32] =
        (0..<256).map { UInt32($0) << 16 | 1 << 31 } + [UInt32(endOfBlock) << 16 | 1 << 14]
        // 258 has a code of its own; 286 and 287 don't exist.
        + meanings(from: 3, extraBitCounts: [0, 0, 0, 0] + (0..<24).map { $0 / 4 })
        + [258 << 16, 1 << 14, 1 << 14]
    private static let distanceMeanings: [UInt32] =
        meanings(from: 1, extraBitCounts: [0, 0] + (0..<28).map { $0 / 2 }) + [1 << 14, 1 << 14]

    /// Consecutive ranges of values, selected by extra bits.
    private static func meanings(from first: Int, extraBitCounts: [Int]) -> [UInt32] {
        var base = first
        return extraBitCounts.map { count in
            defer { base += 1 << count }
            return UInt32(base) << 16 | UInt32(count)
        }
    }
}

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
