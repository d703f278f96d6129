internal import CWebImageKernels
internal import WebImageCore

extension PixelBuffer {
    /// These pixels with others above them. Where `source` does not reach, they stay as they are, whatever the mode.
    ///
    /// - Parameters:
    ///   - x: the column, in pixels, on which the source's first lies; it may lie outside.
    ///   - y: the row on which the source's first lies.
    ///   - opacity: 0 to 1, multiplied into the source.
    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    func blended(
        with source: PixelBuffer, x: Int, y: Int, mode: BlendMode, opacity: Double, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        let columns = (max(0, x)..<max(0, x, min(width, x + source.width)))
        let rows = max(0, y)..<max(0, y, min(height, y + source.height))
        guard !columns.isEmpty, !rows.isEmpty else { return self }
        let (kernel, opacity, rowLength) = (mode.kernel, Float(opacity), width * 4)
        let keepsOpacity = mode.keepsOpacity(isSourceOpaque: source.isOpaque && opacity == 1)
        return try mapRows(isOpaque: isOpaque && keepsOpacity, cancellation: cancellation) {
            row, backdrop, destination in
            guard rows.contains(row) else { return destination.update(from: backdrop, count: rowLength) }
            let (start, end) = (columns.lowerBound * 4, columns.upperBound * 4)
            destination.update(from: backdrop, count: start)
            cwi_blend(
                kernel, source.row(row - y) + (columns.lowerBound - x) * 4, backdrop + start, destination + start,
                columns.count, opacity)
            (destination + end).update(from: backdrop + end, count: rowLength - end)
        }
    }

    /// These pixels with a colour above all of them.
    ///
    /// - Parameter color: with components that are finite; those beyond 0 to 1 are cut.
    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    func blended(
        with color: Color, mode: BlendMode, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        let (kernel, width) = (mode.kernel, width)
        var line = [UInt8](repeating: 0, count: width * 4)
        cwi_fill(color.premultipliedPixel, &line, width)
        let source = line
        let keepsOpacity = mode.keepsOpacity(isSourceOpaque: color.alpha >= 1)
        return try mapRows(isOpaque: isOpaque && keepsOpacity, cancellation: cancellation) { _, backdrop, destination in
            cwi_blend(kernel, source, backdrop, destination, width, 1)
        }
    }
}
