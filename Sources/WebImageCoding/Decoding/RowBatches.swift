internal import Glibc
internal import WebImageCore

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
