import Foundation
import WebImage

/// A post, as the server describes it.
struct Post: Decodable {
    let author: String
    let avatar: URL
    let text: String
    let image: URL
    /// The size of the image in pixels, which the layout needs before the image has loaded.
    let width: Double
    let height: Double
    let blurHash: String

    /// The largest width of an image in points. Narrow windows show it smaller.
    static let imageWidth = 560.0
    static let avatarSide = 40.0

    /// The size of the image in points. Tall images are cropped, so that a post fits on the screen.
    var imageSize: PointSize {
        PointSize(width: Self.imageWidth, height: min(height / width, 1.25) * Self.imageWidth)
    }

    // The rows and the prefetcher use the same requests. Requests of other sizes would be other images in the cache.

    /// - Parameter scale: pixels per point.
    func imageRequest(scale: Double) -> WebImageRequest {
        WebImageRequest(image, thumbnail: Thumbnail(.points(width: Self.imageWidth), scale: scale))
    }

    /// - Parameter scale: pixels per point.
    func avatarRequest(scale: Double) -> WebImageRequest {
        WebImageRequest(
            avatar,
            thumbnail: Thumbnail(
                .points(width: Self.avatarSide, height: Self.avatarSide), scale: scale, mode: .aspectFill),
            processors: [.circle()])
    }
}
