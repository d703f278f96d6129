public import WebImageCaching
public import WebImageLoading

extension DiskCache.Entry {
    /// The response that the bytes came with; `nil` for bytes without one, and always in pages of ``DiskCache/entries(after:limit:)``.
    public var response: CachedResponse? { CachedResponse(encoded: responseMetadata) }
}
