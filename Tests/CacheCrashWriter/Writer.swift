package import FoundationEssentials
import Glibc
import WebImageCaching
import WebImageTestSupport

/// Makes random changes, several at a time, so that batches of more than one are cut too.
struct Writer {
    private let cache: DiskCache
    private let owner: String
    private var random: SplitMix64
    private var version: UInt64
    private(set) var madeCount = 0

    init(cache: DiskCache, owner: String, seed: UInt64) {
        self.cache = cache
        self.owner = owner
        random = SplitMix64(seed: seed)
        version = seed << 32
    }

    mutating func changeSome() async throws {
        let burst = Int.random(in: 1...8, using: &random)
        let countdown = Countdown(burst)
        // In this order, as each record stands for what the cache is told next.
        for _ in 0..<burst { changeOne { countdown.signal() } }
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<4: await removeAll()
        case 4..<12: await trim()
        case 12..<20: await cache.flush()
        case 20..<50: _ = await cache.data(for: key(Int.random(in: 0..<WriterKeys.count, using: &random)))
        default: break
        }
        try await countdown.wait()
    }

    private func key(_ number: Int) -> String { WriterKeys.name(number, owner: owner) }

    private mutating func nextVersion() -> UInt64 {
        madeCount += 1
        version += 1
        return version
    }

    private mutating func changeOne(completion: @escaping @Sendable () -> Void) {
        let number = Int.random(in: 0..<WriterKeys.count, using: &random)
        let isRemoval = Int.random(in: 0..<8, using: &random) == 0
        let record = ChangeRecord(isRemoval ? .remove : .store, key: number, version: nextVersion())
        Self.print(record)
        let finish: @Sendable () -> Void = {
            Self.print(record.done)
            completion()
        }
        if isRemoval { return cache.remove(for: key(number), completion: finish) }
        let largest = [200, 3_000, 20_000, 60_000, CheckedValue.largestByteCount]
        let byteCount = Int.random(
            in: CheckedValue.headerByteCount...largest[Int.random(in: 0..<5, using: &random)], using: &random)
        let value = CheckedValue.make(key: key(number), version: record.version, byteCount: byteCount)
        cache.store(value, for: key(number), completion: finish)
    }

    private mutating func removeAll() async {
        let record = ChangeRecord(.removeAll, version: nextVersion())
        Self.print(record)
        await cache.removeAll()
        Self.print(record.done)
    }

    private mutating func trim() async {
        let record = ChangeRecord(.trim, version: nextVersion())
        Self.print(record)
        await cache.trim(toSize: Int64.random(in: 0...4_000_000, using: &random))
        Self.print(record.done)
    }

    private static func print(_ record: ChangeRecord) {
        guard write(STDOUT_FILENO, record.bytes, ChangeRecord.byteCount) == ChangeRecord.byteCount else { exit(5) }
    }
}

/// Values that tell what they are: one that is torn, mixed with another, or another key's, shows.
///
/// ```
///  hash of the key | version | length | bytes that follow from the three
/// ```
///
/// The last are a piece of one long row of random numbers, from a place that differs from value to value: that is made
/// and compared at the speed of memory in debug builds too, and no page of it looks like another.
package enum CheckedValue {
    /// The bytes before the random ones; a shorter value is cut and cannot be told from others.
    package static let headerByteCount = 24
    package static let largestByteCount = 320_000

    private static let noise: [UInt8] = {
        var random = SplitMix64(seed: 0x5EED)
        return random.bytes(count: 384 << 10)
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

/// A line about one of a writer process's changes: first that it is about to make it, then that it is on disk.
///
/// A process that is killed leaves whole records only, since the pipe takes 16 bytes at once or not at all.
package struct ChangeRecord: Sendable {
    package enum Change: UInt8, Sendable { case store, remove, trim, removeAll }

    package static let byteCount = 16

    package let change: Change
    package let isDone: Bool
    /// The key's number; 0 for changes of all keys.
    package let key: Int
    /// Grows from change to change.
    package let version: UInt64

    package init(_ change: Change, key: Int = 0, version: UInt64, isDone: Bool = false) {
        self.change = change
        self.isDone = isDone
        self.key = key
        self.version = version
    }

    package var done: ChangeRecord { ChangeRecord(change, key: key, version: version, isDone: true) }

    package var bytes: [UInt8] {
        withUnsafeBytes(of: version) { Array($0) }
            + withUnsafeBytes(of: UInt32(key)) { Array($0) } + [change.rawValue, isDone ? 1 : 0, 0, 0]
    }

    package init?(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.count == Self.byteCount, let change = Change(rawValue: bytes[12]) else { return nil }
        let (version, key) = bytes.withUnsafeBytes { bytes in
            (bytes.load(as: UInt64.self), bytes.load(fromByteOffset: 8, as: UInt32.self))
        }
        self.init(change, key: Int(key), version: version, isDone: bytes[13] != 0)
    }
}

/// The keys that writer processes use.
package enum WriterKeys {
    package static let count = 60
    /// Those from here on belong to one writer alone.
    package static let firstOwn = 40

    package static func name(_ number: Int, owner: String) -> String {
        number < firstOwn ? "key \(number)" : "\(owner)'s key \(number)"
    }
}
