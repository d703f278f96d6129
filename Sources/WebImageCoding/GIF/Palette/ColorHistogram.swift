internal import WebImageCore

/// How often which colours occur, in boxes of 8 levels a side; and, as long as they are few, which exactly.
struct ColorHistogram {
    /// All colours; `nil` once there are more than 256.
    private(set) var exact: ColorSet? = ColorSet()
    /// Whether a pixel was clear.
    private(set) var hasClearPixels = false
    /// Of each box, how many pixels there are and the sums of their red, green and blue.
    private(set) var boxes = [SIMD4<Double>](repeating: .zero, count: side * side * side)

    /// Boxes a side.
    static let side = 32

    /// Counts pixels, which are opaque or clear.
    mutating func add(_ pixels: PixelBuffer, cancellation: Cancellation?) throws(WebImageError) {
        try pixels.forEachWordBatch(cancellation: cancellation) { words in
            var last: UInt32 = 0
            for word in words {
                guard word != 0 else {
                    hasClearPixels = true
                    continue
                }
                if exact != nil, word != last, exact?.insert(word) == false { exact = nil }
                last = word
                let (red, green, blue) = (word & 0xFF, word >> 8 & 0xFF, word >> 16 & 0xFF)
                boxes[Int((red & 0xF8) << 7 | (green & 0xF8) << 2 | blue >> 3)] +=
                    SIMD4(1, Double(red), Double(green), Double(blue))
            }
        }
    }
}

extension PixelBuffer {
    /// Calls `body` with rows of pixels, red in the lowest byte, from the top on.
    func forEachWordBatch(
        cancellation: Cancellation?, _ body: (UnsafeBufferPointer<UInt32>) -> Void
    ) throws(WebImageError) {
        try size.forEachRowBatch(pixelCount: 1 << 16, cancellation: cancellation) { rows in
            for row in rows {
                let start = (baseAddress + row * bytesPerRow).assumingMemoryBound(to: UInt32.self)
                body(UnsafeBufferPointer(start: start, count: width))
            }
        }
    }
}
