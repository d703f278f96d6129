/// A size for a thumbnail or for resizing, in points or pixels, such as `.pixels(width: 320, height: 240)`.
///
/// ```swift
/// picture.setImage(url, thumbnail: Thumbnail(.pixels(width: 320, height: 240)))
/// let narrow = try await image.processed(by: [.resize(to: .points(width: 96))])
/// ```
///
/// A side that is `nil` is not limited: it follows from the other side and the image's proportions.
public enum TargetSize: Sendable, Hashable {
    /// A size in pixels.
    case pixels(width: Int? = nil, height: Int? = nil)
    /// A size in points. A processor multiplies it by the image's scale, ``Thumbnail`` by the scale that it is given.
    case points(width: Double? = nil, height: Double? = nil)
}

/// The size at which an image is needed. The image is decoded directly at that size, which takes a fraction of the time
/// and memory of full decoding.
///
/// ```swift
/// Thumbnail(.pixels(width: 320, height: 240))
/// Thumbnail(.points(width: 160, height: 120), scale: 2, mode: .aspectFill)
/// ```
///
/// A thumbnail has the proportions of its image, unless the mode is ``ResizeMode/stretch``, and is never larger than its image. For an image
/// of exactly a box's size, use `WebImageRequest(_:filling:)`.
public struct Thumbnail: Codable, Sendable, Hashable {
    /// The box in pixels, compared with the image after orientation is applied. A side of 0 means no limit.
    public let size: PixelSize
    /// How the image is fitted to the box.
    public let mode: ResizeMode

    /// Creates a box. Fractions of a pixel are rounded up, sides of 0 or less are not limited, and sides longer than
    /// 65,535 pixels, which no image exceeds, are shortened to it.
    ///
    /// - Parameters:
    ///   - scale: pixels per point, for a size in points: 1 by default, 2 for a screen with twice the density. A scale
    ///     that is not finite and positive counts as 1.
    ///   - mode: `aspectFit` by default, which shows the whole image without distortion and without unused pixels.
    public init(_ size: TargetSize, scale: Double = 1, mode: ResizeMode = .aspectFit) {
        func clamped(_ length: Int) -> Int { min(max(length, 0), PixelSize.maximumDimension) }
        let scale = scale.isFinite && scale > 0 ? scale : 1
        func pixels(_ points: Double) -> Int {
            let length = (points * scale).rounded(.up)
            return length > 0 ? Int(min(length, Double(PixelSize.maximumDimension))) : 0
        }
        // Boxes with the same effect are equal.
        switch size {
        case .pixels(let width, let height):
            self.size = PixelSize(width: clamped(width ?? 0), height: clamped(height ?? 0))
        case .points(let width, let height):
            self.size = PixelSize(width: pixels(width ?? 0), height: pixels(height ?? 0))
        }
        self.mode = mode
    }

    /// Whether a side is limited. An image in an unlimited box is decoded at full size.
    public var isBounded: Bool { size.width > 0 || size.height > 0 }

    /// Returns the size of a thumbnail of an image of `size`, with orientation applied.
    public func targetSize(of size: PixelSize) -> PixelSize { mode.size(of: size, in: self.size) }
}
