internal import Dispatch
internal import Glibc
internal import Synchronization
internal import WebImageCore

/// Runs decoders that cannot be interrupted on threads that can be abandoned.
///
///     caller ── body ──▶ thread ── returns in time ──▶ the caller has the result; the thread serves the next
///        │                  └───── does not return ──▶ keeps its memory; its result is dropped, and the thread ends
///        └── the time limit ──▶ error
///
/// The caller waits, so that the number of decodes is that of the callers' threads, and a caller, such as a thread of
/// ``DecodingQueue``, is free again at the limit whatever the library does.
package final class DecodingWatchdog: Sendable {
    /// The watchdog of the process.
    package static let shared = DecodingWatchdog()

    /// How many threads may be missing before the formats of those that are missing are refused.
    let threadLimit = max(4, PlatformThread.processorCount)
    private let state = Lock(State())

    private struct State {
        var idle: [WatchedThread] = []
        /// The threads that were abandoned and have not returned.
        var missing: [ImageFormat: Int] = [:]
    }

    private init() {}

    /// The number of threads that were abandoned and have not returned.
    package var missingCount: Int { state.withLock { $0.missing.values.reduce(0, +) } }

    /// Calls `body` on another thread and waits for its end, or until `time` is used up.
    ///
    /// - Parameter body: not called again; what it refers to is released when it returns, possibly long after this method.
    /// - Throws: ``WebImageError/LimitFailure/processorTime(seconds:)``,
    ///   ``WebImageError/ResourceFailure/decodingThreads(format:count:)``,
    ///   ``WebImageError/ResourceFailure/thread``, and the errors of `body`.
    func run<Value: Sendable>(
        _ format: ImageFormat, within time: TimeBudget, _ body: @escaping @Sendable () throws(WebImageError) -> Value
    ) throws(WebImageError) -> Value {
        let limit = time.remainingSeconds
        guard limit > 0, !time.isAbandoned else { throw time.error }
        try admit(format)
        let outcome = Outcome<Value>()
        let thread = try self.thread()
        let (start, waited, delay) = (TimeBudget.clockTime, time.waitedSeconds, thread.delaySeconds)
        time.isWatched = true
        thread.run { [self] in
            let result: Result<Value, WebImageError>
            do throws(WebImageError) {
                result = .success(try time.running(body))
            } catch {
                result = .failure(error)
            }
            guard outcome.settle(result) else {
                state.withLock { $0.missing[format, default: 1] -= 1 }
                withExtendedLifetime(result) {}
                return false
            }
            // First, so that the caller finds this thread for its next decode.
            let isKept = keep(thread)
            outcome.semaphore.signal()
            return isKept
        }
        defer { if !time.isAbandoned { time.isWatched = false } }
        var timeout = limit
        while outcome.semaphore.wait(timeout: Self.deadline(after: timeout)) == .timedOut {
            let excused = time.waitedSeconds - waited + thread.delaySeconds - delay
            timeout = limit - (TimeBudget.clockTime - start - excused)
            guard timeout <= 0 else {
                timeout = max(timeout, Self.shortestWait)
                continue
            }
            guard abandon(thread, outcome, format, time) else { break }
            throw time.error
        }
        return try outcome.result()
    }

    /// Returns `false` if the result has come meanwhile.
    private func abandon<Value>(
        _ thread: WatchedThread, _ outcome: Outcome<Value>, _ format: ImageFormat, _ time: TimeBudget
    ) -> Bool {
        // Before the thread can see that it was abandoned, and return.
        state.withLock { $0.missing[format, default: 0] += 1 }
        guard outcome.abandon() else {
            state.withLock { $0.missing[format, default: 1] -= 1 }
            return false
        }
        time.abandon()
        thread.idle()
        return true
    }

    private func admit(_ format: ImageFormat) throws(WebImageError) {
        let count = state.withLock { state in
            let missing = state.missing[format] ?? 0
            return missing > 0 && state.missing.values.reduce(0, +) >= threadLimit ? missing : 0
        }
        if count > 0 { throw .outOfResources(reason: .decodingThreads(format: format, count: count)) }
    }

    private func thread() throws(WebImageError) -> WatchedThread {
        if let idle = state.withLock({ $0.idle.popLast() }) { return idle }
        guard let thread = WatchedThread() else { throw .outOfResources(reason: .thread) }
        return thread
    }

    /// Returns whether the thread waits for more work; there are no more of them than processors.
    private func keep(_ thread: WatchedThread) -> Bool {
        state.withLock { state in
            guard state.idle.count < PlatformThread.processorCount else { return false }
            state.idle.append(thread)
            return true
        }
    }

    private static func deadline(after seconds: Double) -> DispatchTime {
        seconds < 1e6 ? .now() + seconds : .distantFuture
    }

    /// Where the thread has waited for a processor, its end is looked for again after this time.
    private static let shortestWait = 0.01
}

