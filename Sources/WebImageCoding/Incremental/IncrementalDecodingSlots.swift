internal import WebImageCore

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
