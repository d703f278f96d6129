internal import Glibc

extension PixelBuffer {
    /// The pixels of `rect`; those of them that lie in the picture, if it sticks out.
    ///
    /// At least half of the picture is not copied: the result shows a part of this buffer's memory and keeps all of it, as
    /// its ``byteCount`` says. Less than half gets memory of its own, so that no small picture keeps a big one.
    ///
    /// - Returns: `nil` where no pixel lies in `rect`; this object where all do.
    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``.
    public func cropped(to rect: PixelRect) throws(WebImageError) -> PixelBuffer? {
        guard let rect = rect.clamped(to: size) else { return nil }
        guard rect.size != size else { return self }
        let part = PixelBuffer(rect, of: self)
        // Measured with the memory that is kept, of which this may be a part already.
        guard rect.size.pixelCount * 4 < byteCount / 2 else { return part }
        return try part.copied().freeze(isOpaque: isOpaque)
    }

    /// Whether its memory belongs to a larger picture.
    var isPart: Bool { byteCount > rowsByteCount }

    /// The same pixels in memory of their own, without gaps.
    func copied() throws(WebImageError) -> MutablePixelBuffer {
        var copy = try MutablePixelBuffer(width: width, height: height, pool: storage.pool)
        let rowByteCount = copy.bytesPerRow
        copy.withUnsafeMutableBytes { bytes in
            guard let destination = bytes.baseAddress else { return }
            for row in 0..<height {
                memcpy(destination + row * rowByteCount, baseAddress + row * bytesPerRow, rowByteCount)
            }
        }
        return copy
    }
}
