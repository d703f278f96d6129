import FoundationEssentials
import Synchronization
import WebImageCaching
import WebImageCore
import WebImageLoading

/// A report of one of a pipeline's jobs before it ends.
enum LoadNews: JobNews {
    /// The job's trace; reported once, at its start.
    case trace(TraceRecorder)
    /// A loader is called.
    case activity(LoaderActivity)
    /// All attempts at a loader so far; the last one may wait or run.
    case attempts([LoadAttempt])
    case progress(LoadProgress)
    /// The bytes so far. A body on its way to a late subscriber may arrive after a longer one.
    case body(PartialBody)
    /// All bytes have arrived, and are decoded.
    case decoding

    func add(to news: inout [LoadNews]) -> LoadNews? {
        var older: LoadNews?
        switch self {
        // The bytes of an attempt that failed are void.
        case .attempts(let attempts) where attempts.isAtStartOfAnother:
            if let index = news.firstIndex(where: { if case .body = $0 { true } else { false } }) {
                older = news.remove(at: index)
            }
        // Bytes that arrive after a decode are loaded anew.
        case .progress: news.removeAll { if case .decoding = $0 { true } else { false } }
        default: break
        }
        guard let index = news.firstIndex(where: isSameThing) else {
            if news.isEmpty { news.reserveCapacity(6) }
            news.append(self)
            return older
        }
        let replaced = exchange(&news[index], with: self)
        // Of attempts, the list that is replaced has no bytes.
        return older ?? replaced
    }

    private func isSameThing(_ other: LoadNews) -> Bool {
        switch (self, other) {
        case (.trace, .trace), (.activity, .activity), (.attempts, .attempts), (.progress, .progress), (.body, .body),
            (.decoding, .decoding):
            true
        default: false
        }
    }
}

/// The beginning of a body that is still arriving.
///
/// Nothing is copied: it shares the memory, or the file, that the rest is written to. After a failed attempt the body
/// starts again, in another collector.
struct PartialBody: Sendable {
    let collector: BodyCollector
    /// The number of bytes when this was made.
    let byteCount: Int

    /// The bytes; of a body on its way to a file only those that have been written.
    var data: Data { collector.prefix(byteCount) }
}

/// One attempt at a loader, as indicators of network activity count it: once, however many requests share it.
final class LoaderActivity: Sendable {
    private struct State {
        var counters: [NetworkActivity] = []
        var isActive = true
        var hasEnded = false
    }

    private let state = Lock(State())

    /// Counts the attempt, unless it is counted there already or has ended.
    func count(in counter: NetworkActivity) {
        state.withLock { state in
            guard !state.hasEnded, !state.counters.contains(where: { $0 === counter }) else { return }
            state.counters.append(counter)
            // Under the lock, so that the end comes later. It calls nothing back.
            if state.isActive { counter.change(by: 1) }
        }
    }

    /// Counts or does not count the attempt, which waits in a queue or has left it.
    func setActive(_ isActive: Bool) {
        state.withLock { state in
            guard !state.hasEnded, state.isActive != isActive else { return }
            state.isActive = isActive
            for counter in state.counters { counter.change(by: isActive ? 1 : -1) }
        }
    }

    func end() {
        state.withLock { state in
            if state.isActive { for counter in state.counters { counter.change(by: -1) } }
            (state.hasEnded, state.counters) = (true, [])
        }
    }
}

/// Decides which progress is reported: the beginning, the end, and steps of a minimum length.
struct ProgressSteps {
    /// A fraction of the whole length.
    private let minimumInterval: Double
    private var expected: Int64?
    private var reported: Int64 = 0

    /// - Parameter minimumInterval: 0 reports every piece, 1 only the beginning and the end.
    init(minimumInterval: Double) { self.minimumInterval = min(1, max(0, minimumInterval)) }

    /// If the length is unknown, every piece is a step.
    mutating func begin(expected: Int64?) -> LoadProgress {
        self.expected = expected
        return LoadProgress(received: 0, expected: expected)
    }