/// The end of a body: its result, or that nothing waits for it any more.
private final class Outcome<Value: Sendable>: Sendable {
    let semaphore = DispatchSemaphore(value: 0)
    private let state = Lock(State.running)

    private enum State {
        case running
        case returned(Result<Value, WebImageError>)
        case abandoned
    }

    /// Returns `false` if the body was abandoned; the result is released then.
    func settle(_ result: Result<Value, WebImageError>) -> Bool {
        state.withLock { state in
            guard case .running = state else { return false }
            state = .returned(result)
            return true
        }
    }

    /// Returns `false` if the body has returned.
    func abandon() -> Bool {
        state.withLock { state in
            guard case .running = state else { return false }
            state = .abandoned
            return true
        }
    }

    /// The result of a body that has returned.
    func result() throws(WebImageError) -> Value {
        switch state.withLock({ $0 }) {
        case .returned(let result): return try result.get()
        case .running, .abandoned: throw .cancelled
        }
    }
}

/// A thread that runs one body after the other, until one returns `false`.
private final class WatchedThread: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let work = Lock<(@Sendable () -> Bool)?>(nil)
    private let id = Atomic<Int32>(0)
    /// The kernel's file about this thread's turns, or -1.
    private let turns = Atomic<Int32>(-1)

    /// `nil` if the system has no thread.
    init?() {
        let isStarted = PlatformThread.start(name: "webimage-watched") { [self] in
            if DecodingQueue.niceness != 0 { PlatformThread.lowerPriority(by: DecodingQueue.niceness) }
            id.store(PlatformThread.currentID, ordering: .relaxed)
            turns.store(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC), ordering: .relaxed)
            repeat { semaphore.wait() } while work.withLock({ $0.take() })?() == true
            let descriptor = turns.exchange(-1, ordering: .relaxed)
            if descriptor >= 0 { close(descriptor) }
        }
        guard isStarted else { return nil }
    }

    func run(_ body: @escaping @Sendable () -> Bool) {
        work.withLock { $0 = body }
        semaphore.signal()
    }

    /// Lets others go first from now on.
    func idle() { PlatformThread.idle(threadWithID: id.load(ordering: .relaxed)) }

    /// How long the thread has waited for a processor while it could run, in seconds: the second number of the file. 0 if
    /// the kernel does not tell.
    var delaySeconds: Double {
        let descriptor = turns.load(ordering: .relaxed)
        guard descriptor >= 0 else { return 0 }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 128) { bytes in
            let count = pread(descriptor, bytes.baseAddress, bytes.count, 0)
            guard count > 0 else { return 0 }
            let fields = bytes[..<count].split(separator: UInt8(ascii: " "))
            guard fields.count > 1 else { return 0 }
            let nanoseconds = fields[1].reduce(0.0) { $0 * 10 + Double($1 &- 48) }
            return nanoseconds / 1e9
        }
    }
}
