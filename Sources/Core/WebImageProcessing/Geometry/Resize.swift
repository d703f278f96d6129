public import WebImageCoding
internal import WebImageCore

extension TargetSize {
    fileprivate var hasBothSides: Bool {
        switch self {
        case .points(let width, let height): width != nil && height != nil
        case .pixels(let width, let height): width != nil && height != nil
        }
    }
}

/// How an image with other proportions fits a box: a ``ResizeMode``, or exactly the box.
enum FitMode: Sendable, Hashable {
    /// Exactly the box, distorted.
    case stretch
    /// As large as possible inside the box.
    case aspectFit
    /// As small as possible while covering the box.
    case aspectFill
    /// Exactly the box, filled; what extends beyond it at two sides is cut off, with the focal point near the center.
    case aspectFillCropped(FocalPoint)
    /// Exactly the box, with the whole image centered on a color, which also shows through translucent pixels.
    case letterbox(Color)
}

/// Pixel centers are at halves and premultiplied colors are filtered, so that nothing shifts and no edge darkens.
struct ResizeProcessor: PointProcessor {
    private let size: TargetSize
    let mode: FitMode
    private let filter: ResizeFilter
    let allowsUpscaling: Bool

    init(to size: TargetSize, mode: FitMode = .aspectFit, filter: ResizeFilter = .lanczos, allowsUpscaling: Bool = true)
    {
        self.size = size
        self.mode = size.hasBothSides ? mode : .aspectFit
        self.filter = filter
        self.allowsUpscaling = allowsUpscaling
    }

    /// Such as `resize(width:[48],height:[48],unit:points,mode:aspectFit,filter:lanczos,upscaling:yes)`.
    var identifier: ProcessorIdentifier {
        let (width, height, unit): (Double?, Double?, String) =
            switch size {
            case .points(let width, let height): (width, height, "points")
            case .pixels(let width, let height): (width.map { Double($0) }, height.map { Double($0) }, "pixels")
            }
        return ProcessorIdentifier(
            "resize",
            [
                "width": width, "height": height, "unit": unit, "mode": mode, "filter": filter,
                "upscaling": allowsUpscaling,
            ])
    }

    /// Returns the same object if it has the size already.
    func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
        let box = try boxSize(in: context)
        switch mode {
        case .stretch, .aspectFit, .aspectFill:
            let size = resizeMode.size(of: pixels.size, in: box, allowsUpscaling: allowsUpscaling)
            return try resized(pixels, to: size, in: context)
        case .aspectFillCropped(let focus):
            let (size, region) = filling(box, pixels.size, focus)
            return try resized(pixels, to: size, region: region, in: context)
        case .letterbox(let color):
            try checkColor("mode", color)
            try checkResult(box, of: pixels.size)
            let size = ResizeMode.aspectFit.size(of: pixels.size, in: box, allowsUpscaling: allowsUpscaling)
            let image = try resized(pixels, to: size, in: context)
            if image.isOpaque, image.size == box { return image }
            return try Canvas(color: color, size: box).drawing(
                image, x: (box.width - size.width) / 2, y: (box.height - size.height) / 2,
                cancellation: context.cancellation)
        }
    }

    /// The size that fills a box, and the part of an image that is scaled to it.
    func filling(
        _ box: PixelSize, _ image: PixelSize, _ focus: FocalPoint
    ) -> (size: PixelSize, region: PixelRegion) {
        let (across, down) = (ratio(box.width, image.width), ratio(box.height, image.height))
        let factor = min(max(across, down), allowsUpscaling ? .infinity : 1)
        let size = PixelSize(
            width: min(box.width, max(1, Int(rounding: Double(image.width) * factor))),
            height: min(box.height, max(1, Int(rounding: Double(image.height) * factor))))
        var region = PixelRegion(
            x: 0, y: 0, width: min(Double(size.width) / factor, Double(image.width)),
            height: min(Double(size.height) / factor, Double(image.height)))
        region.x = FocalPoint.start(of: focus.left, part: region.width, in: Double(image.width))
        region.y = FocalPoint.start(of: focus.top, part: region.height, in: Double(image.height))
        if factor == 1 {
            // Nothing is scaled, so nothing need be filtered.
            region.x.round(.down)
            region.y.round(.down)
        }
        return (size, region)
    }

    private var resizeMode: ResizeMode {
        switch mode {
        case .stretch: .stretch
        case .aspectFill: .aspectFill
        default: .aspectFit
        }
    }

    private func ratio(_ length: Int, _ inputLength: Int) -> Double { Double(length) / Double(inputLength) }

    /// In pixels; a side that is `nil` is 0.
    func boxSize(in context: ProcessingContext) throws(WebImageError) -> PixelSize {
        switch size {
        case .pixels(let width, let height):
            guard width != nil || height != nil else { throw invalid("size", "none") }
            if let width, width <= 0 { throw invalid("width", width) }
            if let height, height <= 0 { throw invalid("height", height) }
            return PixelSize(width: width ?? 0, height: height ?? 0)
        case .points(let width, let height):
            guard width != nil || height != nil else { throw invalid("size", "none") }
            try checkPositive("scale", context.scale)
            if let width { try checkPositive("width", width) }
            if let height { try checkPositive("height", height) }
            return PixelSize(
                width: width.map(context.atLeastOnePixel) ?? 0, height: height.map(context.atLeastOnePixel) ?? 0)
        }
    }

    private func resized(
        _ pixels: PixelBuffer, to size: PixelSize, region: PixelRegion? = nil, in context: ProcessingContext
    ) throws(WebImageError) -> PixelBuffer {
        try checkResult(size, of: pixels.size)
        return try pixels.resampled(to: size, region: region, filter: filter, cancellation: context.cancellation)
    }
}

extension ResizeFilter: ProcessorParameter {
    /// Its text in an identifier.
    public var identifierValue: ProcessorIdentifier.Value {
        switch self {
        case .lanczos: .text("lanczos")
        case .fast: .text("fast")
        case .nearest: .text("nearest")
        }
    }
}

extension FitMode: ProcessorParameter {
    var identifierValue: ProcessorIdentifier.Value {
        switch self {
        case .stretch: .text("stretch")
        case .aspectFit: .text("aspectFit")
        case .aspectFill: .text("aspectFill")
        case .aspectFillCropped(.center): .text("aspectFillCropped")
        case .aspectFillCropped(let focus):
            ProcessorIdentifier.Value(verbatim: "aspectFillCropped\([focus.x, focus.y].identifierValue)")
        case .letterbox(let color): ProcessorIdentifier.Value(verbatim: "letterbox\(color.identifierValue)")
        }
    }
}
