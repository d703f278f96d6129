public import WebImageCaching
import WebImageCoding
public import WebImageCore
import WebImageLoading

extension WebImageManager {
    /// Returns a file with an image, for programs that take a path, after loading what no cache has.
    ///
    /// ```swift
    /// let original = try await manager.file(for: WebImageRequest(url))
    /// let cover = try await manager.file(
    ///     for: WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 300, height: 300))), format: .png)
    /// print(original.path, cover.url)
    /// ```
    ///
    /// For a request without a size, a processor or another property that changes the image, the file has the original bytes, with all
    /// their metadata, and nothing is decoded but the header. Otherwise the image is loaded as by ``response(for:)``, and encoded without
    /// metadata, in sRGB. Animations stay animated in a format that has animations.
    ///
    /// The file stays valid as long as the returned object exists; see ``CachedFile`` for how long it stays afterwards. Files with the same
    /// content are made once. A file on disk counts neither as an entry nor towards the size limit of the disk cache.
    ///
    /// - Parameters:
    ///   - request: the image, its size and how to load it.
    ///   - format: the format of the file; `nil`, the default, for that of the original. An image that is encoded becomes PNG or JPEG where
    ///     the format of the original cannot be written.
    ///   - quality: the quality of lossy formats, 0 to 1, of an image that is encoded; see ``EncodingOptions/quality``.
    /// - Throws: the error of the load; ``WebImageError/encoding(format:reason:)``; ``WebImageError/file(path:errno:)`` if the file cannot
    ///   be written, and ``WebImageError/diskCache(path:reason:)`` if its folder cannot be used; ``WebImageError/cancelled`` if the task
    ///   was cancelled.
    public func file(
        for request: WebImageRequest, format: ImageFormat? = nil, quality: Double = 0.85
    ) async throws(WebImageError) -> CachedFile {
        var request = prepared(request)
        if request.keepsColors { request.keepsColors = false }
        let pipeline = pipelines.pipeline(for: request)
        guard let context = pipeline.context(for: request) else {
            throw ImageLoaderGroup.error(forUnloadable: request.url)
        }
        let files = CachedFileStore.of(pipeline.originals.base)
        let isOriginal = request.needsWholeImage && context.imageProvider == nil
        if isOriginal { request.options.insert(format == nil ? .ignoreDecoding : .queryMemoryData) }
        let response = try await response(for: request, pipeline, pipeline.context(for: request), queriesMemory: true)
        let image = response.image
        if isOriginal, let data = response.data, let own = image.format, format == nil || format == own {
            let content = CachedFileStore.content(of: data)
            return try await files.file(data, as: .init(source: context.key.source, content: content, format: own))
        }
        let result = await DecodingQueue.run(priority: request.priority) { cancellation in
            Result { () throws(WebImageError) in
                try files.file(
                    of: image, source: context.key.source, format: format, quality: quality, codecs: pipeline.codecs,
                    cancellation: cancellation)
            }
        }
        return try (result ?? .failure(.cancelled)).get()
    }
}
