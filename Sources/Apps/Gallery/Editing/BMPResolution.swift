import FoundationEssentials

/// The pixels per meter in the header of a BMP.
struct BMPResolution {
    private let bytes: Data

    /// The bytes of both numbers, behind the header of the file (14 bytes), the sizes, and what describes the pixels.
    private static let range = 38..<46

    /// `nil` for files of OS/2, whose header has none.
    ///
    /// - Parameter swapsSides: whether the numbers are exchanged.
    init?(of file: Data, swapsSides: Bool) {
        let header = file.prefix(Self.range.upperBound)
        guard header.count == Self.range.upperBound,
            header.dropFirst(14).prefix(4).reversed().reduce(0, Self.append) >= 40
        else { return nil }
        let (x, y) = (header.dropFirst(38).prefix(4), header.suffix(4))
        bytes = swapsSides ? y + x : x + y
    }

    private static func append(_ number: Int, _ byte: UInt8) -> Int { number << 8 | Int(byte) }

    /// Returns a file of the encoder with the resolution.
    func set(in file: Data) -> Data {
        file.prefix(Self.range.lowerBound) + bytes + file.dropFirst(Self.range.upperBound)
    }
}
