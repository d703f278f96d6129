package import FoundationEssentials
import WebImageTestSupport

/// Values that show whether they are whole: random bytes that follow from the key and the seed in front.
package enum CheckedValue {
    package static func make(key: String, seed: UInt64, byteCount: Int) -> Data {
        var random = SplitMix64(seed: key.utf8.reduce(seed) { $0 &* 31 &+ UInt64($1) })
        var bytes = [UInt8]()
        bytes.reserveCapacity(byteCount + 16)
        withUnsafeBytes(of: (seed, UInt64(byteCount))) { bytes.append(contentsOf: $0) }
        while bytes.count < byteCount + 16 { bytes.append(UInt8(truncatingIfNeeded: random.next() >> 32)) }
        return Data(bytes)
    }

    package static func isWhole(_ data: Data, key: String) -> Bool {
        guard data.count >= 16 else { return false }
        let header = [UInt8](data.prefix(16))
        let (seed, byteCount) = header.withUnsafeBytes { bytes in
            (bytes.load(as: UInt64.self), bytes.load(fromByteOffset: 8, as: UInt64.self))
        }
        return Int(byteCount) == data.count - 16 && make(key: key, seed: seed, byteCount: Int(byteCount)) == data
    }
}
