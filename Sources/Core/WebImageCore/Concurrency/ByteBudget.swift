internal import Synchronization

/// Limits the memory of bytes that wait to be decoded or encoded.
///
/// Disk and network are faster than codecs. Without a limit, a thousand requests at once would soon hold a thousand
/// whole files in memory. Above the limit no file is read from disk, and server responses go to temporary files.
/// (Servers cannot be made to wait, since it is not known beforehand which one is slow.)
///
/// ```
///  disk:    admit ──► below the limit? ── yes ──► read ──► settle ──► decode ──► the share is released
///                        │ no                                                        │
///                        └─► waits, by priority ◄────────────────────────────────────┘
///  network: full when the response begins? ── no ──► memory ──► hold ──► decode ──► the share is released
///                        └ yes ──► temporary file
/// ```
package final class ByteBudget: Sendable {
    private struct State {
        var heldByteCount = 0
        /// The part of `heldByteCount` that is estimated.
        var estimatedByteCount = 0
    }

    private let byteLimit: Int
    private let line: WaitingLine<State>

    /// - Parameter byteLimit: by default 8 MiB for each processor, 16 to 256 MiB together. That is work for half a second, or one large
    ///   photograph for each: more would only take memory.
    package init(byteLimit: Int = min(max(16, 8 * PlatformThread.processorCount), 256) << 20) {
        self.byteLimit = byteLimit
        line = WaitingLine(State()) { state, estimate in
            guard state.heldByteCount < byteLimit else { return false }
            state.heldByteCount += estimate
            state.estimatedByteCount += estimate
            return true
        }
    }

    /// The number of bytes held, including estimates.
    package var heldByteCount: Int { line.withLock { $0.heldByteCount } }

    /// Whether new bodies should go to files. Reads in progress do not count: images that are loaded for the first time
    /// are not on disk.
    package var isFull: Bool { line.withLock { $0.heldByteCount - $0.estimatedByteCount >= byteLimit } }

    /// The number of waiting reads.
    var waitingCount: Int { line.waitingCount }

    /// Counts bytes until the share is released.
    package func hold(_ byteCount: Int) -> Share {
        add(byteCount)
        return Share(budget: self, byteCount: byteCount)
    }

    /// Counts bytes if they fit, or if nothing else is held; returns `nil` otherwise.
    package func holdIfPossible(_ byteCount: Int) -> Share? {
        let isAdmitted = line.withLock { state in
            let fits = byteCount == 0 || state.heldByteCount == 0 || byteCount <= byteLimit - state.heldByteCount
            if fits { state.heldByteCount += byteCount }
            return fits
        }
        return isAdmitted ? Share(budget: self, byteCount: byteCount) : nil
    }

    /// Calls `start` as soon as the held bytes are below the limit: within this call, or later, on the thread that
    /// released bytes.
    ///
    /// - Parameter start: receives a share of the budget, to be kept by the owner of the bytes.
    /// - Returns: the place in the queue, if the call has to wait.
    package func admit(priority: LoadPriority, _ start: @escaping @Sendable (Share) -> Void) -> (any LoaderTask)? {
        if line.takeIfPossible(Self.estimatedByteCount) {
            start(Share(budget: self))
            return nil
        }
        return line.enter(Self.estimatedByteCount, priority: priority) { start(Share(budget: self)) }
    }

    /// - Parameter replacesEstimate: whether the bytes replace an estimate.
    private func add(_ byteCount: Int, replacesEstimate: Bool = false) {
        line.update { state in
            state.heldByteCount += byteCount
            if replacesEstimate { state.estimatedByteCount -= Self.estimatedByteCount }
        }
    }

    /// The number of bytes that a body counts before its length is known; most images on the web are smaller.
    static let estimatedByteCount = 1 << 20

    /// A part of the budget, until it is released.
    package final class Share: Sendable {
        private let budget: ByteBudget
        /// Negative until the size is known.
        private let byteCount: Atomic<Int>

        fileprivate init(budget: ByteBudget, byteCount: Int? = nil) {
            self.budget = budget
            self.byteCount = Atomic(byteCount ?? -1)
        }

        /// Replaces the estimate, or the previous byte count.
        package func settle(_ newByteCount: Int) {
            let last = byteCount.exchange(newByteCount, ordering: .acquiringAndReleasing)
            guard last != newByteCount else { return }
            budget.add(newByteCount - (last < 0 ? ByteBudget.estimatedByteCount : last), replacesEstimate: last < 0)
        }

        /// Takes the bytes of another share of the same budget, which then has none. They are counted all the time.
        package func absorb(_ other: Share) {
            byteCount.wrappingAdd(other.byteCount.exchange(0, ordering: .acquiringAndReleasing), ordering: .releasing)
        }

        deinit { settle(0) }
    }
}
