import FoundationEssentials
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
