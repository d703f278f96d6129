package import WebImageCoding
package import WebImageCore

extension CachedFileStore {
    /// The files of a cache: beside its disk cache, in a group beside that of the highest priority, or temporary ones.
    package static func of(_ cache: any ImageCaching) -> CachedFileStore { disk(of: cache)?.files ?? temporary }

    private static func disk(of cache: any ImageCaching) -> DiskCache? {
        guard let group = cache as? ImageCacheGroup else { return (cache as? ImageCache)?.disk }
        for member in group.caches.reversed() {
            if let disk = disk(of: member) { return disk }
        }
        return nil
    }

    /// Returns a file of an encoded image. One that was written before is not encoded again, unless the image is animated. Blocks the
    /// calling thread.
    ///
    /// - Parameters:
    ///   - source: the source of the image's key.
    ///   - format: the format; `nil` for the image's own if that can be written, else PNG or JPEG.
    /// - Throws: the errors of encoding and of ``store(_:as:)``.
    package func file(
        of image: Image, source: String, format: ImageFormat?, quality: Double, codecs: CodecRegistry,
        cancellation: Cancellation
    ) throws(WebImageError) -> CachedFile {
        let options = EncodingOptions(quality: quality, cancellation: cancellation)
        let content = Self.content(of: image).map { "\($0) quality \(options.quality)" }
        func file(as format: ImageFormat) throws(WebImageError) -> CachedFile {
            if let content, let file = find(Name(source: source, content: content, format: format)) { return file }
            let data = try codecs.encode(image, as: format, options: options)
            let content = content ?? Self.content(of: data)
            return try store(data, as: Name(source: source, content: content, format: format))
        }
        if let format { return try file(as: format) }
        return try codecs.withFormatForStorage(of: image, file)
    }
}
