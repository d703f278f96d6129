/// Random numbers that are the same in each run for the same seed (Steele, Lea and Flood, "Fast Splittable Pseudorandom
/// Number Generators", 2014).
public struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Starts at `seed`.
    public init(seed: UInt64) { state = seed }

    /// The next number.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns random bytes, eight of each number: in a debug build much faster than a number for each byte.
    package mutating func bytes(count: Int) -> [UInt8] { bytes(count: count, setting: 0) }

    /// Returns the bytes of random pixels, red, green, blue and an alpha of 255.
    package mutating func opaquePixels(count: Int) -> [UInt8] {
        bytes(count: count * 4, setting: UInt64(littleEndian: 0xFF00_0000_FF00_0000))
    }

    private mutating func bytes(count: Int, setting bits: UInt64) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count + 7) { buffer, filled in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            for offset in stride(from: 0, to: count, by: 8) {
                bytes.storeBytes(of: next() | bits, toByteOffset: offset, as: UInt64.self)
            }
            filled = count
        }
    }
}
