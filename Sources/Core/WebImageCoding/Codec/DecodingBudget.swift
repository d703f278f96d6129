internal import WebImageCore

/// Limits the memory of all decodes that run at the same time.
///
/// A decode states the maximum memory it needs, and blocks its thread until that much is free:
///
///     decode ─▶ first in the queue, and it fits? ── yes ──▶ runs ──▶ releases its share ──▶ next in the queue
///                          └ no ─▶ waits
///
/// If no decode is running, the first in the queue starts even if it does not fit. A decode larger than the budget
/// therefore runs alone, and none waits forever. A running decode never waits for more, so two cannot deadlock.
/// Previews hold memory for as long as their file takes to arrive: they get at most half of the budget, never wait, and
/// do not delay decodes.
///
/// Previews of progressive JPEG and lossless WebP hold coefficients or a second copy of the pixels besides the output (36 MB
/// for a 12-megapixel 4:2:0 JPEG). The number of large ones is limited as well.
package final class DecodingBudget: Sendable {
    /// The budget of the process: half of its available memory, and 4 large previews.
    package static let shared = DecodingBudget(byteCount: AvailableMemory.totalBytes() / 2)

    /// The budget, in bytes.
    let byteCount: Int
    private let largePreviewLimit: Int
    private let largePreviewByteCount: Int
    private let line: WaitingLine<State>

    private struct State {
        /// The decodes that run.
        var runningCount = 0
        var heldByteCount = 0
        /// The part of ``heldByteCount`` that previews hold.
        var previewByteCount = 0
        var largePreviewCount = 0
    }

    /// - Parameters:
    ///   - byteCount: the budget, in bytes.
    ///   - largePreviewLimit: the maximum number of large previews.
    ///   - largePreviewByteCount: the memory from which a preview with coefficients or a copy is large. 4 MiB, which a
    ///     progressive JPEG of 1 megapixel takes: a page of icons has a preview for each.
    init(byteCount: Int, largePreviewLimit: Int = 4, largePreviewByteCount: Int = 4 << 20) {
        self.byteCount = byteCount
        self.largePreviewLimit = largePreviewLimit
        self.largePreviewByteCount = largePreviewByteCount
        line = WaitingLine(State()) { state, share in
            guard state.runningCount == 0 || share <= byteCount - state.heldByteCount else { return false }
            state.runningCount += 1
            state.heldByteCount += share
            return true
        }
    }

    /// The bytes in use.
    var heldByteCount: Int { line.withLock { $0.heldByteCount } }

    /// The number of decodes that run.
    package var decodeCount: Int { line.withLock { $0.runningCount } }

    /// The number of decodes that wait.
    var waitingCount: Int { line.waitingCount }

    /// The number of large previews in progress.
    var largePreviewCount: Int { line.withLock { $0.largePreviewCount } }

    /// Returns a share for a decode; blocks until the memory is free.
    func share(_ byteCount: Int, cancellation: Cancellation?) throws(WebImageError) -> DecodingShare {
        if !line.takeIfPossible(byteCount) {
            let waiter = Waiter<Bool>()
            let place = line.enter(byteCount) { waiter.resume(true) }
            let hasBegun = waiter.wait(cancellation: cancellation) {
                if place?.leave() == true { waiter.resume(false) }
            }
            guard hasBegun else { throw .cancelled }
        }
        return DecodingShare(of: self, byteCount: byteCount, isForPreviews: false)
    }

    /// Returns a share for previews; `nil` if it does not fit now.
    ///
    /// - Parameter hasCopy: whether it holds coefficients or a second copy of the pixels.
    func previewShare(_ byteCount: Int, hasCopy: Bool = false) -> DecodingShare? {
        let isLarge = hasCopy && byteCount >= largePreviewByteCount
        let fits = line.ifNoneWaits { state in
            guard byteCount <= self.byteCount - state.heldByteCount,
                byteCount <= self.byteCount / 2 - state.previewByteCount,
                !isLarge || state.largePreviewCount < largePreviewLimit
            else { return false }
            state.heldByteCount += byteCount
            state.previewByteCount += byteCount
            if isLarge { state.largePreviewCount += 1 }
            return true
        }
        return fits ? DecodingShare(of: self, byteCount: byteCount, isForPreviews: true, isLarge: isLarge) : nil
    }

    fileprivate func release(_ share: DecodingShare) {
        line.update { state in
            state.heldByteCount -= share.byteCount
            if share.isForPreviews {
                state.previewByteCount -= share.byteCount
                if share.isLarge { state.largePreviewCount -= 1 }
            } else {
                state.runningCount -= 1
            }
        }
    }

    fileprivate func grow(_ share: DecodingShare, by byteCount: Int) {
        line.withLock { state in
            state.heldByteCount += byteCount
            if share.isForPreviews { state.previewByteCount += byteCount }
        }
    }

    fileprivate func endLargePreview() { line.withLock { $0.largePreviewCount -= 1 } }
}

/// The memory that one decode holds of the budget; releases it on deinit. Used by one thread at a time.
package final class DecodingShare {
    private(set) var byteCount: Int
    fileprivate let isForPreviews: Bool
    fileprivate private(set) var isLarge: Bool
    private let budget: DecodingBudget

    fileprivate init(of budget: DecodingBudget, byteCount: Int, isForPreviews: Bool, isLarge: Bool = false) {
        self.budget = budget
        self.byteCount = byteCount
        self.isForPreviews = isForPreviews
        self.isLarge = isLarge
    }

    deinit { budget.release(self) }

    /// Counts more bytes for a decode that turns out to need them. Does not wait; others wait instead.
    func grow(to newByteCount: Int) {
        guard newByteCount > byteCount else { return }
        budget.grow(self, by: newByteCount - byteCount)
        byteCount = newByteCount
    }

    /// Lets another large preview start before this share ends.
    func endLargePreview() {
        guard isLarge else { return }
        isLarge = false
        budget.endLargePreview()
    }
}
