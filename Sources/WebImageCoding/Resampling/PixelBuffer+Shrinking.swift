internal import CWebImageKernels
package import WebImageCore

extension PixelBuffer {
    /// These pixels, or a region of them, brought to `size` in less time than ``resampled(to:region:filter:cancellation:)``
    /// takes.
    ///
    ///     picture ──▶ boxes of whole pixels averaged, while twice the size is left ──▶ triangle filter ──▶ result
    ///
    /// Every input pixel counts, so that nothing aliases; the result is a little softer than Lanczos makes it.
    ///
    /// - Precondition: the region's numbers are finite, its sides above 0.
    /// - Throws: as ``resampled(to:region:filter:cancellation:)``.
    package func quicklyResampled(
        to size: PixelSize, region: PixelRegion? = nil, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> PixelBuffer {
        var region = region ?? PixelRegion(self.size)
        func boxLength(_ length: Double, _ outputLength: Int) -> Int {
            Int(min(max(length / Double(max(1, outputLength)) / 2, 1), Self.longestBox))
        }
        let box = PixelSize(width: boxLength(region.width, size.width), height: boxLength(region.height, size.height))
        guard box.pixelCount > 1 else {
            return try resampled(to: size, region: region, filter: .triangle, cancellation: cancellation)
        }
        // Where boxes don't divide the picture, the last of them is narrower, and so ends where the picture does.
        region.x /= Double(box.width)
        region.width /= Double(box.width)
        region.y /= Double(box.height)
        region.height /= Double(box.height)
        return try shrunk(by: box, cancellation: cancellation)
            .resampled(to: size, region: region, filter: .triangle, cancellation: cancellation)
    }

    /// The averages of boxes of `box` pixels.
    private func shrunk(by box: PixelSize, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        let (columns, rows) = ((width + box.width - 1) / box.width, (height + box.height - 1) / box.height)
        var output = try MutablePixelBuffer(width: columns, height: rows)
        let outputStride = output.bytesPerRow
        try output.fillBands(inputPixelsPerRow: width * box.height, cancellation: cancellation) {
            [self] range, destination in
            let sums = UnsafeMutablePointer<UInt16>.allocate(capacity: width * 4)
            defer { sums.deallocate() }
            for row in range {
                let top = row * box.height
                cwi_shrink_boxes(
                    self.row(top), bytesPerRow,
                    min(box.height, height - top), width, box.width, sums,
                    destination + (row - range.lowerBound) * outputStride)
            }
        }
        return output.freeze(isOpaque: isOpaque)
    }

    /// The sums of a box's columns must fit 16 bits.
    private static let longestBox = 255.0
}
