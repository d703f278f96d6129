import FoundationEssentials

/// The stored entries: the same keys and bytes in each process with the same three numbers.
struct DiskEntries: Sendable {
    let count: Int
    let byteCounts: ClosedRange<Int>
    let keys: [String]
    let absentKeys: [String]
    /// In the order in which entries are looked up, which is not that in which they were stored.
    let shuffledPlaces: [Int]

    /// Every value is a piece of it.
    private let noise: Data

    init(count: Int, byteCounts: ClosedRange<Int>) {
        self.count = count
        self.byteCounts = byteCounts
        keys = (0..<count).map { "https://images.example.org/stored/\($0)/photograph.jpg" }
        absentKeys = (0..<count).map { "https://images.example.org/absent/\($0)/photograph.jpg" }
        var random = Random(seed: 1)
        shuffledPlaces = Array(0..<count).shuffled(using: &random)
        var words = [UInt64]()
        for _ in 0..<((2 << 20) + byteCounts.upperBound) / 8 + 1 { words.append(random.next()) }
        noise = words.withUnsafeBytes { Data($0) }
    }

    /// How many bytes all values take, in both generations.
    var totalByteCount: Int { (0..<count).reduce(0) { $0 + byteCount(of: $1) } }

    func byteCount(of place: Int) -> Int {
        var random = Random(seed: UInt64(place))
        return byteCounts.lowerBound + Int(random.next() % UInt64(byteCounts.count))
    }

    /// - Parameter generation: values that overwrite others are of another one.
    func value(_ place: Int, generation: Int) -> Data {
        let start = start(of: place, generation: generation)
        return noise[start..<start + byteCount(of: place)]
    }

    private func start(of place: Int, generation: Int) -> Int {
        var random = Random(seed: UInt64(place) << 8 | UInt64(generation))
        return Int(random.next() % (2 << 20))
    }

    /// Whether they may be the value's bytes: a look, which costs next to nothing while it is timed.
    func accepts(_ bytes: UnsafeRawBufferPointer, as place: Int, generation: Int = 0) -> Bool {
        guard bytes.count == byteCount(of: place), bytes.count >= 8 else { return false }
        let start = start(of: place, generation: generation)
        return noise.withUnsafeBytes { noise in
            noise.loadUnaligned(fromByteOffset: start, as: UInt64.self) == bytes.loadUnaligned(as: UInt64.self)
        }
    }

    /// A number that any wrong byte changes.
    static func digest(_ bytes: UnsafeRawBufferPointer, place: Int) -> UInt64 {
        let factor: UInt64 = 0x9E37_79B9_7F4A_7C15
        // Four at a time, as each product waits for the one before.
        var lanes = SIMD4<UInt64>(repeating: UInt64(place) &+ 1)
        var offset = 0
        while offset + 32 <= bytes.count {
            lanes = (lanes ^ bytes.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt64>.self)) &* factor
            lanes ^= lanes &>> 29
            offset += 32
        }
        var digest = lanes[0] ^ lanes[1] &* 3 ^ lanes[2] &* 5 ^ lanes[3] &* 7
        for byte in bytes[offset...] { digest = (digest ^ UInt64(byte)) &* factor }
        return digest
    }

    /// The sum over all entries.
    func digest(generation: Int) -> UInt64 {
        (0..<count).reduce(0) { sum, place in
            sum &+ value(place, generation: generation).withUnsafeBytes { Self.digest($0, place: place) }
        }
    }

    /// SplitMix64 (Steele, Lea and Flood, 2014).
    struct Random: RandomNumberGenerator {
        private var state: UInt64

        init(seed: UInt64) { state = seed &* 0xD134_2543_DE82_EF95 &+ 1 }

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}
