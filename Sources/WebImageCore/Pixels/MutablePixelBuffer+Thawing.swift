internal import Glibc

extension MutablePixelBuffer {
    /// The pixels of `buffer`, to be changed; `buffer` becomes `nil`.
    ///
    /// They stay in their memory if nothing else refers to `buffer`, as with Swift's own collections, and are copied
    /// if something does.
    ///
    /// - Returns: `nil` for no buffer.
    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``; `buffer` is then as it was.
    package init?(thawing buffer: inout PixelBuffer?) throws(WebImageError) {
        let isShared = !isKnownUniquelyReferenced(&buffer)
        guard let frozen = buffer else { return nil }
        if isShared {
            try self.init(copying: frozen)
        } else {
            self.init(size: frozen.size, bytesPerRow: frozen.bytesPerRow, storage: frozen.storage)
        }
        buffer = nil
    }

    /// A copy of `buffer`.
    ///
    /// - Throws: ``WebImageError/outOfMemory(byteCount:)``.
    package init(copying buffer: PixelBuffer) throws(WebImageError) {
        let storage = try PixelStorage(byteCount: buffer.byteCount, pool: .shared)
        memcpy(storage.address, buffer.storage.address, buffer.byteCount)
        self.init(size: buffer.size, bytesPerRow: buffer.bytesPerRow, storage: storage)
    }
}
