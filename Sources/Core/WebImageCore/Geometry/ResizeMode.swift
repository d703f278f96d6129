/// How an image is fitted to a box with other proportions.
public enum ResizeMode: Codable, Sendable, CaseIterable {
    /// As large as possible inside the box, with the image's proportions.
    case aspectFit
    /// As small as possible while covering the box, with the image's proportions; nothing is cropped: of an image of 3 : 2, a box of
    /// 300 × 300 makes 450 × 300. `WebImageRequest(_:filling:)` also crops it to the box.
    case aspectFill
    /// Exactly the box, without regard to the proportions.
    case stretch
}

extension ResizeMode {
    /// Returns the size of an image of `size` fitted to `box`, at least one pixel in each direction.
    ///
    /// A box side of 0 or less means no limit: the other side alone determines the size. A result too large for an
    /// `Int` is `Int.max`.
    ///
    /// - Parameter allowsUpscaling: if `false`, returns `size` where the result would be larger, since thumbnails are
    ///   never enlarged. `stretch` then limits each side separately.
    public func size(of size: PixelSize, in box: PixelSize, allowsUpscaling: Bool = false) -> PixelSize {
        guard size.width > 0, size.height > 0, box.width > 0 || box.height > 0 else { return size }
        let horizontal = box.width > 0 ? Double(box.width) / Double(size.width) : nil
        let vertical = box.height > 0 ? Double(box.height) / Double(size.height) : nil
        let limit = allowsUpscaling ? Double.infinity : 1
        func scaled(_ length: Int, by factor: Double) -> Int {
            // `nil` is too large for an `Int`; factors are never negative.
            max(1, Int(exactly: (Double(length) * min(factor, limit)).rounded()) ?? .max)
        }

        switch (self, horizontal, vertical) {
        case (.stretch, let horizontal?, let vertical?):
            return PixelSize(width: scaled(size.width, by: horizontal), height: scaled(size.height, by: vertical))
        case (.aspectFill, let horizontal?, let vertical?):
            let factor = max(horizontal, vertical)
            return PixelSize(width: scaled(size.width, by: factor), height: scaled(size.height, by: factor))
        case (_, let horizontal, let vertical):
            let factor = min(horizontal ?? .infinity, vertical ?? .infinity)
            return PixelSize(width: scaled(size.width, by: factor), height: scaled(size.height, by: factor))
        }
    }
}
