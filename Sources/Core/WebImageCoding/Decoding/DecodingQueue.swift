internal import Dispatch
internal import Glibc
internal import Synchronization
public import WebImageCore

/// The threads of the process for decoding and encoding, shared by all managers and caches.
package enum DecodingQueue {
    private static let threadLimit = Atomic(Int.max)

    /// Limits the threads for one image; no limit by default. A decoder process does not see the other decoders, so that the program
    /// tells it.
    package static func limitThreads(to count: Int) { threadLimit.store(count, ordering: .relaxed) }

    /// Returns how many threads each of some images gets that are decoded or encoded now: all processors, divided.
    package static func threadCount(forEachOf count: Int) -> Int {
        max(1, min(PlatformThread.processorCount / max(1, count), threadLimit.load(ordering: .relaxed)))
    }

    /// One thread per processor; with views one less, at a lower priority than the main thread, which draws.
    package static let shared: WorkQueue = {
        let processorCount = PlatformThread.processorCount
        return WorkQueue(
            label: "webimage-decode", threadCount: niceness > 0 ? processorCount - 1 : processorCount,
            niceness: niceness)
    }()

    /// The number that is added to the nice value of threads for decoding.
    package static var niceness: Int32 { ViewPresence.isAnnounced ? 5 : 0 }

    /// Runs `body` on a decoding thread.
    package static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            shared.submit { continuation.resume(returning: body()) }
        }
    }

    /// Runs `body` on a decoding thread. If the task is cancelled while waiting, returns `nil` and never calls `body`;
    /// later, it sets `body`'s flag.
    ///
    /// - Parameter onQueued: receives the queued work, to change its priority.
    package static func run<Result: Sendable>(
        priority: LoadPriority, onQueued: (WorkItem) -> Void = { _ in },
        _ body: @escaping @Sendable (Cancellation) -> Result
    ) async -> Result? {
        let cancellation = Cancellation()
        let waiting = LockBox<(item: WorkItem, resume: @Sendable () -> Void)?>(nil)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let item = shared.submit(priority: priority) {
                    continuation.resume(returning: cancellation.isCancelled ? nil : body(cancellation))
                }
                waiting.withLock { $0 = (item, { continuation.resume(returning: nil) }) }
                onQueued(item)
                // The cancellation handler may have run before the item was set.
                if cancellation.isCancelled, item.cancel() { continuation.resume(returning: nil) }
            }
        } onCancel: {
            cancellation.cancel()
            if let (item, resume) = waiting.withLock({ $0 }), item.cancel() { resume() }
        }
    }
}

extension PixelSize {
    /// Calls `body` with consecutive ranges of rows, and checks `cancellation` before each.
    ///
    /// - Parameter pixelCount: about how many pixels a range has. The default takes a millisecond or two to decode.
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
    /// Makes `rows`, or all, transparent in batches: touching 100 megapixels of fresh memory takes a while.
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

extension DecodingQueue {
    /// Calls `body` with bands of rows, each once, perhaps on several processors.
    ///
    ///     rows 0…n ──▶ bands ──▶ the calling thread
    ///                    └─────▶ threads for decoding that happen to be idle
    ///
    /// The calling thread takes part and does not wait for threads that have not started, so it can be a decoding
    /// thread itself. The cancellation is checked before each band.
    ///
    /// - Throws: ``WebImageError/cancelled``, or another error of `cancellation`.
    package static func forEachBand(
        ofRows rowCount: Int, bandHeight: Int, isShared: Bool, cancellation: Cancellation?,
        queue: WorkQueue = DecodingQueue.shared, _ body: @escaping @Sendable (Range<Int>) -> Void
    ) throws(WebImageError) {
        let bands = Bands(rowCount: rowCount, bandHeight: bandHeight, cancellation: cancellation)
        let group = DispatchGroup()
        var helpers: [WorkItem] = []
        let work: @Sendable () -> Void = {
            while let rows = bands.next() { body(rows) }
        }
        if isShared, bands.count > 1 {
            for _ in 1..<min(queue.threadCount, threadCount(forEachOf: 1), bands.count) {
                group.enter()
                helpers.append(
                    queue.submit(priority: .veryHigh) {
                        work()
                        group.leave()
                    })
            }
        }
        work()
        // A helper that has not started has nothing left to do.
        for helper in helpers where helper.cancel() { group.leave() }
        group.wait()
        if bands.isStopped { throw .cancelled }
        try cancellation?.check()
    }
}

extension MutablePixelBuffer {
    /// Fills all rows by calling `body` with bands of rows, on several processors if that pays.
    ///
    /// - Parameters:
    ///   - inputPixelsPerRow: about how many pixels are read for a row, if more than are written.
    ///   - rowMultiple: the height of bands, except the last, is a multiple of this.
    ///   - cancellation: checked before each band; `nil` for none.
    ///   - body: receives the rows and the address of the first of them. Called from several threads.
    /// - Throws: ``WebImageError/cancelled``, or another error of `cancellation`.
    public mutating func fillBands(
        inputPixelsPerRow: Int = 0, rowMultiple: Int = 1, cancellation: Cancellation?,
        _ body: @escaping @Sendable (_ rows: Range<Int>, _ destination: UnsafeMutablePointer<UInt8>) -> Void
    ) throws(WebImageError) {
        try fillBands(
            inputPixelsPerRow: inputPixelsPerRow, rowMultiple: rowMultiple, cancellation: cancellation,
            queue: DecodingQueue.shared, body)
    }

    mutating func fillBands(
        inputPixelsPerRow: Int = 0, rowMultiple: Int = 1, cancellation: Cancellation?, queue: WorkQueue,
        _ body: @escaping @Sendable (_ rows: Range<Int>, _ destination: UnsafeMutablePointer<UInt8>) -> Void
    ) throws(WebImageError) {
        let cost = max(width, inputPixelsPerRow)
        let (stride, height) = (bytesPerRow, height)
        let isShared = cost.multipliedReportingOverflow(by: height).partialValue >= Self.sharedPixelCount
        // There are enough bands for all threads to end at about the same time.
        let multipleCount = max(1, Self.bandPixelCount / max(1, cost) / rowMultiple)
        try withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
            let destination = SharedAddress(address: start)
            try DecodingQueue.forEachBand(
                ofRows: height, bandHeight: multipleCount * rowMultiple, isShared: isShared, cancellation: cancellation,
                queue: queue
            ) { rows in body(rows, destination.address + rows.lowerBound * stride) }
        }
    }

    /// Pixels of a band: a millisecond of work or less.
    private static let bandPixelCount = 1 << 16
    /// From this many pixels on, other threads help: waking them takes about 50 µs.
    private static let sharedPixelCount = 1 << 18
}

/// Hands out bands of rows, each once, until none is left or the work is cancelled.
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

    /// Whether a band was requested after the cancellation.
    var isStopped: Bool { isCancelled.load(ordering: .relaxed) }

    func next() -> Range<Int>? {
        if isStopped { return nil }
        if cancellation?.isCancelled == true {
            isCancelled.store(true, ordering: .relaxed)
            return nil
        }
        let index = taken.wrappingAdd(1, ordering: .relaxed).oldValue
        guard index < count else { return nil }
        return index * bandHeight..<min((index + 1) * bandHeight, rowCount)
    }
}

/// The address of the first row, shared by threads that write different rows.
private struct SharedAddress: @unchecked Sendable {
    // `@unchecked`: bands do not overlap, and the memory outlives the work on them.
    let address: UnsafeMutablePointer<UInt8>
}
