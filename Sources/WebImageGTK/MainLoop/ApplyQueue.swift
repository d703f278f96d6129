internal import CWebImageGTK
public import WebImage

/// Brings results to the main thread without holding up a frame.
///
/// A thousand results sent to the main queue one by one would run in a single turn of the loop, and nothing would be
/// painted for as long as they take. This queue runs them after the frame, in order, for at most 4 ms a turn; the rest
/// waits for the next one. Views use ``main``; a load takes it as its callback queue.
///
/// Bodies run one at a time: one that runs a main loop of its own, as a modal dialog does, holds up the others until it
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
        let isFirst = pending.withLock { $0.append(body) }
        if isFirst { schedule() }
    }

    /// Adds an idle source that lives until the queue is empty and keeps the queue alive.
    private func schedule() {
        g_idle_add_full(
            Self.sourcePriority,
            { data in
                guard let data else { return gboolean(0) }
                return Unmanaged<ApplyQueue>.fromOpaque(data).takeUnretainedValue().runOneTurn()
            }, Unmanaged.passRetained(self).toOpaque(),
            { data in if let data { Unmanaged<ApplyQueue>.fromOpaque(data).release() } })
    }

    /// Runs bodies until the budget is used up; non-zero when some are left.
    private func runOneTurn() -> gboolean {
        let deadline = now() + budget
        repeat {
            guard let body = pending.withLock({ $0.popFirst() }) else { return gboolean(0) }
            body()
        } while now() < deadline
        return gboolean(1)
    }

    /// Behind `GDK_PRIORITY_REDRAW` (120): frames go first.
    private static let sourcePriority: gint = 125
}

/// Bodies in order of arrival.
private struct PendingBodies {
    private var bodies: [@Sendable () -> Void] = []
    private var firstIndex = 0
    private var isScheduled = false

    /// Adds a body; `true` when no source is there yet to run it.
    mutating func append(_ body: @escaping @Sendable () -> Void) -> Bool {
        bodies.append(body)
        defer { isScheduled = true }
        return !isScheduled
    }

    /// Takes out the oldest; `nil` ends the source's life.
    mutating func popFirst() -> (@Sendable () -> Void)? {
        guard firstIndex < bodies.count else {
            bodies.removeAll(keepingCapacity: firstIndex < 1024)
            firstIndex = 0
            isScheduled = false
            return nil
        }
        let body = bodies[firstIndex]
        firstIndex += 1
        // The front is given back once it is half of the array, so a queue that never runs empty stays small.
        if firstIndex >= 64, firstIndex * 2 >= bodies.count {
            bodies.removeFirst(firstIndex)
            firstIndex = 0
        }
        return body
    }
}
