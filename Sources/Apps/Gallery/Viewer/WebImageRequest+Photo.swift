import FoundationEssentials
import WebImageGTK

extension WebImageRequest {
    /// Returns the request for an image of the collection, which the viewer decodes for its size.
    static func photo(_ url: URL, cachePolicy: CachePolicy = .cacheFirst) -> WebImageRequest {
        var request = WebImageRequest(url, cachePolicy: cachePolicy)
        // A folder of photographs would fill the disk with pixels that are decoded in a moment.
        request.keepsPixels = false
        if !url.isFileURL { request.options.insert(.progressive) }
        return request.forOwnFiles
    }

    /// Returns the same request as that of a viewer of a size, for images that are fetched in advance.
    ///
    /// - Parameters:
    ///   - size: in points.
    ///   - scale: the device pixels for a point.
    static func photo(_ url: URL, for size: PointSize, scale: Double) -> WebImageRequest {
        var request = photo(url)
        request.thumbnail = Thumbnail(.points(width: size.width, height: size.height), scale: scale, mode: .aspectFit)
        request.scale = scale
        return request
    }
}
