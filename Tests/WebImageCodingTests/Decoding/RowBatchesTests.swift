import CodingTestSupport
import Foundation
import Testing
@testable import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// Rows that are filled by several threads.
@Suite(.timeLimit(.minutes(3))) struct BandsTests {
    /// Adds one to every byte of a row each time it is filled.
    private func fillCounts(
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
    func fillEachRowOnce(width: Int, height: Int) throws {
        let queue = WorkQueue(label: "bands", threadCount: 4)
        #expect(try fillCounts(width: width, height: height, queue: queue).allSatisfy { $0 == 1 })
        #expect(
            try fillCounts(width: width, height: height, inputPixelsPerRow: 1 << 20, queue: queue).allSatisfy {
                $0 == 1
            })
        #expect(try fillCounts(width: width, height: height, inputPixelsPerRow: .max).allSatisfy { $0 == 1 })
    }

    @Test func passTheirRowRange() throws {
        var buffer = try MutablePixelBuffer(width: 700, height: 900)
        try buffer.fillBands(cancellation: nil) { rows, destination in
            for row in rows {
                (destination + (row - rows.lowerBound) * 2800).update(repeating: UInt8(row % 251), count: 2800)
            }
        }
        let pixels = buffer.freeze(isOpaque: false)
        for row in 0..<900 { #expect(pixels[699, row].w == UInt8(row % 251)) }
    }

    @Test(.enabled(if: PlatformThread.processorCount > 1, "needs two processors"))
    func useSeveralThreadsIfAvailable() async throws {
        let queue = WorkQueue(label: "bands", threadCount: 2)
        let threads = LockBox<Set<UInt>>([])
        var buffer = try MutablePixelBuffer(width: 1024, height: 1024)
        let both = DispatchSemaphore(value: 0)
        try buffer.fillBands(cancellation: nil, queue: queue) { _, _ in
            let isNew = threads.withLock { $0.insert(UInt(pthread_self())).inserted }
            guard isNew else { return }
            // The first of two waits, with a time limit, until the second has arrived.
            if threads.withLock({ $0.count }) == 2 { both.signal() } else { _ = both.wait(timeout: .now() + 10) }
        }
        #expect(threads.withLock { $0.count } == 2)
    }

    @Test func stayOnTheCallersThreadIfTheWorkIsSmall() throws {
        let caller = UInt(pthread_self())
        let strangers = LockBox(0)
        var buffer = try MutablePixelBuffer(width: 500, height: 500)
        try buffer.fillBands(cancellation: nil) { _, _ in
            if UInt(pthread_self()) != caller { strangers.withLock { $0 += 1 } }
        }
        #expect(strangers.withLock { $0 } == 0)
    }

    /// All threads of the queue do such work at once, so none is idle to help.
    @Test func endOnTheQueuesOwnThreads() async throws {
        let queue = WorkQueue(label: "bands", threadCount: 2)
        let ended = Countdown(8)
        for _ in 0..<8 {
            queue.submit {
                guard var buffer = try? MutablePixelBuffer(width: 800, height: 800) else { return }
                let count = LockBox(0)
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
        #expect(try fillCounts(width: 800, height: 800, queue: queue).allSatisfy { $0 == 1 })
        let ended = Countdown()
        queue.submit {
            if (try? fillCounts(width: 800, height: 800, queue: queue).allSatisfy { $0 == 1 }) == true {
                ended.signal()
            }
        }
        try await ended.wait()
    }

    @Test func stopAtEachBandWhenCancelled() throws {
        try Checkpoints.expectCancellationAtEach(atLeast: 5) { checkpoints in
            var buffer = try MutablePixelBuffer(width: 512, height: 511)
            try buffer.fillBands(cancellation: checkpoints.cancellation) { _, _ in }
        }
    }

    @Test func stopOnceCancelled() throws {
        let queue = WorkQueue(label: "bands", threadCount: 4)
        let cancellation = Cancellation()
        let rowsAfter = LockBox(0)
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

@Suite(.timeLimit(.minutes(3))) struct BandHeightTests {
    /// Small, and large enough for several threads.
    @Test(arguments: [(5, 7), (100, 33), (600, 1_001), (1, 3_000)], [1, 16])
    func isAMultipleExceptForTheLast(size: (width: Int, height: Int), rowMultiple: Int) throws {
        let rowRanges = LockBox<[Range<Int>]>([])
        var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
        try pixels.fillBands(rowMultiple: rowMultiple, cancellation: nil) { rows, destination in
            rowRanges.withLock { $0.append(rows) }
            for row in rows { destination[(row - rows.lowerBound) * size.width * 4] = UInt8(row % 251) }
        }
        let bands = rowRanges.withLock { $0.sorted { $0.lowerBound < $1.lowerBound } }
        #expect(bands.flatMap { Array($0) } == Array(0..<size.height))
        #expect(bands.allSatisfy { $0.lowerBound % rowMultiple == 0 })
        let filled = pixels.freeze(isOpaque: false)
        #expect((0..<size.height).allSatisfy { filled[0, $0].x == UInt8($0 % 251) })
    }
}

/// The checkpoints of row-by-row decoders.
@Suite(.timeLimit(.minutes(3))) struct RowBatchesTests {
    @Test(arguments: [(10, 1000, 64), (1000, 10, 64), (3, 7, 6), (1, 1, 1)])
    func coversEveryRowOnceInOrder(width: Int, height: Int, pixelCount: Int) throws {
        var rows: [Int] = []
        try PixelSize(width: width, height: height).forEachRowBatch(pixelCount: pixelCount, cancellation: nil) {
            batch in
            #expect(batch.count == 1 || batch.count * width <= pixelCount)
            rows += batch
        }
        #expect(rows == Array(0..<height))
    }

    @Test func stopsAtTheNextBatchOnceCancelled() {
        let cancellation = Cancellation()
        var batchCount = 0
        #expect(throws: WebImageError.cancelled) {
            try PixelSize(width: 100, height: 100).forEachRowBatch(pixelCount: 1000, cancellation: cancellation) { _ in
                batchCount += 1
                if batchCount == 3 { cancellation.cancel() }
            }
        }
        #expect(batchCount == 3)
    }

    @Test func clearsEveryPixelUnlessCancelled() throws {
        var buffer = try MutablePixelBuffer(width: 1000, height: 600)
        buffer.withUnsafeMutableBytes { bytes in
            for index in bytes.indices { bytes[index] = 7 }
        }
        #expect(throws: WebImageError.cancelled) {
            try buffer.clear(cancellation: Checkpoints(cancellingAt: 2).cancellation)
        }
        #expect(buffer.withUnsafeMutableBytes { $0.first == 0 && $0.last == 7 })
        try buffer.clear(cancellation: nil)
        #expect(buffer.withUnsafeMutableBytes { $0.allSatisfy { $0 == 0 } })
    }
}

/// Where decoders check their cancellation.
@Suite(.timeLimit(.minutes(3))) struct DecodingCancellationTests {
    private let registry = CodecRegistry()

    /// At least three checkpoints: before, while and after the pixels are decoded.
    @Test(arguments: [
        "photo.jpg", "progressive-444.jpg", "orientation-6.jpg", "photo.png", "rgba-16-adam7.png", "offset.gif",
        "lossy.webp", "lossless-alpha.webp", "animated.webp",
    ])
    func stopsAtEveryCheckpoint(_ name: String) throws {
        let data = try Fixture(name).data()
        try Checkpoints.expectCancellationAtEach(atLeast: 3) { checkpoints in
            let thumbnail = Thumbnail(.pixels(width: 5, height: 5))
            _ = try registry.decode(
                data, options: DecodingOptions(thumbnail: thumbnail, cancellation: checkpoints.cancellation))
        }
    }

    /// A batch is a quarter megapixel: an image of one megapixel has four in each pass over its pixels.
    @Test(arguments: [(ImageFormat.jpeg, 4), (.png, 16), (.gif, 8), (.webp, 4)])
    func checksTheCancellationEveryFewMilliseconds(format: ImageFormat, count: Int) throws {
        let size = PixelSize(width: 2048, height: 512)
        let data: Data
        if format == .gif {
            data = solidGIF(width: size.width, height: size.height)
        } else {
            let white = Pixels(size: size, bytes: [UInt8](repeating: 255, count: size.pixelCount * 4))
            data = try registry.encode(Image(pixels: white.buffer(isOpaque: true)), as: format)
        }
        #expect(data.count < 20_000)
        let checkpoints = Checkpoints()
        let image = try registry.decode(data, options: DecodingOptions(cancellation: checkpoints.cancellation))
        #expect(image.pixels.size == size)
        #expect(image.pixels.isOpaque)
        #expect(checkpoints.count > count)
    }

    /// Libpng's pixels of `data`, a megapixel with alpha.
    private func begunPNG(isInterlaced: Bool) throws -> PNGStreamDecoder {
        let size = PixelSize(width: 1024, height: 1024)
        let header = PNGWriter.header(size, color: .rgba, isInterlaced: isInterlaced)
        // A quarter of the bytes: the upper rows, or, interlaced, all of them in blocks of four pixels.
        let data = PNGWriter.file(header: header, filtered: [UInt8](repeating: 0, count: 1025 * 1024))
        var file = PNGFile()
        file.read(data.bytes)
        let still = try #require(file.still)
        let stream = try PNGStreamDecoder(still)
        try stream.take(still.chunks, of: data.bytes, cancellation: nil)
        #expect(stream.shownRowCount > 200 && stream.missingRowCount > 0)
        return stream
    }

    /// After libpng's last row, there is another pass over the pixels, to premultiply or to clear.
    @Test(arguments: [false, true]) func checksTheCancellationAtTheEndOfAPNG(isInterlaced: Bool) throws {
        try Checkpoints.expectCancellationAtEach(atLeast: isInterlaced ? 4 : 3) { checkpoints in
            _ = try begunPNG(isInterlaced: isInterlaced).finish(cancellation: checkpoints.cancellation)
        }
        try Checkpoints.expectCancellationAtEach(atLeast: isInterlaced ? 4 : 3) { checkpoints in
            _ = try begunPNG(isInterlaced: isInterlaced).snapshot(cancellation: checkpoints.cancellation)
        }
    }
}
