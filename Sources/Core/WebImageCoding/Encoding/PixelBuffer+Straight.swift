internal import CWebImageKernels
public import WebImageCore

extension PixelBuffer {
    /// Returns a copy whose colors are not premultiplied, for encoders.
    ///
    /// - Throws: ``WebImageError/outOfResources(reason:url:)``.
    public func straight() throws(WebImageError) -> PixelBuffer {
        let output = try MutablePixelBuffer(width: width, height: height)
        let start = output.baseAddress.assumingMemoryBound(to: UInt8.self)
        for y in 0..<height { cwi_unpremultiply(row(y), start + y * output.bytesPerRow, width) }
        return output.freeze(isOpaque: isOpaque)
    }
}
