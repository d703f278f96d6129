public import WebImageCoding
public import WebImageCore

extension WebImageManager {
    /// Loads the original file of an image, mostly from the disk cache, and returns what is known of it: format, size, frames, EXIF, XMP.
    /// Nothing is decoded, and the bytes are read on a thread for decoding.
    ///
    /// ```swift
    /// let image = try await manager.image(at: url)
    /// let properties = try await manager.properties(for: WebImageRequest(url))
    /// print(image.pixels.size, properties.info.size, properties.exif?.camera ?? "unknown camera")
    /// ```
    ///
    /// - Parameter request: the URL, the cache policy, codecs and limits. Its size and processors are ignored.
    /// - Throws: the error of the load, the errors of ``CodecRegistry/properties(of:limits:cancellation:)``, and
    ///   ``WebImageError/cancelled`` if the task was cancelled.
    public func properties(for request: WebImageRequest) async throws(WebImageError) -> ImageProperties {
        let data = try await dataResponse(for: request, acceptsAnyAnswer: false).data
        let request = prepared(request)
        let codecs = pipelines.pipeline(for: request).codecs
        let limits = request.decodingLimits ?? configuration.decodingLimits
        let result = await DecodingQueue.run(priority: request.priority) { cancellation in
            Result { () throws(WebImageError) in
                try codecs.properties(of: data, limits: limits, cancellation: cancellation)
            }
        }
        do throws(WebImageError) {
            return try (result ?? .failure(.cancelled)).get()
        } catch {
            throw error.concerning(request.url)
        }
    }
}
