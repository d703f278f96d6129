internal import WebImageCoding
internal import WebImageCore

extension PixelBuffer {
    /// A picture of the same size whose rows `body` makes of this one's, on several threads.
    ///
    /// - Parameters:
    ///   - isOpaque: whether every pixel of the result is known to be opaque.
    ///   - body: gets a row's number, its pixels, and where the new ones go.
    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    func mapRows(
        isOpaque: Bool, cancellation: Cancellation?,
        _ body:
            @escaping @Sendable (
                _ y: Int, _ source: UnsafePointer<UInt8>, _ destination: UnsafeMutablePointer<UInt8>
            ) -> Void
    ) throws(WebImageError) -> PixelBuffer {
        var output = try MutablePixelBuffer(width: width, height: height)
        let stride = output.bytesPerRow
        try output.fillBands(cancellation: cancellation) { rows, destination in
            for y in rows { body(y, self.row(y), destination + (y - rows.lowerBound) * stride) }
        }
        return output.freeze(isOpaque: isOpaque)
    }
}
