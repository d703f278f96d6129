import FoundationEssentials
import WebImageCore
import WebImageLoading

/// What the jobs of a pipeline report on their way.
struct LoadNews: JobNews {
    /// What the job notes; reported once, at its start.
    var trace: TraceRecorder?
    var progress: LoadProgress?
    /// A loader is asked.
    var activity: LoaderActivity?
    /// All attempts at a loader so far; the last one may wait or run.
    var attempts: [LoadAttempt]?
    /// The bytes so far. A body on its way to a late subscriber may arrive after a longer one.
    var body: PartialBody?

    mutating func merge(_ newer: LoadNews) {
        trace = newer.trace ?? trace
        progress = newer.progress ?? progress
        activity = newer.activity ?? activity
        if let newAttempts = newer.attempts {
            attempts = newAttempts
            // The bytes of an attempt that failed are void.
            if newAttempts.isAtStartOfAnother { body = nil }
        }
        body = newer.body ?? body
    }
}

/// The beginning of a body that is still arriving.
///
/// Nothing is copied: it shares the memory, or the file, that the rest is written to. After a failed attempt the body starts
/// again, in another collector.
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
            if state.isActive { counter.increment() }
        }
    }

    /// Counts or does not count the attempt, which waits in a queue or has left it.
    func setActive(_ isActive: Bool) {
        state.withLock { state in
            guard !state.hasEnded, state.isActive != isActive else { return }
            state.isActive = isActive
            for counter in state.counters { if isActive { counter.increment() } else { counter.decrement() } }
        }
    }

    func end() {
        state.withLock { state in
            if state.isActive { for counter in state.counters { counter.decrement() } }
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
