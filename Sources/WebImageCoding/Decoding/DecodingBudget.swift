internal import Dispatch
internal import WebImageCore

/// Bounds the memory of all decodes that run at the same time.
///
/// A decode says how much memory it takes at the most before it takes any, and waits on its thread while there is no room:
///
///     decode ─▶ first in line, and room for it? ── yes ──▶ runs ──▶ its share goes back ──▶ next in line
///                         └ no ─▶ waits
///
/// The first in line runs without room too if no other decode runs: so one that is larger than the budget runs alone, and none
/// waits for ever. A decode that runs never waits for more, so two can't wait for each other. Previews of files that arrive
/// hold memory for as long as their server takes; so they get at most half of the budget, don't wait, and do not keep a
/// decode from running.
package final class DecodingBudget: Sendable {
    /// The budget of the process: half of the memory that it may have.
    package static let shared = DecodingBudget(byteCount: AvailableMemory.totalBytes() / 2)

    /// In bytes.
    package let byteCount: Int
    private let state = Lock(State())

    private struct State {
        var decodeCount = 0
        var heldByteCount = 0
        /// Of these, what previews hold.
        var previewByteCount = 0
        /// The longest waiting first.
        var waiters: [Waiter] = []

        mutating func begin(_ byteCount: Int) {
            decodeCount += 1
            heldByteCount += byteCount
        }

        mutating func end(_ byteCount: Int) {
            decodeCount -= 1
            heldByteCount -= byteCount
        }
    }

    private final class Waiter: Sendable {
        let byteCount: Int
        let turn = DispatchSemaphore(value: 0)

        init(byteCount: Int) { self.byteCount = byteCount }
    }

    package init(byteCount: Int) { self.byteCount = byteCount }

    /// How many bytes are held.
    package var heldByteCount: Int { state.withLock { $0.heldByteCount } }

    /// How many decodes wait.
    package var waitingCount: Int { state.withLock { $0.waiters.count } }

    /// A share for a decode. It blocks while there is no room.
    ///
    /// - Throws: ``WebImageError/cancelled`` and ``WebImageError/decodingTimedOut(seconds:)``, as `cancellation` says.
    func share(_ byteCount: Int, cancellation: Cancellation?) throws(WebImageError) -> DecodingShare {
        let waiter = state.withLock { state -> Waiter? in
            if state.waiters.isEmpty, mayBegin(byteCount, state) {
                state.begin(byteCount)
                return nil
            }
            let waiter = Waiter(byteCount: byteCount)
            state.waiters.append(waiter)
            return waiter
        }
        if let waiter { try wait(waiter, cancellation) }
        return DecodingShare(of: self, byteCount: byteCount, isForPreviews: false)
    }

    /// A share for previews; `nil` where there is no room now.
    func previewShare(_ byteCount: Int) -> DecodingShare? {
        let fits = state.withLock { state in
            guard state.waiters.isEmpty, byteCount <= self.byteCount - state.heldByteCount,
                byteCount <= self.byteCount / 2 - state.previewByteCount
            else { return false }
            state.heldByteCount += byteCount
            state.previewByteCount += byteCount
            return true
        }
        return fits ? DecodingShare(of: self, byteCount: byteCount, isForPreviews: true) : nil
    }

    private func mayBegin(_ byteCount: Int, _ state: State) -> Bool {
        state.decodeCount == 0 || byteCount <= self.byteCount - state.heldByteCount
    }

    private func wait(_ waiter: Waiter, _ cancellation: Cancellation?) throws(WebImageError) {
        // A cancellation is a flag that is polled.
        while waiter.turn.wait(timeout: .now() + .milliseconds(Self.pollMilliseconds)) == .timedOut {
            do throws(WebImageError) {
                try cancellation?.check()
            } catch {
                leave(waiter)
                throw error
            }
        }
    }

    /// Lets in those of the line that have room now, and returns them.
    private func letIn(_ state: inout State) -> [Waiter] {
        var turns: [Waiter] = []
        while let first = state.waiters.first, mayBegin(first.byteCount, state) {
            state.waiters.removeFirst()
            state.begin(first.byteCount)
            turns.append(first)
        }
        return turns
    }

    /// Takes a waiter out of the line, or gives back what it got meanwhile.
    private func leave(_ waiter: Waiter) {
        let turns = state.withLock { state in
            if let index = state.waiters.firstIndex(where: { $0 === waiter }) {
                state.waiters.remove(at: index)
            } else {
                state.end(waiter.byteCount)
            }
            return letIn(&state)
        }
        turns.forEach { $0.turn.signal() }
    }

    fileprivate func giveBack(_ share: DecodingShare) {
        let turns = state.withLock { state in
            if share.isForPreviews {
                state.heldByteCount -= share.byteCount
                state.previewByteCount -= share.byteCount
            } else {
                state.end(share.byteCount)
            }
            return letIn(&state)
        }
        turns.forEach { $0.turn.signal() }
    }

    fileprivate func grow(by byteCount: Int, isForPreviews: Bool) {
        state.withLock { state in
            state.heldByteCount += byteCount
            if isForPreviews { state.previewByteCount += byteCount }
        }
    }

    private static let pollMilliseconds = 20
}

/// One decode's part of the budget, until this object goes. It belongs to one thread at a time.
final class DecodingShare {
    private(set) var byteCount: Int
    fileprivate let isForPreviews: Bool
    private let budget: DecodingBudget

    fileprivate init(of budget: DecodingBudget, byteCount: Int, isForPreviews: Bool) {
        self.budget = budget
        self.byteCount = byteCount
        self.isForPreviews = isForPreviews
    }

    deinit { budget.giveBack(self) }

    /// Counts more, where a decode turns out to take it. It does not wait: others do then.
    func grow(to newByteCount: Int) {
        guard newByteCount > byteCount else { return }
        budget.grow(by: newByteCount - byteCount, isForPreviews: isForPreviews)
        byteCount = newByteCount
    }
}

/// Bounds how many incremental decoders hold large state at once.
///
/// Bodies that arrive slowly keep their decoders for long, and there may be as many as connections. Most keep little
/// besides the pixels that they are there to make; a progressive JPEG keeps all its coefficients as well (36 MB at 12
/// megapixels, 4:2:0), lossless WebP a second copy of the pixels. Who finds no slot free collects bytes instead, shows
/// nothing before its file is whole, and may ask again.
final class IncrementalDecodingSlots: Sendable {
    /// Those that decoders take from unless told otherwise: 4.
    static let shared = IncrementalDecodingSlots(count: 4)

    private let free: Lock<Int>

    init(count: Int) { free = Lock(count) }

    /// How many are not taken.
    var freeCount: Int { free.withLock { $0 } }

    /// A slot, or `nil` when all are taken.
    func take() -> IncrementalDecodingSlot? {
        let isTaken = free.withLock { free in
            guard free > 0 else { return false }
            free -= 1
            return true
        }
        return isTaken ? IncrementalDecodingSlot(of: self) : nil
    }

    fileprivate func give() { free.withLock { $0 += 1 } }
}

/// The right to hold large state while bytes arrive; it ends with this value.
struct IncrementalDecodingSlot: ~Copyable {
    private let slots: IncrementalDecodingSlots

    fileprivate init(of slots: IncrementalDecodingSlots) { self.slots = slots }

    deinit { slots.give() }
}
