package import FoundationEssentials

/// Values that show whether they are whole: random bytes that follow from the key and the seed in front.
package enum CheckedValue {
    package static func make(key: String, seed: UInt64, byteCount: Int) -> Data {
        var random = RandomBytes(state: seed ^ UInt64(truncatingIfNeeded: byteCount))
        for byte in key.utf8 { random.state = random.state &* 31 &+ UInt64(byte) }
        var bytes = [UInt8]()
        bytes.reserveCapacity(byteCount + 16)
        withUnsafeBytes(of: (seed, UInt64(byteCount))) { bytes.append(contentsOf: $0) }
        while bytes.count < byteCount + 16 { bytes.append(UInt8(truncatingIfNeeded: random.next() >> 32)) }
        return Data(bytes)
    }

    package static func isWhole(_ data: Data, key: String) -> Bool {
        guard data.count >= 16 else { return false }
        let header = [UInt8](data.prefix(16))
        let (seed, byteCount) = header.withUnsafeBytes { ($0.load(as: UInt64.self), $0.load(fromByteOffset: 8, as: UInt64.self)) }
        return Int(byteCount) == data.count - 16 && make(key: key, seed: seed, byteCount: Int(byteCount)) == data
    }
}

/// SplitMix64: the same numbers for the same seed, in every process.
package struct RandomBytes: RandomNumberGenerator {
    package var state: UInt64

    package init(state: UInt64) { self.state = state }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}
