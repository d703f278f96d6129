internal import CWebImageKernels
package import WebImageCore

extension PixelBuffer {
    /// These pixels turned upright, from the direction in which `orientation` says they are stored; the same object
    /// when they stand upright already.
    ///
    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``, ``WebImageError/cancelled``.
    package func upright(
        from orientation: ImageOrientation, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> PixelBuffer {
        guard orientation != .up else { return self }
        let size = orientation.upright(self.size)
        var output = try MutablePixelBuffer(width: size.width, height: size.height)
        let path = path(from: orientation)
        try output.fillBands(cancellation: cancellation) { [self] rows, destination in
            // The kernel takes the address of the first of all rows.
            cwi_reorient(
                self.row(0), path.origin, path.stepX, path.stepY,
                destination - rows.lowerBound * size.width * 4, size.width, rows.lowerBound, rows.count)
        }
        return output.freeze(isOpaque: isOpaque)
    }

    /// Where the upright picture's first pixel is stored, and how far away its neighbours to the right and below are,
    /// in pixels.
    private func path(from orientation: ImageOrientation) -> (origin: Int, stepX: Int, stepY: Int) {
        let row = bytesPerRow / 4
        let right = width - 1
        let bottom = (height - 1) * row
        return switch orientation {
        case .up: (0, 1, row)
        case .upMirrored: (right, -1, row)
        case .down: (bottom + right, -1, -row)
        case .downMirrored: (bottom, 1, -row)
        case .leftMirrored: (0, row, 1)
        case .right: (bottom, -row, 1)
        case .rightMirrored: (bottom + right, -row, -1)
        case .left: (right, row, -1)
        }
    }
}