    /// Returns what to report after so many bytes, if anything.
    mutating func advance(to received: Int64) -> LoadProgress? {
        if let expected, received < expected, Double(received - reported) < minimumInterval * Double(expected) {
            return nil
        }
        reported = received
        return LoadProgress(received: received, expected: expected)
    }
}

/// The result of a bytes job: bytes that a cache has stored, or new ones of a loader.
final class LoadedBytes: Sendable {
    let data: Data
    /// The stored bytes; `nil` for new ones.
    let stored: StoredImage?
    /// The record of the response.
    let record: ResponseRecord
    /// The head of the server's response, also of one that confirmed stored bytes.
    let head: LoaderResponse?
    let metrics: LoaderMetrics?
    /// The instructions for storing the bytes; `nil` for stored bytes.
    let arrival: Arrival?
    /// The judgments of the bytes that shared caches wait for.
    let judgments: [BodyJudgment]
    private let isArrivalClaimed = Atomic(false)
    private let isUnlisted = Atomic(false)
    private let share: ByteBudget.Share
    /// Where other loads find the bytes until they are stored.
    private let listing: (table: UnstoredBytes, key: BytesJobKey)?

    /// - Parameter listing: where other loads find the bytes until they are stored; `nil` for nowhere.
    init(
        _ data: Data, stored: StoredImage? = nil, head: LoaderResponse? = nil, metrics: LoaderMetrics? = nil,
        record: ResponseRecord, arrival: Arrival? = nil, share: ByteBudget.Share, judgments: [BodyJudgment] = [],
        listing: (table: UnstoredBytes, key: BytesJobKey)? = nil
    ) {
        (self.data, self.stored, self.head, self.metrics) = (data, stored, head, metrics)
        (self.record, self.arrival, self.share) = (record, arrival, share)
        (self.judgments, self.listing) = (judgments, listing)
        if let (table, key) = listing { table.insert(self, for: key) }
    }

    deinit { if !isUnlisted.load(ordering: .relaxed), let (table, key) = listing { table.remove(nil, for: key) } }

    /// Ends the listing: other loads find the bytes in a cache from now on, or load them again because they are damaged.
    func unlist() {
        guard let (table, key) = listing, !isUnlisted.exchange(true, ordering: .relaxed) else { return }
        table.remove(self, for: key)
    }

    /// The same stored bytes after the server has confirmed them.
    func confirmed(by answer: LoaderAnswer) -> LoadedBytes {
        LoadedBytes(data, stored: stored, head: answer.head, metrics: answer.metrics, record: record, share: share)
    }

    var origin: ImageOrigin { stored == nil ? .remote : .diskCache }
    /// Whether the server has confirmed stored bytes.
    var isConfirmed: Bool { stored != nil && head != nil }
    /// Whether a cache that machines share had them, so that the server may have others.
    var isFromSharedCache: Bool { judgments.contains(where: \.isFromSharedCache) }
    var isForMemory: Bool { arrival?.isForMemory ?? true }
    var contentType: String? { head?.headerValue("Content-Type") }

    /// Returns what to store, for the first of the image jobs that share the bytes; `nil` for the others.
    func claimArrival() -> Arrival? {
        guard let arrival, !isArrivalClaimed.exchange(true, ordering: .relaxed) else { return nil }
        return arrival
    }
}

/// The instructions for storing a response.
struct Arrival: Sendable {
    enum DiskUse: Sendable, Equatable {
        /// The disk stays as it is.
        case none
        /// The bytes replace what is stored.
        case stores
        /// The bytes are stored beside responses that `Vary` distinguishes.
        case storesBesideOthers
        /// The stored bytes are removed.
        case removes(others: Bool)
    }

    let disk: DiskUse
    let isForMemory: Bool
    /// The request, for `Vary`; `nil` for bytes that are not cached.
    let sent: SentRequest?

    /// The request's fields. Most responses do not vary, and need none.
    var requestHeaders: [HTTPHeader] { sent?.value.headers ?? [] }
}
