internal import CWebImageKernels
package import WebImageCore

extension PixelBuffer {
    /// These pixels, or a region of them, brought to `size`; not copied, or see ``PixelBuffer/cropped(to:)``, where they
    /// have that size.
    ///
    /// Each output row first sums the input rows it covers (wide, all columns alike), then the columns of that one row,
    /// so that no picture is held in between. Rows are made on several threads, with the same bytes as on one.
    ///
    /// - Parameters:
    ///   - region: what of the picture is shown; all of it unless said otherwise.
    ///   - filter: how pixels are weighed.
    /// - Precondition: the region's numbers are finite, its sides above 0.
    /// - Throws: ``WebImageError/invalidSize(width:height:)``, ``WebImageError/outOfMemory(byteCount:)``,
    ///   ``WebImageError/cancelled``.
    package func resampled(
        to size: PixelSize, region: PixelRegion? = nil, filter: ResamplingFilter = .lanczos3,
        cancellation: Cancellation? = nil
    ) throws(WebImageError) -> PixelBuffer {
        let region = region ?? PixelRegion(self.size)
        if let rect = region.wholePixels(of: size), let part = try cropped(to: rect), part.size == size { return part }
        var output = try MutablePixelBuffer(width: size.width, height: size.height)
        // Sums must fit 32 bits: 8-bit pixels leave room for 22 fraction bits, 14-bit intermediates for 16.
        let rows = ResamplingWeights(
            from: height, region: (region.y, region.height), to: size.height, filter: filter, maximumPrecision: 22)
        var columns = ResamplingWeights(
            from: width, region: (region.x, region.width), to: size.width, filter: filter, maximumPrecision: 16)
        // Only the columns under some filter: of a small region of a wide picture that is little.
        let used = columns.inputRange(upTo: width)
        columns.moveOrigin(to: used.lowerBound)
        let outputStride = output.bytesPerRow
        // The work of an output row is that of the input rows it covers.
        let inputRowCount = max(1, Int(min(region.height / Double(size.height), Double(height))))
        try output.fillBands(inputPixelsPerRow: used.count * inputRowCount, cancellation: cancellation) {
            [self, columns] range, destination in
            // Padding weights reach behind the last pixel.
            let line = UnsafeMutablePointer<Int16>.allocate(capacity: (used.count + columns.stride) * 4)
            (line + used.count * 4).initialize(repeating: 0, count: columns.stride * 4)
            defer { line.deallocate() }
            let source = row(0) + used.lowerBound * 4
            rows.withFilter { rowFilter in
                columns.withFilter { columnFilter in
                    for row in range {
                        cwi_resample_vertically(source, bytesPerRow, height, used.count, rowFilter, row, line)
                        cwi_resample_horizontally(
                            line, columnFilter, destination + (row - range.lowerBound) * outputStride, size.width)
                    }
                }
            }
        }
        return output.freeze(isOpaque: isOpaque)
    }
}
