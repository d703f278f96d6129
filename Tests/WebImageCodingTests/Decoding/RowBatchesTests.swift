import Testing
import WebImageCore

@testable import WebImageCoding

/// The checkpoints of every decoder that works row by row.
@Suite struct RowBatchesTests {
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
