/// Reads that check their bounds: every byte of a file is a stranger's.
extension RawSpan {
    /// The byte at `offset`; `nil` outside the data.
    func byte(at offset: Int) -> UInt8? {
        guard offset >= 0, offset < byteCount else { return nil }
        return unsafeLoadUnaligned(fromByteOffset: offset, as: UInt8.self)
    }

    /// The unsigned number of `count` bytes, at most 8, at `offset`; `nil` if it is not all inside the data.
    func integer(at offset: Int, count: Int, isBigEndian: Bool) -> Int? {
        guard offset >= 0, count <= byteCount, offset <= byteCount - count else { return nil }
        var value: UInt64 = 0
        for index in 0..<count {
            let position = isBigEndian ? offset + index : offset + count - 1 - index
            value = value << 8 | UInt64(unsafeLoadUnaligned(fromByteOffset: position, as: UInt8.self))
        }
        return Int(exactly: value)
    }

    /// Whether the ASCII characters of `text` stand at `offset`.
    func hasText(_ text: StaticString, at offset: Int) -> Bool {
        guard offset >= 0, text.utf8CodeUnitCount <= byteCount, offset <= byteCount - text.utf8CodeUnitCount else {
            return false
        }
        return text.withUTF8Buffer { characters in
            characters.indices.allSatisfy { characters[$0] == byte(at: offset + $0) }
        }
    }

    /// Where `text` stands first, at `start` or behind it.
    func firstOffset(of text: StaticString, from start: Int) -> Int? {
        let last = byteCount - text.utf8CodeUnitCount
        guard start >= 0, start <= last, let first = text.withUTF8Buffer({ $0.first }) else { return nil }
        return (start...last).first { byte(at: $0) == first && hasText(text, at: $0) }
    }
}
