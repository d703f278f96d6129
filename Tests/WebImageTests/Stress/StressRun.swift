import Dispatch
import FoundationEssentials
import WebImageTestSupport

@testable import WebImage
@testable import WebImageLoading

/// Observed errors; the first few as text.
final class StressViolations: Sendable {
    private let state = LockBox<(texts: [String], count: Int)>(([], 0))

    func add(_ text: String) {
        state.withLock { state in
            state.count += 1
            if state.texts.count < 12 { state.texts.append(text) }
        }
    }

    var count: Int { state.withLock { $0.count } }
    var texts: [String] { state.withLock { $0.texts } }
}

/// A manager with small caches and a source of images, and the requests that a seed draws.
///
/// ```
///  burst ─► three threads: ask, cancel, hurry, trim, remove, suspend, publish     beside a batch of prefetches
///           then cancel some of what stands still, and let the rest go on ─► all have ended ─► next burst
/// ```
final class StressRun: Sendable {
    struct Tally: CustomStringConvertible {
        var delivered: [ImageOrigin: Int] = [:]
        var failedCount = 0
        var cancelledCount = 0
        var prefetched = PrefetchProgress(total: 0)

        var endCount: Int { delivered.values.reduce(0, +) + failedCount + cancelledCount }

        var description: String {
            "\(delivered.map { "\($0.value) \($0.key)" }.sorted().joined(separator: ", ")), \(failedCount) failed, "
                + "\(cancelledCount) cancelled; prefetched \(prefetched.loaded), skipped \(prefetched.skipped), "
                + "failed \(prefetched.failed)"
        }
    }

    let seed: UInt64
    let source: any StressSource
    let cache: ImageCache
    let manager: WebImageManager
    let violations = StressViolations()
    let queues = (0..<3).map { DispatchQueue(label: "stress-callbacks-\($0)") }
    /// Ends that the manager's hook was told of.
    let hookCount = LockBox(0)
    private let directory: TemporaryDirectory
    private let prefetchers: [ImagePrefetcher]
    private let time = TestTime()
    private let drivers = WorkQueue(label: "stress", threadCount: 3)
    private let tallies = LockBox(Tally())
    private let witnesses: StressWitnesses
    private let operations = LockBox<[WeakOperation]>([])

    private struct WeakOperation { weak var operation: WebImageOperation? }

    init(seed: UInt64, source: any StressSource) throws {
        self.seed = seed
        self.source = source
        directory = try TemporaryDirectory()
        witnesses = StressWitnesses()
        // Some of the images have room, not all.
        cache = ImageCache(memory: MemoryCache(costLimit: 600_000), disk: DiskCache(in: directory))
        var configuration = WebImageManager.Configuration(cache: cache, loaders: [source.loader])
        configuration.environment.date = { [time] in time.now }
        configuration.previewInterval = .zero
        // Some bodies go through files.
        configuration.bodyStorage = BodyStorage(memoryByteLimit: 150, temporaryDirectory: directory.url("bodies"))
        configuration.didFinish = { [hookCount] _, _ in hookCount.withLock { $0 += 1 } }
        configuration.beginBackgroundTask = { _ in {} }
        configuration.networkActivity = NetworkActivity()
        try FileManager.default.createDirectory(at: directory.url("bodies"), withIntermediateDirectories: true)
        manager = WebImageManager(configuration: configuration)
        prefetchers = [true, false].map { [manager] decodes in
            ImagePrefetcher(manager: manager, decodes: decodes)
        }
    }

    var tally: Tally { tallies.withLock { $0 } }

    // MARK: For records

    func count(_ result: Result<WebImageResponse, WebImageError>, _ plan: StressPlan) {
        tallies.withLock { tally in
            switch result {
            case .success(let response): tally.delivered[response.origin, default: 0] += 1
            case .failure(.cancelled): tally.cancelledCount += 1
            case .failure: tally.failedCount += 1
            }
        }
    }

    func watch(_ operation: WebImageOperation) {
        operations.withLock { $0.append(WeakOperation(operation: operation)) }
    }

    func makeWitness() -> any AnyObject & Sendable { witnesses.make() }

    // MARK: Bursts

    /// So many requests, and batches of prefetches beside them; returns when all have ended.
    func burst(_ count: Int, number: Int) async throws {
        var random = SplitMix64(seed: seed &+ UInt64(number) &* 0x1_0000_0001)
        source.setMayStall(true)
        time.advance(seconds: Double(Int.random(in: 0...15, using: &random)))
        let records = LockBox<[StressRecord]>([])
        let (driven, ended) = (Countdown(drivers.threadCount), Countdown(count))
        let batchesEnded = try startPrefetching(using: &random)
        for driver in 0..<drivers.threadCount {
            let part = count / drivers.threadCount + (driver < count % drivers.threadCount ? 1 : 0)
            let seed = random.next()
            drivers.submit { [self] in
                drive(part, seed: seed, records: records, ended: ended)
                driven.signal()
            }
        }
        try await driven.wait(atMost: .seconds(120))
        manager.isSuspended = false
        for prefetcher in prefetchers { prefetcher.isPaused = false }
        let all = records.withLock { $0 }
        if number % 4 == 3 {
            for record in all { record.expectCancel() }
            manager.cancelAll()
            for prefetcher in prefetchers { prefetcher.cancelAll() }
        } else {
            // All that have joined one of these leave it.
            let stalled = source.stalledNumbers.filter { source.neverEnds($0) || $0.isMultiple(of: 2) }
            for record in all where stalled.contains(record.plan.number) { record.cancel() }
        }
        source.setMayStall(false)
        try await ended.wait(atMost: .seconds(120))
        try await batchesEnded.wait(atMost: .seconds(120))
    }

