internal import Glibc

extension PixelBuffer {
    /// Returns the pixels of `rect` that are inside the image.
    ///
    /// At least half of the image is not copied: the result shares this buffer's memory and retains all of it, as its
    /// ``byteCount`` says. Less than half is copied, so that small images do not retain large ones.
    ///
    /// - Returns: `nil` if no pixel is in `rect`; this object if all are.
    /// - Throws: ``WebImageError/outOfResources(reason:url:)``.
    public func cropped(to rect: PixelRect) throws(WebImageError) -> PixelBuffer? {
        guard let rect = rect.clamped(to: size) else { return nil }
        guard rect.size != size else { return self }
        let part = PixelBuffer(rect, of: self)
        // Compared with the retained memory, of which this buffer may already be a part.
        guard rect.size.pixelCount * 4 < byteCount / 2 else { return part }
        return try part.copied().freeze(isOpaque: isOpaque)
    }

    /// Whether the memory belongs to a larger image.
    var isPart: Bool { byteCount > rowsByteCount }

    /// Returns a copy of the pixels, without gaps between rows.
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
