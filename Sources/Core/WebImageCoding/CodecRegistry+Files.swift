public import FoundationEssentials
internal import SystemText
public import WebImageCore

extension CodecRegistry {
    /// Reads the EXIF of a file like ``metadata(of:limits:cancellation:)``, but only the parts of the file that can have it: the beginning of
    /// a JPEG, and the boxes and chunks of others. The dates of many photographs are read in this way. XMP may be missing. Blocks the
    /// calling thread.
    ///
    /// ```swift
    /// let metadata = try CodecRegistry.shared.metadata(ofFileAt: folder.appending(path: "photo.jpg"))
    /// let date = metadata.exifFields?.date
    /// ```
    ///
    /// - Parameters:
    ///   - file: the URL of a regular file.
    ///   - limits: those on time and memory, which decoder processes keep.
    ///   - cancellation: ends the reading, and the work of a decoder process; `nil`, the default, for none.
    /// - Throws: ``WebImageError/invalidURL(_:reason:)`` for a URL of anything else, ``WebImageError/file(path:errno:)``, and the errors of
    ///   ``info(of:limits:cancellation:)``.
    public func metadata(
        ofFileAt file: URL, limits: DecodingLimits = .default, cancellation: Cancellation? = nil
    ) throws(WebImageError) -> ImageMetadata {
        guard let path = SystemString(fileURL: file) else { throw .invalidURL(file.absoluteString) }
        let excerpt = try EXIFExcerpt.read(path, cancellation ?? Cancellation())
        return try metadata(of: excerpt, limits: limits, cancellation: cancellation)
    }
}
