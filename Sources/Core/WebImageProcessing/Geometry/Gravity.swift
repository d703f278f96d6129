internal import WebImageCoding
public import WebImageCore

/// Which part of an image a crop keeps.
public enum Gravity: String, Sendable, CaseIterable {
    case center
    case north
    case northEast = "northeast"
    case east
    case southEast = "southeast"
    case south
    case southWest = "southwest"
    case west
    case northWest = "northwest"
    /// The part that people are likely to look at.
    case smart

    /// The place of the part in the space that is left: 0 is left or top, 1 is right or bottom. `nil` for ``smart``.
    private var place: (x: Double, y: Double)? {
        switch self {
        case .center: (0.5, 0.5)
        case .north: (0.5, 0)
        case .northEast: (1, 0)
        case .east: (1, 0.5)
        case .southEast: (1, 1)
        case .south: (0.5, 1)
        case .southWest: (0, 1)
        case .west: (0, 0.5)
        case .northWest: (0, 0)
        case .smart: nil
        }
    }

    /// Returns the part of `pixels` to keep. It has `size`, or less where the image has less.
    func rect(
        of size: PixelSize, in pixels: PixelBuffer, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelRect {
        let size = PixelSize(width: min(size.width, pixels.width), height: min(size.height, pixels.height))
        guard let place else { return try AttentionCrop(pixels, cancellation: cancellation).rect(of: size) }
        func offset(_ space: Int, _ share: Double) -> Int { Int(Double(space) * share) }
        return PixelRect(
            x: offset(pixels.width - size.width, place.x), y: offset(pixels.height - size.height, place.y),
            width: size.width, height: size.height)
    }
}

extension Gravity: ProcessorParameter {}

/// Crops to a size or to proportions. Of an animation, the first frame decides, so that the image does not jump.
struct GravityCropProcessor: Processor {
    enum Extent: Hashable {
        case pixels(PixelSize)
        /// The largest part with these proportions.
        case proportions(width: Double, height: Double)
    }

    let extent: Extent
    let gravity: Gravity

    /// Such as `crop(extent:[300,300],unit:pixels,gravity:smart)`.
    var identifier: ProcessorIdentifier {
        switch extent {
        case .pixels(let size):
            ProcessorIdentifier(
                "crop", ["extent": [size.width, size.height], "unit": "pixels", "gravity": gravity])
        case .proportions(let width, let height):
            ProcessorIdentifier(
                "crop", ["extent": [width, height], "unit": "proportions", "gravity": gravity])
        }
    }

    func process(_ image: Image, cancellation: Cancellation?) throws(WebImageError) -> Image {
        let rect = try rect(of: image, cancellation: cancellation)
        guard rect.size != image.pixels.size else { return image }
        return try CropProcessor(area: .pixels(rect)).process(image, cancellation: cancellation)
    }

    /// Returns the part that is kept.
    func rect(of image: Image, cancellation: Cancellation?) throws(WebImageError) -> PixelRect {
        try gravity.rect(of: size(in: image.pixels.size), in: image.pixels, cancellation: cancellation)
    }

    private func size(in size: PixelSize) throws(WebImageError) -> PixelSize {
        switch extent {
        case .pixels(let part):
            guard part.width > 0 else { throw invalid("width", part.width) }
            guard part.height > 0 else { throw invalid("height", part.height) }
            return part
        case .proportions(let width, let height):
            try checkPositive("width", width)
            try checkPositive("height", height)
            let (across, down) = (Double(size.width) / width, Double(size.height) / height)
            let unit = min(across, down)
            return PixelSize(
                width: across == unit ? size.width : max(1, Int(rounding: width * unit)),
                height: down == unit ? size.height : max(1, Int(rounding: height * unit)))
        }
    }
}

extension ImageProcessor {
    /// Crops to a size in pixels, or less where the image has less.
    public static func crop(to size: PixelSize, gravity: Gravity) -> Self {
        Self(GravityCropProcessor(extent: .pixels(size), gravity: gravity))
    }

    /// Crops to the largest part with these proportions, such as 16 and 9.
    public static func crop(toProportions width: Double, _ height: Double, gravity: Gravity) -> Self {
        Self(GravityCropProcessor(extent: .proportions(width: width, height: height), gravity: gravity))
    }
}
