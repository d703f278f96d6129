/// How a picture is brought into a box of another shape.
public enum ResizeMode: String, Sendable, Hashable, Codable, CaseIterable {
    /// As large as possible inside the box, with the picture's own proportions.
    case aspectFit
    /// As small as possible while covering the box, with the picture's own proportions; nothing is cut off.
    case aspectFill
    /// Exactly the box, whatever that does to the proportions.
    case stretch
}

extension ResizeMode {
    /// The size a picture of `size` gets in `box`, at least one pixel each way.
    ///
    /// A box side of 0 or less counts as "any": the other side alone decides. A result too large for an `Int` is
    /// `Int.max`.
    ///
    /// - Parameter allowsUpscaling: `false` returns `size` where the result would be larger; a thumbnail never gains
    ///   pixels. `stretch` then limits each side on its own.
    public func size(of size: PixelSize, in box: PixelSize, allowsUpscaling: Bool = false) -> PixelSize {
        guard size.width > 0, size.height > 0, box.width > 0 || box.height > 0 else { return size }
        let horizontal = box.width > 0 ? Double(box.width) / Double(size.width) : nil
        let vertical = box.height > 0 ? Double(box.height) / Double(size.height) : nil
        let limit = allowsUpscaling ? Double.infinity : 1
        func scaled(_ length: Int, by factor: Double) -> Int {
            // `nil` is too large for an `Int`; no factor is negative.
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
