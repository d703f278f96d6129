extension MutablePixelBuffer {
    /// The pixels of `buffer`, to be changed; `buffer` becomes `nil`.
    ///
    /// They stay in their memory if nothing else refers to `buffer`, as with Swift's own collections, and are copied
    /// if something does, or if they are a part of a larger picture's memory.
    ///
    /// - Returns: `nil` for no buffer.
    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``.
    package init?(thawing buffer: inout PixelBuffer?) throws(WebImageError) {
        if let part = buffer, part.isPart {
            buffer = nil
            self = try part.copied()
            return
        }
        guard let size = buffer?.size, let bytesPerRow = buffer?.bytesPerRow, var storage = buffer?.storage else {
            return nil
        }
        // A buffer of which nobody else has more than a weak reference could come back while its pixels change, as caches
        // remember pictures. So it goes first; then whoever got hold of it in time counts as an owner of its memory.
        buffer = nil
        if !isKnownUniquelyReferenced(&storage) { storage = try PixelStorage(copying: storage) }
        self.init(size: size, bytesPerRow: bytesPerRow, storage: storage)
    }
}
