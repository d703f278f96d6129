extension MutablePixelBuffer {
    /// Makes the pixels of `buffer` mutable; `buffer` becomes `nil`.
    ///
    /// The memory is reused if nothing else refers to `buffer`, as with Swift's own collections. It is copied
    /// otherwise, or if the buffer is part of a larger image's memory.
    ///
    /// - Returns: `nil` if `buffer` is `nil`.
    /// - Throws: ``WebImageError/outOfResources(reason:url:)``.
    package init?(thawing buffer: inout PixelBuffer?) throws(WebImageError) {
        if let part = buffer, part.isPart {
            buffer = nil
            self = try part.copied()
            return
        }
        guard let size = buffer?.size, let bytesPerRow = buffer?.bytesPerRow, var storage = buffer?.storage else {
            return nil
        }
        // Weak references to the buffer, as in caches, could bring it back while its pixels change. Therefore it is
        // released first: a strong reference made before that counts as another owner of its memory.
        buffer = nil
        if !isKnownUniquelyReferenced(&storage) { storage = try PixelStorage(copying: storage) }
        self.init(size: size, bytesPerRow: bytesPerRow, storage: storage)
    }
}