    private func startPrefetching(using random: inout SplitMix64) throws -> Countdown {
        let ended = Countdown(prefetchers.count * 2)
        for prefetcher in prefetchers {
            for _ in 0..<2 {
                let isForDisk = prefetcher.destination == .disk
                let numbers = (0..<24).map { _ in Int.random(in: 0..<StressPlan.numberCount, using: &random) }
                    .filter { !source.neverEnds($0) && !(isForDisk && source.mayBeCutUnnoticed($0)) }
                let variants: [StressVariant] = [.whole, .fitted, .marked]
                let requests = try numbers.map { variants[$0 % 3].request(try source.url($0)) }
                let endCount = LockBox(0)
                let batch = prefetcher.prefetch(requests) { [self] progress in
                    if endCount.withLock({ endCount in
                        endCount += 1
                        return endCount > 1
                    }) {
                        violations.add("a batch ended twice")
                    }
                    if !progress.isFinished { violations.add("a batch ended at \(progress)") }
                    tallies.withLock { tally in
                        tally.prefetched.total += progress.total
                        tally.prefetched.loaded += progress.loaded
                        tally.prefetched.skipped += progress.skipped
                        tally.prefetched.failed += progress.failed
                    }
                    ended.signal()
                }
                if Int.random(in: 0..<4, using: &random) == 0 { drivers.submit { batch.cancel() } }
            }
        }
        return ended
    }

    /// The work of one thread.
    private func drive(_ count: Int, seed: UInt64, records: LockBox<[StressRecord]>, ended: Countdown) {
        var random = SplitMix64(seed: seed)
        var later: [StressRecord] = []
        for _ in 0..<count {
            guard let plan = try? StressPlan(from: source, using: &random) else { return violations.add("no plan") }
            let record = StressRecord(plan, in: self, ended: ended)
            records.withLock { $0.append(record) }
            record.start()
            switch plan.fate {
            case .cancelledAtOnce: record.cancel()
            case .cancelledLater, .cancelledLaterOnItsQueue, .cancelledWithOthers: later.append(record)
            default: break
            }
            record.changePriority()
            if later.count > 12 { cancel(later.removeFirst(), records) }
            disturb(using: &random)
        }
        for record in later { cancel(record, records) }
    }

    private func cancel(_ record: StressRecord, _ records: LockBox<[StressRecord]>) {
        switch record.plan.fate {
        case .cancelledLaterOnItsQueue: record.cancelOnItsQueue()
        case .cancelledWithOthers:
            let joined = records.withLock { $0.filter { $0.plan.number == record.plan.number && !$0.isEnded } }
            for other in joined { other.cancel() }
        default: record.cancel()
        }
    }

    /// The work of a program besides loading.
    private func disturb(using random: inout SplitMix64) {
        let number = Int.random(in: 0..<StressPlan.numberCount, using: &random)
        guard let url = try? source.url(number) else { return }
        switch Int.random(in: 0..<200, using: &random) {
        case 0: cache.memory.removeAll()
        case 1...3: cache.memory.trim(toCost: cache.memory.totalCost / 2)
        case 4...6: cache.remove(for: WebImageRequest(url).cacheKey)
        case 7: cache.remove(for: WebImageRequest(url).cacheKey, from: .disk)
        case 8...15: source.publish(number)
        case 16: manager.isSuspended = true
        case 17...24: manager.isSuspended = false
        case 25: prefetchers[number % 2].isPaused.toggle()
        case 26: time.advance(seconds: 2)
        case 27: manager.unblock(url)
        default: break
        }
    }

    // MARK: The end

    /// Waits until whatever has been begun is over, behind the last request too.
    func settle() async throws {
        for prefetcher in prefetchers { prefetcher.cancelAll() }
        for _ in 0..<2 {
            try await source.settle()
            for queue in [DecodingQueue.shared, drivers] { try await queue.finishWhatWaits() }
            await cache.disk?.flush()
            for queue in queues {
                let reached = Countdown()
                queue.async { reached.signal() }
                try await reached.wait()
            }
        }
        // The last references may be in the hands of a thread that is about to let them go.
        try await witnesses.gone()
    }

    var livingOperationCount: Int { operations.withLock { $0.filter { $0.operation != nil }.count } }

    /// The temporary files that are left.
    var leftFiles: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: directory.path("bodies"))) ?? []
    }
}
