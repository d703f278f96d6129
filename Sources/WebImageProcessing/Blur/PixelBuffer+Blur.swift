internal import CWebImageKernels
internal import WebImageCoding
package import WebImageCore

extension PixelBuffer {
    /// These pixels blurred; the same object for a radius of 0 or less, or that is no number.
    ///
    /// The outermost pixels stand for those outside, so that edges don't darken. Premultiplied components are blurred, so
    /// that clear pixels lend no colour to their neighbours.
    ///
    ///     picture ──▶ columns blurred, lying on its side ──▶ columns blurred, upright again
    ///
    /// - Parameter radius: in pixels: about twice the standard deviation of a Gaussian. One above 8192 counts as that.
    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    package func blurred(radius: Double, cancellation: Cancellation? = nil) throws(WebImageError) -> PixelBuffer {
        guard let blur = BoxBlur(radius: radius) else { return self }
        return try blurringColumns(by: blur, cancellation: cancellation)
            .blurringColumns(by: blur, cancellation: cancellation)
    }

    /// Blurs downwards, and lays the result on its side: the next time, that is across.
    private func blurringColumns(
        by blur: BoxBlur, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        var output = try MutablePixelBuffer(width: height, height: width)
        let outputStride = output.bytesPerRow
        let stripWidth = Int(CWI_STRIP_PIXELS)
        let failure = Lock<WebImageError?>(nil)
        try output.fillBands(rowMultiple: stripWidth, cancellation: cancellation) { columns, destination in
            do throws(WebImageError) {
                let scratch = try ScratchMemory(byteCount: 2 * self.height * stripWidth * 4)
                for first in stride(from: columns.lowerBound, to: columns.upperBound, by: stripWidth) {
                    cwi_blur_columns(
                        self.row(0) + first * 4, self.bytesPerRow, min(stripWidth, columns.upperBound - first),
                        self.height, blur.boxRadius, Int32(blur.passCount),
                        scratch.address.assumingMemoryBound(to: UInt8.self),
                        destination + (first - columns.lowerBound) * outputStride)
                }
            } catch {
                failure.withLock { $0 = error }
            }
        }
        if let error = failure.withLock({ $0 }) { throw error }
        return output.freeze(isOpaque: isOpaque)
    }
}
