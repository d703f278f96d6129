package import FoundationEssentials

/// The files that every client fetches: in 20 of them 10 of 5 KB, 7 of 30 KB and 3 of 200 KB, as web pages have them.
///
/// Their content follows from their number, so that who fetches them can check every byte.
package struct Workload: Sendable {
    package let count: Int

    package init(count: Int) { self.count = count }

    /// As it is served, such as `/17`.
    package func path(of file: Int) -> String { "/\(file)" }

    package func byteCount(of file: Int) -> Int {
        switch file % 20 {
        case 1, 3, 5, 7, 9, 11, 13: 30_000
        case 2, 8, 14: 200_000
        default: 5000
        }
    }

    package var byteCount: Int { (0..<count).reduce(0) { $0 + byteCount(of: $1) } }

    package func content(of file: Int) -> Data {
        let words = (0..<byteCount(of: file) / 8).map { Self.word($0, of: file) }
        return words.withUnsafeBytes { Data($0) }
    }

    /// Whether `data` has the length of the file and its first and last bytes: what can be looked at in passing.
    package func isLike(_ data: Data, file: Int) -> Bool {
        let byteCount = byteCount(of: file)
        guard data.count == byteCount else { return false }
        return data.withUnsafeBytes { bytes in
            bytes.loadUnaligned(as: UInt64.self) == Self.word(0, of: file)
                && bytes.loadUnaligned(fromByteOffset: byteCount - 8, as: UInt64.self)
                    == Self.word(byteCount / 8 - 1, of: file)
        }
    }

    /// SplitMix64 (Steele, Lea and Flood, 2014), whose numbers can be had in any order.
    private static func word(_ index: Int, of file: Int) -> UInt64 {
        var mixed = UInt64(file) << 32 &+ UInt64(index + 1) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
