internal import CWebImageGTK
public import WebImage

/// Brings results to the main thread without holding up frames, and without waiting for them for long.
///
/// A thousand results sent to the main queue one by one would run in a single turn of the loop, and nothing would be
/// painted meanwhile. This queue runs them in order, after the frame, for at most 4 ms a turn. Views use ``main``; a load
/// takes it as its callback queue.
///
/// Frames take the whole thread where each takes as long as a frame may, as with an animation and a slow renderer. A result
/// that has waited for 4 ms therefore runs before the next frame. A result waits at most 4 ms plus the frame in progress. During
/// a flood it may wait longer, because slow frames keep a third of the time; such a turn takes at most 50 ms.
///
/// Bodies run one at a time. One that runs a main loop of its own, as a modal dialog does, holds up the others until it
/// returns. Show the dialog and return instead.
public final class ApplyQueue: CallbackQueue {
    /// The queue all views share.
    public static let main = ApplyQueue()

    private let budget: Duration
    private let now: @Sendable () -> ContinuousClock.Instant
    private let pending = Lock(PendingBodies())

    /// - Parameters:
    ///   - budget: how long one turn of the loop may go on starting bodies. 4 ms: a quarter of a frame at 60 Hz.
    ///   - now: the clock, for tests.
    package init(
        budget: Duration = .milliseconds(4),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        self.budget = budget
        self.now = now
    }

    /// Queues `body` to run on the main thread, under GLib's main loop. Any thread may call it.
    public func enqueue(_ body: @escaping @Sendable () -> Void) {
        let time = now()
        let missing = pending.withLock { $0.append(body, at: time) }
        add(missing, timerAfter: Self.patience)
    }

    /// Adds the sources named, each for one turn; they keep the queue alive.
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
        // What is late leaves a moment in which a frame can begin.
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

/// Bodies in order of arrival, and what is there to run them.
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
    /// Those that are there.
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

    /// During a turn, in a main loop that a body runs, a source would only turn in vain.
    private mutating func addMissingSources() -> Sources {
        guard !isRunning, oldestTime != nil else { return [] }
        defer { sources = .all }
        return Sources.all.subtracting(sources)
    }

    /// Begins a turn; `source` is gone with it.
    ///
    /// - Returns: how long the oldest body has waited, and how long it has while no turn ran; `nil` if there is nothing to do.
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

    /// Takes the oldest out.
    mutating func popFirst() -> (@Sendable () -> Void)? {
        guard firstIndex < bodies.count else {
            bodies.removeAll(keepingCapacity: firstIndex < 1024)
            firstIndex = 0
            return nil
        }
        let body = bodies[firstIndex].run
        firstIndex += 1
        // The front is given back once it is half of the array, so a queue that never runs empty stays small.
        if firstIndex >= 64, firstIndex * 2 >= bodies.count {
            bodies.removeFirst(firstIndex)
            firstIndex = 0
        }
        return body
    }
}
