internal import WebImageCoding
internal import WebImageCore

struct CropProcessor: PointProcessor {
    enum Area {
        case points(PointRect)
        case pixels(PixelRect)
    }

    let area: Area

    /// Such as `crop(rect:[10,20,100,50],unit:points)`.
    var identifier: ProcessorIdentifier {
        switch area {
        case .points(let rect): ProcessorIdentifier("crop", ["rect": rect, "unit": "points"])
        case .pixels(let rect): ProcessorIdentifier("crop", ["rect": rect, "unit": "pixels"])
        }
    }

    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        guard let part = try pixels.cropped(to: try rect(in: context)) else { throw emptyResult }
        return part
    }

    func rect(in context: ProcessingContext) throws(WebImageError) -> PixelRect {
        switch area {
        case .pixels(let rect):
            guard rect.width > 0 else { throw invalid("rect.width", rect.width) }
            guard rect.height > 0 else { throw invalid("rect.height", rect.height) }
            return rect
        case .points(let rect):
            try checkPositive("scale", context.scale)
            try checkRect("rect", rect)
            let (left, top) = (context.wholePixels(rect.x), context.wholePixels(rect.y))
            return PixelRect(
                x: left, y: top, width: max(1, context.wholePixels(rect.x + rect.width) - left),
                height: max(1, context.wholePixels(rect.y + rect.height) - top))
        }
    }
}

struct InsetProcessor: PointProcessor {
    let insets: PointInsets
    let color: Color

    /// Such as `inset(insets:[-4,0,-4,0],color:[1,1,1,1])`: from the top anticlockwise.
    var identifier: ProcessorIdentifier { ProcessorIdentifier("inset", ["insets": insets, "color": color]) }

    /// Throws ``WebImageError/ProcessingFailure/emptyResult`` if edges meet or cross, or the image is outside of them.
    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        try checkColor("color", color)
        let rect = try rect(of: pixels.size, in: context)
        guard let visible = rect.clamped(to: pixels.size) else { throw emptyResult }
        guard visible != rect else {
            guard let part = try pixels.cropped(to: rect) else { throw emptyResult }
            return part
        }
        try checkResult(rect.size, of: pixels.size)
        return try Canvas(color: color, size: rect.size).drawing(
            pixels, x: -rect.x, y: -rect.y, replacesBackground: true, cancellation: context.cancellation)
    }

    /// Returns the rectangle within the insets, in pixels of the image.
    func rect(of size: PixelSize, in context: ProcessingContext) throws(WebImageError) -> PixelRect {
        try checkPositive("scale", context.scale)
        for (name, value) in [
            ("top", insets.top), ("left", insets.left), ("bottom", insets.bottom), ("right", insets.right),
        ] {
            try checkFinite(name, value)
        }
        let (left, top) = (context.wholePixels(insets.left), context.wholePixels(insets.top))
        return PixelRect(
            x: left, y: top, width: size.width - left - context.wholePixels(insets.right),
            height: size.height - top - context.wholePixels(insets.bottom))
    }
}
