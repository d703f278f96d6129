internal import CWebImageKernels
package import WebImageCore

extension PixelBuffer {
    /// These pixels brought to `size` with a Lanczos filter; the same object when it has that size.
    ///
    /// Each output row first sums the input rows it covers (wide, all columns alike), then the columns of that one row,
    /// so that no picture is held in between.
    ///
    /// - Throws: ``WebImageError/invalidSize(width:height:)``, ``WebImageError/outOfMemory(byteCount:)``,
    ///   ``WebImageError/cancelled``.
    package func resampled(to size: PixelSize, cancellation: Cancellation? = nil) throws(WebImageError) -> PixelBuffer {
        guard size != self.size else { return self }
        var output = try MutablePixelBuffer(width: size.width, height: size.height)
        // Sums must fit 32 bits: 8-bit pixels leave room for 22 fraction bits, 14-bit intermediates for 16.
        let rows = ResamplingWeights(from: height, to: size.height, maximumPrecision: 22)
        let columns = ResamplingWeights(from: width, to: size.width, maximumPrecision: 16)
        // Padding weights reach behind the last pixel.
        let line = UnsafeMutablePointer<Int16>.allocate(capacity: (width + columns.stride) * 4)
        line.initialize(repeating: 0, count: (width + columns.stride) * 4)
        defer { line.deallocate() }

        let outputStride = output.bytesPerRow
        // The work of an output row is that of the input rows it covers.
        let inputPixelCount = PixelSize(width: width * max(1, height / size.height), height: size.height)
        try output.withUnsafeMutableBytes { (destination) throws(WebImageError) in
            guard let destination = destination.bindMemory(to: UInt8.self).baseAddress else { return }
            try inputPixelCount.forEachRowBatch(cancellation: cancellation) { range in
                rows.withFilter { rowFilter in
                    columns.withFilter { columnFilter in
                        for row in range {
                            cwi_resample_vertically(
                                baseAddress.assumingMemoryBound(to: UInt8.self), bytesPerRow, height, width, rowFilter,
                                row, line)
                            cwi_resample_horizontally(
                                line, columnFilter, destination + row * outputStride, size.width)
                        }
                    }
                }
            }
        }
        return output.freeze(isOpaque: isOpaque)
    }
}
