import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

@Suite struct BandHeightTests {
    /// Small and large enough for several threads.
    @Test(arguments: [(5, 7), (100, 33), (600, 1_001), (1, 3_000)], [1, 16])
    func isAMultipleButForTheLast(size: (width: Int, height: Int), rowMultiple: Int) throws {
        let turns = Lock<[Range<Int>]>([])
        var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
        try pixels.fillBands(rowMultiple: rowMultiple, cancellation: nil) { rows, destination in
            turns.withLock { $0.append(rows) }
            for row in rows { destination[(row - rows.lowerBound) * size.width * 4] = UInt8(row % 251) }
        }
        let bands = turns.withLock { $0.sorted { $0.lowerBound < $1.lowerBound } }
        #expect(bands.flatMap { Array($0) } == Array(0..<size.height))
        #expect(bands.allSatisfy { $0.lowerBound % rowMultiple == 0 })
        let filled = pixels.freeze(isOpaque: false)
        #expect((0..<size.height).allSatisfy { filled[0, $0].x == UInt8($0 % 251) })
    }
}
