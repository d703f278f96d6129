package import FoundationEssentials
import WebImageTestSupport

/// Values that tell what they are: one that is torn, mixed with another, or another key's, shows.
///
/// ```
///  hash of the key | version | length | bytes that follow from the three
/// ```
///
/// The last are a piece of one long row of random numbers, from a place that differs from value to value: that is made
/// and compared at the speed of memory in debug builds too, and no page of it looks like another.
package enum CheckedValue {
    /// The bytes before the random ones; a shorter value is cut and can't be told from others.
    package static let headerByteCount = 24
    package static let largestByteCount = 320_000

    private static let noise: [UInt8] = {
        var random = SplitMix64(seed: 0x5EED)
        return (0..<(384 << 10) / 8).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
    }()

    /// - Parameter byteCount: of the whole value, at most ``largestByteCount``.
    package static func make(key: String, version: UInt64, byteCount: Int) -> Data {
        let hash = hash(key)
        var data = Data(capacity: max(byteCount, headerByteCount))
        for word in [hash, version, UInt64(byteCount)] { withUnsafeBytes(of: word) { data.append(contentsOf: $0) } }
        guard byteCount > headerByteCount else { return data.prefix(byteCount) }
        let start = place(hash: hash, version: version)
        noise.withUnsafeBytes { data.append(contentsOf: $0[start..<start + byteCount - headerByteCount]) }
        return data
    }

    /// The version of a value that is whole and this key's; otherwise `nil`.
    package static func version(of data: Data, key: String) -> UInt64? {
        guard data.count >= headerByteCount else { return nil }
        let words = data.withUnsafeBytes { bytes in
            (0..<3).map { bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self) }
        }
        guard words[0] == hash(key), words[2] == UInt64(data.count), data.count <= largestByteCount else { return nil }
        return make(key: key, version: words[1], byteCount: data.count) == data ? words[1] : nil
    }

    private static func hash(_ key: String) -> UInt64 {
        key.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    private static func place(hash: UInt64, version: UInt64) -> Int {
        var random = SplitMix64(seed: hash ^ version &* 0x9E37_79B9_7F4A_7C15)
        return Int(random.next() % UInt64(noise.count - largestByteCount))
    }
}
