internal import Dispatch
internal import Glibc
internal import Synchronization
package import WebImageCore

extension PixelSize {
    /// Calls `body` with ranges of rows that together make up this size, and looks at `cancellation` before each.
    ///
    /// - Parameter pixelCount: about how many pixels a range has. The default is a millisecond or two of decoding.
    func forEachRowBatch(
        pixelCount: Int = 1 << 18, cancellation: Cancellation?, _ body: (Range<Int>) throws(WebImageError) -> Void
    ) throws(WebImageError) {
        let rowCount = max(1, pixelCount / max(1, width))
        for first in stride(from: 0, to: height, by: rowCount) {
            try cancellation?.check()
            try body(first..<min(first + rowCount, height))
        }
    }
}

extension MutablePixelBuffer {
    /// Makes every pixel of `rows`, or of all, transparent black, a batch of rows at a time: fresh memory of 100
    /// megapixels takes a while.
    mutating func clear(rows: Range<Int>? = nil, cancellation: Cancellation?) throws(WebImageError) {
        let rows = rows ?? 0..<height
        let (size, stride) = (PixelSize(width: width, height: rows.count), bytesPerRow)
        try withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            guard let start = bytes.baseAddress else { return }
            try size.forEachRowBatch(cancellation: cancellation) { batch in
                memset(start + (rows.lowerBound + batch.lowerBound) * stride, 0, batch.count * stride)
            }
        }
    }
}

extension MutablePixelBuffer {
    /// Fills all rows: calls `body` with bands of rows until every row had its turn, on several processors where the work is
    /// worth it.
    ///
    ///     rows 0…h ──▶ bands ──▶ the calling thread
    ///                    └─────▶ threads for decoding that happen to be idle
    ///
    /// The calling thread takes part, and waits for nobody who has not begun, so that work which runs on one of those
    /// threads itself can't end up waiting for them.
    ///
    /// - Parameters:
    ///   - inputPixelsPerRow: about how many pixels are read for a row, if more than are written.
    ///   - rowMultiple: bands have a multiple of so many rows, but for the last.
    ///   - body: gets the numbers of the rows and the address of the first of them. It is called from several threads.
    /// - Throws: ``WebImageError/cancelled``, or what else `cancellation` has against going on.
    package mutating func fillBands(
        inputPixelsPerRow: Int = 0, rowMultiple: Int = 1, cancellation: Cancellation?,
        queue: WorkQueue = DecodingQueue.shared,
        _ body: @escaping @Sendable (_ rows: Range<Int>, _ destination: UnsafeMutablePointer<UInt8>) -> Void
    ) throws(WebImageError) {
        let cost = max(width, inputPixelsPerRow)
        let (stride, height) = (bytesPerRow, height)
        let isShared = cost.multipliedReportingOverflow(by: height).partialValue >= Self.sharedPixelCount
        // A band is a checkpoint. Where several threads take them, there are enough for all to end at about the same time.
        let multipleCount = max(1, Self.bandPixelCount / max(1, cost) / rowMultiple)
        let bands = Bands(rowCount: height, bandHeight: multipleCount * rowMultiple, cancellation: cancellation)
        let group = DispatchGroup()
        var helpers: [WorkItem] = []
        withUnsafeMutableBytes { bytes in
            guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
            let destination = SharedAddress(address: start)
            let work: @Sendable () -> Void = {
                while let rows = bands.next() { body(rows, destination.address + rows.lowerBound * stride) }
            }
            if isShared {
                for _ in 1..<min(queue.threadCount, PlatformThread.processorCount, bands.count) {
                    group.enter()
                    helpers.append(
                        queue.submit(priority: .veryHigh) {
                            work()
                            group.leave()
                        })
                }
            }
            work()
            // Whoever has not begun finds nothing to do.
            for helper in helpers where helper.cancel() { group.leave() }
            group.wait()
        }
        if bands.isGivenUp { throw .cancelled }
        try cancellation?.check()
    }

    /// Pixels in a band: a millisecond or less of work.
    private static let bandPixelCount = 1 << 16
    /// From how many pixels on other threads are asked: waking them takes some 50 µs.
    private static let sharedPixelCount = 1 << 18
}

/// Hands out bands of rows, each once, until none is left or nobody wants them.
private final class Bands: Sendable {
    let count: Int
    private let rowCount: Int
    private let bandHeight: Int
    private let cancellation: Cancellation?
    private let taken = Atomic(0)
    private let isCancelled = Atomic(false)

    init(rowCount: Int, bandHeight: Int, cancellation: Cancellation?) {
        count = (rowCount + bandHeight - 1) / bandHeight
        self.rowCount = rowCount
        self.bandHeight = bandHeight
        self.cancellation = cancellation
    }

    /// Whether somebody asked for a band after nobody wanted them any more.
    var isGivenUp: Bool { isCancelled.load(ordering: .relaxed) }

    func next() -> Range<Int>? {
        if isGivenUp { return nil }
        if cancellation?.isCancelled == true {
            isCancelled.store(true, ordering: .relaxed)
            return nil
        }
        let index = taken.wrappingAdd(1, ordering: .relaxed).oldValue
        guard index < count else { return nil }
        return index * bandHeight..<min((index + 1) * bandHeight, rowCount)
    }
}

/// The destination's first row, for threads that each write rows of their own.
private struct SharedAddress: @unchecked Sendable {
    // `@unchecked`: bands don't overlap, and the memory outlives the work on them.
    let address: UnsafeMutablePointer<UInt8>
}
