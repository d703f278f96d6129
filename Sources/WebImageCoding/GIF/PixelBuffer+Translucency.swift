internal import CWebImageKernels
internal import WebImageCore

extension PixelBuffer {
    /// The same with every pixel opaque or clear: those that are half there or more are laid over `background`.
    func withoutTranslucency(over background: Color, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        guard !isOpaque else { return self }
        var output = try MutablePixelBuffer(width: width, height: height)
        let stride = output.bytesPerRow
        let (red, green, blue) = background.opaqueBytes
        var areAllOpaque = true
        try output.withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            guard let destination = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
            try size.forEachRowBatch(cancellation: cancellation) { rows in
                for row in rows {
                    let source = address(of: PixelArea(size), row: row)
                    cwi_flatten(source, destination + row * stride, width, red, green, blue)
                    let isOpaque = cwi_cut_alpha(source, destination + row * stride, width)
                    areAllOpaque = areAllOpaque && isOpaque
                }
            }
        }
        return output.freeze(isOpaque: areAllOpaque)
    }
}
