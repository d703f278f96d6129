import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// Rows that are filled on several threads.
@Suite struct BandsTests {
    /// Adds one to every byte of a row each time its turn comes.
    private func turns(
        width: Int, height: Int, inputPixelsPerRow: Int = 0, queue: WorkQueue = DecodingQueue.shared
    ) throws -> [UInt8] {
        var buffer = try MutablePixelBuffer(width: width, height: height)
        buffer.clear()
        let stride = buffer.bytesPerRow
        try buffer.fillBands(inputPixelsPerRow: inputPixelsPerRow, cancellation: nil, queue: queue) {
            rows, destination in
            for row in 0..<rows.count * stride { destination[row] &+= 1 }
        }
        let pixels = buffer.freeze(isOpaque: false)
        return pixels.withUnsafeBytes { Array($0) }
    }

    @Test(arguments: [(1, 1), (3, 70_000 / 2), (1024, 1024), (65_535, 5), (1, 65_535), (513, 511)])
    func giveEachRowOneTurn(width: Int, height: Int) throws {
        let queue = WorkQueue(label: "bands", threadCount: 4)
        #expect(try turns(width: width, height: height, queue: queue).allSatisfy { $0 == 1 })
        #expect(
            try turns(width: width, height: height, inputPixelsPerRow: 1 << 20, queue: queue).allSatisfy { $0 == 1 })
        #expect(try turns(width: width, height: height, inputPixelsPerRow: .max).allSatisfy { $0 == 1 })
    }

    @Test func tellWhichRowsTheyAre() throws {
        var buffer = try MutablePixelBuffer(width: 700, height: 900)
        try buffer.fillBands(cancellation: nil) { rows, destination in
            for row in rows {
                (destination + (row - rows.lowerBound) * 2800).update(repeating: UInt8(row % 251), count: 2800)
            }
        }
        let pixels = buffer.freeze(isOpaque: false)
        for row in 0..<900 { #expect(pixels[699, row].w == UInt8(row % 251)) }
    }

    @Test func useSeveralThreadsWhereThereAreSome() async throws {
        guard PlatformThread.processorCount > 1 else { return }
        let queue = WorkQueue(label: "bands", threadCount: 2)
        let threads = Lock<Set<UInt>>([])
        var buffer = try MutablePixelBuffer(width: 1024, height: 1024)
        let both = DispatchSemaphore(value: 0)
        try buffer.fillBands(cancellation: nil, queue: queue) { _, _ in
            let isNew = threads.withLock { $0.insert(UInt(pthread_self())).inserted }
            guard isNew else { return }
            // The first of two waits, with a safety net, until the second has come.
            if threads.withLock({ $0.count }) == 2 { both.signal() } else { _ = both.wait(timeout: .now() + 10) }
        }
        #expect(threads.withLock { $0.count } == 2)
    }

    @Test func stayOnTheCallersThreadWhereTheWorkIsSmall() throws {
        let caller = UInt(pthread_self())
        let strangers = Lock(0)
        var buffer = try MutablePixelBuffer(width: 500, height: 500)
        try buffer.fillBands(cancellation: nil) { _, _ in
            if UInt(pthread_self()) != caller { strangers.withLock { $0 += 1 } }
        }
        #expect(strangers.withLock { $0 } == 0)
    }

    /// All threads of the queue do such work at once, so that none is idle to help.
    @Test func endOnTheQueuesOwnThreads() async throws {
        let queue = WorkQueue(label: "bands", threadCount: 2)
        let ended = Countdown(8)
        for _ in 0..<8 {
            queue.submit {
                guard var buffer = try? MutablePixelBuffer(width: 800, height: 800) else { return }
                let count = Lock(0)
                try? buffer.fillBands(cancellation: nil, queue: queue) { rows, _ in
                    count.withLock { $0 += rows.count }
                }
                if count.withLock({ $0 }) == 800 { ended.signal() }
            }
        }
        try await ended.wait()
    }

    @Test func endWithOneThread() async throws {
        let queue = WorkQueue(label: "bands", threadCount: 1)
        #expect(try turns(width: 800, height: 800, queue: queue).allSatisfy { $0 == 1 })
        let ended = Countdown()
        queue.submit {
            if (try? turns(width: 800, height: 800, queue: queue).allSatisfy { $0 == 1 }) == true { ended.signal() }
        }
        try await ended.wait()
    }

    @Test func stopAtEachBandWhenCancelled() throws {
        try Checkpoints.expectCancellationAtEach(atLeast: 5) { checkpoints in
            var buffer = try MutablePixelBuffer(width: 512, height: 511)
            try buffer.fillBands(cancellation: checkpoints.cancellation) { _, _ in }
        }
    }

    @Test func giveNoMoreRowsOnceCancelled() throws {
        let queue = WorkQueue(label: "bands", threadCount: 4)
        let cancellation = Cancellation()
        let rowsAfter = Lock(0)
        var buffer = try MutablePixelBuffer(width: 1024, height: 4096)
        #expect(throws: WebImageError.cancelled) {
            try buffer.fillBands(cancellation: cancellation, queue: queue) { rows, _ in
                if cancellation.isCancelled { rowsAfter.withLock { $0 += rows.count } }
                cancellation.cancel()
            }
        }
        // At most the bands that others had taken at that moment, of 64 rows each.
        #expect(rowsAfter.withLock { $0 } <= 3 * 64)
    }
}
