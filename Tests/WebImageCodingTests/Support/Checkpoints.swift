import Foundation
import Testing
import WebImageCoding
import WebImageCore

/// Counts how often work looks at its cancellation flag, and can set the flag at one of these looks.
struct Checkpoints {
    let cancellation: Cancellation
    private let counter: Lock<Int>

    /// - Parameter number: the look that finds the flag set, counted from 1; `nil` for none.
    init(cancellingAt number: Int? = nil) {
        let counter = Lock(0)
        self.counter = counter
        cancellation = Cancellation { cancellation in
            let count = counter.withLock { count in
                count += 1
                return count
            }
            if count == number { cancellation.cancel() }
        }
    }

    /// How many looks there were.
    var count: Int { counter.withLock { $0 } }

    /// Runs ``expectCancellationAtEach(atLeast:of:)`` on a decoder that gets `data` in two pieces, with a preview between.
    ///
    /// - Parameter cut: how many bytes the first piece has.
    static func expectCancellationAtEach(
        atLeast minimum: Int, ofDecoding data: Data, cutAt cut: Int,
        by makeDecoder: (Cancellation) throws -> any IncrementalImageDecoder
    ) throws {
        try expectCancellationAtEach(atLeast: minimum) { checkpoints in
            let decoder = try makeDecoder(checkpoints.cancellation)
            try decoder.append(data.prefix(cut))
            _ = try decoder.preview()
            try decoder.append(data.dropFirst(cut))
            _ = try decoder.finish()
        }
    }

    /// Runs `work` to its end, and then once for each of its looks, which must be the last it takes.
    ///
    /// - Parameter minimum: how many looks there must be at least.
    static func expectCancellationAtEach(atLeast minimum: Int, of work: (Checkpoints) throws -> Void) throws {
        let all = Checkpoints()
        try work(all)
        #expect(all.count >= minimum)
        for number in 1...all.count {
            let checkpoints = Checkpoints(cancellingAt: number)
            #expect(throws: WebImageError.cancelled, "checkpoint \(number)") { try work(checkpoints) }
            #expect(checkpoints.count == number)
        }
    }
}
