/// A box: its length, its type, and its content.
package struct Box {
    package let type: String
    /// The header included.
    package let range: Range<Int>
    package let content: Range<Int>
    /// Whether all of it is there.
    package let isWhole: Bool

    /// The maximum number of boxes of a list; further ones are ignored.
    private static let countLimit = 65_536

    /// Returns the boxes in `range`; the last one may not be whole.
    ///
    /// - Parameter isPrefix: whether bytes may follow those in `range`. A box without a length ends where the file does,
    ///   so that it is whole only without them.
    package static func list(in bytes: RawSpan, _ range: Range<Int>, isPrefix: Bool = false) -> [Box] {
        var (boxes, offset): ([Box], Int) = ([], range.lowerBound)
        while offset + 8 <= range.upperBound, boxes.count < countLimit {
            guard var length = bytes.integer(at: offset, count: 4, isBigEndian: true) else { break }
            var headerLength = 8
            let isOpen = length == 0
            if length == 1 {
                guard let high = bytes.integer(at: offset + 8, count: 4, isBigEndian: true), high < 1 << 16,
                    let low = bytes.integer(at: offset + 12, count: 4, isBigEndian: true)
                else { break }
                (length, headerLength) = (high << 32 | low, 16)
            } else if isOpen {
                length = range.upperBound - offset
            }
            guard length >= headerLength else { break }
            let type = String(decoding: (4..<8).compactMap { bytes.byte(at: offset + $0) }, as: UTF8.self)
            let end = offset + length
            boxes.append(
                Box(
                    type: type, range: offset..<min(end, range.upperBound),
                    content: min(offset + headerLength, range.upperBound)..<min(end, range.upperBound),
                    isWhole: end <= range.upperBound && !(isOpen && isPrefix)))
            offset = end
        }
        return boxes
    }

    package static func find(_ type: String, in bytes: RawSpan, _ range: Range<Int>) -> Box? {
        list(in: bytes, range).first { $0.type == type && $0.isWhole }
    }
}

extension RawSpan {
    /// Reads an unsigned number, the most significant byte first; `nil` outside the data.
    package func number(at offset: Int, _ count: Int) -> Int? { integer(at: offset, count: count, isBigEndian: true) }

    /// Reads a code of four characters.
    func code(at offset: Int) -> String {
        String(decoding: (0..<4).compactMap { byte(at: offset + $0) }, as: UTF8.self)
    }
}
