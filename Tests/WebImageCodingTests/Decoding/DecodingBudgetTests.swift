import CodingTestSupport
import Dispatch
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// All decodes of a process share a memory budget.
@Suite(.timeLimit(.minutes(2))) struct DecodingBudgetTests {
    /// Requests a share on its own thread.
    private final class Asking: @unchecked Sendable {
        // `@unchecked`: what the thread writes is read after its signal.
        private let end = DispatchSemaphore(value: 0)
        private var result: Result<DecodingShare, WebImageError>?

        init(_ byteCount: Int, of budget: DecodingBudget, cancellation: Cancellation? = nil) {
            Thread { [self] in
                result = Result { () throws(WebImageError) in
                    try budget.share(byteCount, cancellation: cancellation)
                }
                end.signal()
            }.start()
        }

        func wait() throws -> DecodingShare {
            end.wait()
            defer { result = nil }
            return try #require(result).get()
        }
    }

    private func expectWaiting(_ count: Int, in budget: DecodingBudget) {
        while budget.waitingCount != count { sched_yield() }
    }

    @Test func aDecodeWaitsUntilMemoryIsFree() throws {
        let budget = DecodingBudget(byteCount: 100)
        var first: DecodingShare? = try budget.share(80, cancellation: nil)
        let second = Asking(50, of: budget)
        expectWaiting(1, in: budget)
        #expect(budget.heldByteCount == 80)
        withExtendedLifetime(first) {}
        first = nil
        let share = try second.wait()
        #expect(budget.heldByteCount == 50 && share.byteCount == 50)
    }

    @Test func aDecodeLargerThanTheBudgetRunsAlone() throws {
        let budget = DecodingBudget(byteCount: 100)
        var large: DecodingShare? = try budget.share(500, cancellation: nil)
        #expect(large?.byteCount == 500)
        let small = Asking(1, of: budget)
        expectWaiting(1, in: budget)
        large = nil
        var share: DecodingShare? = try small.wait()
        #expect(share != nil)
        let another = Asking(500, of: budget)
        expectWaiting(1, in: budget)
        share = nil
        #expect(try another.wait().byteCount == 500)
    }

    /// Otherwise a stream of small decodes would starve a large one.
    @Test func theFirstInTheQueueIsNotOvertaken() throws {
        let budget = DecodingBudget(byteCount: 100)
        var first: DecodingShare? = try budget.share(60, cancellation: nil)
        let large = Asking(90, of: budget)
        expectWaiting(1, in: budget)
        let small = Asking(10, of: budget)
        expectWaiting(2, in: budget)
        withExtendedLifetime(first) {}
        first = nil
        let shares = [try large.wait(), try small.wait()]
        #expect(budget.heldByteCount == 100)
        withExtendedLifetime(shares) {}
    }

    @Test func aCancelledDecodeLeavesTheQueue() throws {
        let budget = DecodingBudget(byteCount: 100)
        let first = try budget.share(60, cancellation: nil)
        let cancellation = Cancellation()
        let large = Asking(90, of: budget, cancellation: cancellation)
        expectWaiting(1, in: budget)
        let small = Asking(10, of: budget)
        expectWaiting(2, in: budget)
        cancellation.cancel()
        #expect(throws: WebImageError.cancelled) { try large.wait() }
        let share = try small.wait()
        #expect(budget.heldByteCount == 70)
        withExtendedLifetime((first, share)) {}
    }

    /// Previews last as long as a transfer.
    @Test func previewsGetHalfAndDelayNothing() throws {
        let budget = DecodingBudget(byteCount: 100)
        let first = try #require(budget.previewShare(50))
        #expect(budget.previewShare(1) == nil)
        var large: DecodingShare? = try budget.share(500, cancellation: nil)
        #expect(large != nil && budget.heldByteCount == 550)
        large = nil
        #expect(budget.heldByteCount == 50)
        withExtendedLifetime(first) {}
    }

    @Test func growingDoesNotWait() throws {
        let budget = DecodingBudget(byteCount: 100)
        var share: DecodingShare? = try budget.share(50, cancellation: nil)
        share?.grow(to: 300)
        #expect(budget.heldByteCount == 300)
        share?.grow(to: 20)
        #expect(budget.heldByteCount == 300)
        share = nil
        #expect(budget.heldByteCount == 0)
    }

    /// Every kind of decode, at once and in pieces, with room for only one at a time.
    @Test func decodesWaitAndSucceed() throws {
        let names = [
            "photo.jpg", "progressive-420.jpg", "rgb-8.png", "interlaced.gif", "animated.gif", "animated.png",
            "animated.webp", "lossy.webp", "lossless.webp", "lossy-alpha.webp",
        ]
        let files = try names.map { try Fixture($0).data() }
        let budget = DecodingBudget(byteCount: 1)
        let failures = LockBox<[WebImageError]>([])
        DispatchQueue.concurrentPerform(iterations: 4 * files.count) { index in
            let data = files[index % files.count]
            var options = DecodingOptions()
            options.budget = budget
            do throws(WebImageError) {
                let image: Image
                if index / files.count % 2 == 0 {
                    image = try CodecRegistry.builtIn.decode(data, options: options)
                } else {
                    let decoder = try CodecRegistry.builtIn.makeIncrementalDecoder(
                        startingWith: data.prefix(100), options: options)
                    try decoder?.append(data.dropFirst(100))
                    guard let decoder else { return }
                    #expect(try decoder.preview() == nil, "there is no memory for previews")
                    image = try decoder.finish()
                }
                guard let reader = image.animation?.makeFrameReader() else { return }
                for frame in 0..<image.frameCount { _ = try reader.frame(at: frame, cancellation: nil) }
            } catch {
                failures.withLock { $0.append(error) }
            }
        }
        #expect(failures.withLock { $0 }.isEmpty)
        #expect(budget.heldByteCount == 0 && budget.waitingCount == 0)
    }
}
