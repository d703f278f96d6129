internal import CWebImageGTK
internal import WebImage

/// Runs results on the main thread without holding up frames, and without a long wait for them.
///
/// A thousand results in the main queue would run in a single turn of the loop, without a frame. This queue runs them in order, after
/// the frame, for at most 4 ms a turn.
///
/// Slow frames, as with an animation and a slow renderer, take the whole thread. A result that has waited for 4 ms therefore runs
/// before the next frame: it waits at most 4 ms plus the frame in progress. During a flood it may wait longer, because slow frames keep
/// a third of the time. Such a turn takes at most 50 ms.
///
/// Bodies run one at a time. One that runs a main loop of its own, as a modal dialog does, holds up the others until it
/// returns. Show the dialog and return instead.
package final class ApplyQueue: CallbackQueue {
    /// The queue all views share.
    package static let main = ApplyQueue()

    private let budget: Duration
    private let now: @Sendable () -> ContinuousClock.Instant
    private let pending = Lock(PendingBodies())

    /// - Parameters:
    ///   - budget: how long one turn of the loop starts bodies. 4 ms: a quarter of a frame at 60 Hz.
    ///   - now: the clock, for tests.
    package init(
        budget: Duration = .milliseconds(4),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        self.budget = budget
        self.now = now
    }

    /// Queues `body` to run on the main thread, under GLib's main loop. Thread-safe.
    package func enqueue(_ body: @escaping @Sendable () -> Void) {
        let time = now()
        let missing = pending.withLock { $0.append(body, at: time) }
        add(missing, timerAfter: Self.patience)
    }

    /// Adds sources, each for one turn. They keep the queue alive.
    private func add(_ sources: PendingBodies.Sources, timerAfter delay: Duration) {
        if sources.contains(.idle) {
            g_idle_add_full(
                Self.idlePriority,
                { data in
                    ApplyQueue.runTurn(of: data, by: .idle)
                    return gboolean(0)
                }, Unmanaged.passRetained(self).toOpaque(), Self.release)
        }
        if sources.contains(.timer) {
            g_timeout_add_full(
                G_PRIORITY_DEFAULT, guint((delay / .milliseconds(1)).rounded(.up)),
                { data in
                    ApplyQueue.runTurn(of: data, by: .timer)
                    return gboolean(0)
                }, Unmanaged.passRetained(self).toOpaque(), Self.release)
        }
    }

    private static let release: GDestroyNotify = { data in
        if let data { Unmanaged<ApplyQueue>.fromOpaque(data).release() }
    }

    private static func runTurn(of data: gpointer?, by source: PendingBodies.Sources) {
        guard let data else { return }
        Unmanaged<ApplyQueue>.fromOpaque(data).takeUnretainedValue().runTurn(by: source)
    }

    private func runTurn(by source: PendingBodies.Sources) {
        let start = now()
        guard let wait = pending.withLock({ $0.beginTurn(by: source, at: start) }) else { return }
        if source == .idle {
            run(until: start + budget)
        } else if wait.ofOldest >= Self.patience {
            // Twice what everything else took since the last turn, so that slow frames get a third of the time. After a stall
            // that is too long: nothing would be painted and no input taken.
            run(until: start + min(max(budget * 2, wait.sinceTurn * 2), Self.longestTurn))
        }
        let end = now()
        let (missing, oldest) = pending.withLock { $0.endTurn(at: end) }
        // A late turn leaves a moment in which a frame can begin.
        add(missing, timerAfter: max(.milliseconds(1), oldest.map { Self.patience - (end - $0) } ?? .zero))
    }

    private func run(until deadline: ContinuousClock.Instant) {
        repeat {
            guard let body = pending.withLock({ $0.popFirst() }) else { return }
            body()
        } while now() < deadline
    }

    /// Behind `GDK_PRIORITY_REDRAW` (120): frames go first. The timer goes before them.
    private static let idlePriority: gint = 125
    /// How long frames go first: a quarter of a frame at 60 Hz.
    private static let patience: Duration = .milliseconds(4)
    private static let longestTurn: Duration = .milliseconds(50)
}

/// Bodies in order of arrival, and the sources that run them.
private struct PendingBodies {
    /// What calls the queue from the main loop, once.
    struct Sources: OptionSet {
        let rawValue: Int
        /// After frames.
        static let idle = Sources(rawValue: 1)
        /// Before frames, when the oldest body is late.
        static let timer = Sources(rawValue: 2)
        static let all: Sources = [.idle, .timer]
    }

    private var bodies: [(run: @Sendable () -> Void, time: ContinuousClock.Instant)] = []
    private var firstIndex = 0
    /// The sources that are attached.
    private var sources: Sources = []
    private var isRunning = false
    private var lastTurnEnd: ContinuousClock.Instant?

    private var oldestTime: ContinuousClock.Instant? { firstIndex < bodies.count ? bodies[firstIndex].time : nil }

    /// Adds a body.
    ///
    /// - Returns: the sources that the caller adds.
    mutating func append(_ body: @escaping @Sendable () -> Void, at time: ContinuousClock.Instant) -> Sources {
        bodies.append((body, time))
        return addMissingSources()
    }

    /// No sources during a turn: in a main loop that a body runs, they could not run anything.
    private mutating func addMissingSources() -> Sources {
        guard !isRunning, oldestTime != nil else { return [] }
        defer { sources = .all }
        return Sources.all.subtracting(sources)
    }

    /// Begins a turn, which `source` has started and left.
    ///
    /// - Returns: how long the oldest body has waited, in all and since the last turn; `nil` if there is nothing to do.
    mutating func beginTurn(
        by source: Sources, at time: ContinuousClock.Instant
    ) -> (ofOldest: Duration, sinceTurn: Duration)? {
        sources.remove(source)
        guard !isRunning, let oldestTime else { return nil }
        isRunning = true
        return (time - oldestTime, time - max(oldestTime, lastTurnEnd ?? oldestTime))
    }

    /// - Returns: the sources that the caller adds, and the oldest body's time.
    mutating func endTurn(at time: ContinuousClock.Instant) -> (missing: Sources, oldest: ContinuousClock.Instant?) {
        isRunning = false
        lastTurnEnd = time
        return (addMissingSources(), oldestTime)
    }

    /// Removes the oldest body.
    mutating func popFirst() -> (@Sendable () -> Void)? {
        guard firstIndex < bodies.count else {
            bodies.removeAll(keepingCapacity: firstIndex < 1024)
            firstIndex = 0
            return nil
        }
        let body = bodies[firstIndex].run
        firstIndex += 1
        // The front is removed once it is half of the array, so that a queue that is never empty stays small.
        if firstIndex >= 64, firstIndex * 2 >= bodies.count {
            bodies.removeFirst(firstIndex)
            firstIndex = 0
        }
        return body
    }
}
