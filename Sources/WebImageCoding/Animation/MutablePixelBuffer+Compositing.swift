internal import CWebImageKernels
internal import Glibc
internal import WebImageCore

extension MutablePixelBuffer {
    /// Draws the pixels of a part on this canvas.
    ///
    /// - Precondition: `piece` has the part's size, and the part lies on the canvas.
    mutating func draw(
        _ piece: PixelBuffer, of part: FramePart, cancellation: Cancellation?
    ) throws(WebImageError) {
        precondition(piece.size == part.size, "\(piece.size) pixels for a part of \(part.size)")
        let source = piece.baseAddress.assumingMemoryBound(to: UInt8.self)
        let hidesAll = part.blend == .source || piece.isOpaque
        try forEachRow(of: part, cancellation: cancellation) { row, destination in
            let pixels = source + row * piece.bytesPerRow
            if hidesAll {
                memcpy(destination, pixels, part.size.width * 4)
            } else {
                cwi_blend_over(pixels, destination, part.size.width)
            }
        }
    }

    /// Makes the rectangle of a part transparent black.
    ///
    /// - Precondition: the part lies on the canvas.
    mutating func clear(_ part: FramePart, cancellation: Cancellation?) throws(WebImageError) {
        try forEachRow(of: part, cancellation: cancellation) { _, destination in
            memset(destination, 0, part.size.width * 4)
        }
    }

    private mutating func forEachRow(
        of part: FramePart, cancellation: Cancellation?, _ body: (Int, UnsafeMutablePointer<UInt8>) -> Void
    ) throws(WebImageError) {
        precondition(part.lies(inside: size), "a part of \(part.size) at (\(part.left), \(part.top)) on \(size)")
        let stride = bytesPerRow
        try withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            guard let canvas = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
            let corner = canvas + part.top * stride + part.left * 4
            try part.size.forEachRowBatch(cancellation: cancellation) { rows in
                for row in rows { body(row, corner + row * stride) }
            }
        }
    }
}
