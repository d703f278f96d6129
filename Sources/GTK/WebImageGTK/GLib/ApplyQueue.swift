internal import CWebImageGTK
internal import WebImage

/// Runs results on the main thread soon, without delaying frames.
///
/// A thousand results in the main queue would run in a single turn of the loop, without a frame. This queue runs them
/// in order, after the frame, for at most 4 ms a turn.
///
/// Slow frames, as with an animation and a slow renderer, take the whole thread. A result that has waited for 4 ms
/// therefore runs before the next frame: it waits at most 4 ms plus the frame in progress. During a flood it may wait
/// longer, because slow frames keep a third of the time. Such a turn takes at most 50 ms.
///
/// Bodies run one at a time. A body that runs a nested main loop, as a modal dialog does, blocks the others until it
/// returns. Show the dialog and return instead.
final class ApplyQueue: CallbackQueue {
    /// The queue that all views share.
    static let main = ApplyQueue()

    private let budget: Duration
    private let now: @Sendable () -> BootTime
    private let pending = Lock(PendingBodies())

    /// - Parameters:
    ///   - budget: how long one turn of the loop starts bodies. 4 ms: a quarter of a frame at 60 Hz.
    ///   - now: the clock, for tests.
    init(
        budget: Duration = .milliseconds(4),
        now: @escaping @Sendable () -> BootTime = { BootTime.now }
    ) {
        self.budget = budget
        self.now = now
    }

    /// Queues `body` to run on the main thread, under GLib's main loop. Thread-safe.
    func enqueue(_ body: @escaping @Sendable () -> Void) {
        let time = now()
        let missing = pending.withLock { $0.append(body, at: time) }
        add(missing, timerAfter: Self.patience)
    }

    /// Adds sources, each for one turn. The sources retain the queue.
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
            // Twice the time of everything else since the last turn, so that slow frames get a third of the time. The
            // limit is for stalls, after which a long turn would block painting and input.
            run(until: start + min(max(budget * 2, wait.sinceTurn * 2), Self.longestTurn))
        }
        let end = now()
        let (missing, oldest) = pending.withLock { $0.endTurn(at: end) }
        // After a late turn, the minimum of 1 ms lets a frame begin.
        add(missing, timerAfter: max(.milliseconds(1), oldest.map { Self.patience - (end - $0) } ?? .zero))
    }

    private func run(until deadline: BootTime) {
        repeat {
            guard let body = pending.withLock({ $0.popFirst() }) else { return }
            body.run()
        } while now() < deadline
    }

    /// Lower than `GDK_PRIORITY_REDRAW` (120), so that frames take precedence. The timer takes precedence over frames.
    private static let idlePriority: gint = 125
    /// How long frames take precedence: a quarter of a frame at 60 Hz.
    private static let patience: Duration = .milliseconds(4)
    private static let longestTurn: Duration = .milliseconds(50)
}

/// Bodies in order of arrival, and the sources that run them.
private struct PendingBodies {
    /// The sources in the main loop that run the queue, each once.
    struct Sources: OptionSet {
        let rawValue: Int
        /// Runs after frames.
        static let idle = Sources(rawValue: 1)
        /// Runs before frames, when the oldest body is late.
        static let timer = Sources(rawValue: 2)
        static let all: Sources = [.idle, .timer]
    }

    /// Not a tuple, in which each use of a closure would take an allocation.
    struct Body {
        let run: @Sendable () -> Void
        let time: BootTime
    }

    private var bodies: [Body] = []
    private var firstIndex = 0
    /// The sources that are attached.
    private var sources: Sources = []
    private var isRunning = false
    private var lastTurnEnd: BootTime?

    private var oldestTime: BootTime? { firstIndex < bodies.count ? bodies[firstIndex].time : nil }

    /// Adds a body.
    ///
    /// - Returns: the sources that the caller must add.
    mutating func append(_ body: @escaping @Sendable () -> Void, at time: BootTime) -> Sources {
        bodies.append(Body(run: body, time: time))
        return addMissingSources()
    }

    /// Adds no sources during a turn, because they could not run bodies in a nested main loop.
    private mutating func addMissingSources() -> Sources {
        guard !isRunning, oldestTime != nil else { return [] }
        defer { sources = .all }
        return Sources.all.subtracting(sources)
    }

    /// Begins a turn of `source`, which is removed.
    ///
    /// - Returns: how long the oldest body has waited in total and since the last turn; `nil` if there is nothing to
    ///   do.
    mutating func beginTurn(
        by source: Sources, at time: BootTime
    ) -> (ofOldest: Duration, sinceTurn: Duration)? {
        sources.remove(source)
        guard !isRunning, let oldestTime else { return nil }
        isRunning = true
        return (time - oldestTime, time - max(oldestTime, lastTurnEnd ?? oldestTime))
    }

    /// Ends a turn.
    ///
    /// - Returns: the sources that the caller must add, and the oldest body's time.
    mutating func endTurn(at time: BootTime) -> (missing: Sources, oldest: BootTime?) {
        isRunning = false
        lastTurnEnd = time
        return (addMissingSources(), oldestTime)
    }

    /// Removes the oldest body.
    mutating func popFirst() -> Body? {
        guard firstIndex < bodies.count else {
            bodies.removeAll(keepingCapacity: firstIndex < 1024)
            firstIndex = 0
            return nil
        }
        let body = bodies[firstIndex]
        firstIndex += 1
        // The front is removed once it is half of the array, so that a queue that is never empty stays small.
        if firstIndex >= 64, firstIndex * 2 >= bodies.count {
            bodies.removeFirst(firstIndex)
            firstIndex = 0
        }
        return body
    }
}
