internal import WebImageCoding
public import WebImageCore

extension ImageProcessors {
    /// Brings a picture to another size.
    ///
    /// Sizes in points are multiplied by the picture's scale and rounded to whole pixels, at least one. Pixels' centres lie
    /// at halves, and premultiplied colour is filtered, so that nothing shifts and no edge darkens.
    public struct Resize: PixelProcessor, Hashable {
        /// What becomes of a picture that has other proportions than the box.
        public enum Mode: Sendable, Hashable {
            /// Exactly the box, distorted.
            case stretch
            /// As large as possible inside the box; one side may come out shorter than the box's.
            case aspectFit
            /// As small as possible while covering the box; one side may come out longer than the box's.
            case aspectFill
            /// Exactly the box, filled: what sticks out at two sides is cut off, as much at one as at the other.
            case aspectFillCropped
            /// Exactly the box, with the whole picture in the middle, on a colour, which is also seen through translucent
            /// pixels.
            case letterbox(Color)
        }

        /// How pixels are made of pixels.
        public enum Filter: String, Sendable, Hashable, CaseIterable {
            /// Lanczos with three lobes: the sharpest.
            case lanczos
            /// Boxes of pixels averaged, then a triangle filter: takes half of the time or less, does not alias, and is a
            /// little softer (35 dB and more from Lanczos for photographs of 12 megapixels at a quarter to a twentieth of
            /// their width, the least for one full of fine detail).
            case fast
            /// The nearest pixel: for pixel art, whose edges stay hard. Made smaller, pictures alias.
            case nearest
        }

        private enum Box: Hashable {
            case points(width: Double?, height: Double?)
            case pixels(PixelSize)
        }

        private let box: Box
        /// What becomes of a picture that has other proportions than the box.
        public let mode: Mode
        /// How pixels are made of pixels.
        public let filter: Filter
        /// Whether a picture smaller than the box is made larger.
        public let allowsUpscaling: Bool

        private init(box: Box, mode: Mode, filter: Filter, allowsUpscaling: Bool) {
            self.box = box
            self.mode = mode
            self.filter = filter
            self.allowsUpscaling = allowsUpscaling
        }

        /// Resizes to a box in points.
        ///
        /// - Parameters:
        ///   - mode: `aspectFit` unless said otherwise: the whole picture, no distortion.
        ///   - allowsUpscaling: whether a smaller picture is made larger. Where not, it keeps its size inside a
        ///     `letterbox`, and otherwise comes out smaller than the box.
        public init(
            to size: PointSize, mode: Mode = .aspectFit, filter: Filter = .lanczos, allowsUpscaling: Bool = true
        ) {
            self.init(
                box: .points(width: size.width, height: size.height), mode: mode, filter: filter,
                allowsUpscaling: allowsUpscaling)
        }

        /// Resizes to a box in pixels, whatever the picture's scale.
        public init(
            toPixels size: PixelSize, mode: Mode = .aspectFit, filter: Filter = .lanczos,
            allowsUpscaling: Bool = true
        ) {
            self.init(box: .pixels(size), mode: mode, filter: filter, allowsUpscaling: allowsUpscaling)
        }

        /// Resizes to a width in points; the height follows from the picture's proportions.
        public init(width: Double, filter: Filter = .lanczos, allowsUpscaling: Bool = true) {
            self.init(
                box: .points(width: width, height: nil), mode: .aspectFit, filter: filter,
                allowsUpscaling: allowsUpscaling)
        }

        /// Resizes to a height in points; the width follows from the picture's proportions.
        public init(height: Double, filter: Filter = .lanczos, allowsUpscaling: Bool = true) {
            self.init(
                box: .points(width: nil, height: height), mode: .aspectFit, filter: filter,
                allowsUpscaling: allowsUpscaling)
        }

        /// Such as `resize(width:[48],height:[48],unit:points,mode:aspectFit,filter:lanczos,upscaling:yes)`.
        public var identifier: ProcessorIdentifier {
            let (width, height, unit): (Double?, Double?, String) =
                switch box {
                case .points(let width, let height): (width, height, "points")
                case .pixels(let size): (Double(size.width), Double(size.height), "pixels")
                }
            return ProcessorIdentifier(
                "resize",
                [
                    "width": width, "height": height, "unit": unit, "mode": mode, "filter": filter,
                    "upscaling": allowsUpscaling,
                ])
        }

        /// The resized pixels; the same object where they have the size already.
        public func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
            let box = try boxSize(in: context)
            let limit = allowsUpscaling ? Double.infinity : 1
            switch mode {
            case .stretch, .aspectFit, .aspectFill:
                let size = resizeMode.size(of: pixels.size, in: box, allowsUpscaling: allowsUpscaling)
                return try resized(pixels, to: size, in: context)
            case .aspectFillCropped:
                let (across, down) = (ratio(box.width, pixels.width), ratio(box.height, pixels.height))
                let factor = min(max(across, down), limit)
                let size = PixelSize(
                    width: min(box.width, max(1, Int(rounding: Double(pixels.width) * factor))),
                    height: min(box.height, max(1, Int(rounding: Double(pixels.height) * factor))))
                var region = PixelRegion(
                    x: 0, y: 0, width: min(Double(size.width) / factor, Double(pixels.width)),
                    height: min(Double(size.height) / factor, Double(pixels.height)))
                region.x = (Double(pixels.width) - region.width) / 2
                region.y = (Double(pixels.height) - region.height) / 2
                if factor == 1 {
                    // Nothing is scaled, so nothing need be filtered.
                    region.x.round(.down)
                    region.y.round(.down)
                }
                return try resized(pixels, to: size, region: region, in: context)
            case .letterbox(let color):
                try checkColor("mode", color)
                try checkResult(box, of: pixels.size)
                let size = ResizeMode.aspectFit.size(of: pixels.size, in: box, allowsUpscaling: allowsUpscaling)
                let picture = try resized(pixels, to: size, in: context)
                if picture.isOpaque, picture.size == box { return picture }
                return try Canvas.color(color, box).drawing(
                    picture, x: (box.width - size.width) / 2, y: (box.height - size.height) / 2,
                    cancellation: context.cancellation)
            }
        }

        private var resizeMode: ResizeMode {
            switch mode {
            case .stretch: .stretch
            case .aspectFill: .aspectFill
            default: .aspectFit
            }
        }

        private func ratio(_ length: Int, _ inputLength: Int) -> Double { Double(length) / Double(inputLength) }

        /// The box in pixels; a side that may be anything is 0.
        private func boxSize(in context: ProcessingContext) throws(WebImageError) -> PixelSize {
            switch box {
            case .pixels(let size):
                guard size.width > 0 else { throw invalid("width", size.width) }
                guard size.height > 0 else { throw invalid("height", size.height) }
                return size
            case .points(let width, let height):
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
            return switch filter {
            case .lanczos:
                try pixels.resampled(to: size, region: region, cancellation: context.cancellation)
            case .nearest:
                try pixels.resampled(to: size, region: region, filter: .nearest, cancellation: context.cancellation)
            case .fast:
                try pixels.quicklyResampled(to: size, region: region, cancellation: context.cancellation)
            }
        }
    }
}

extension ImageProcessors.Resize.Filter: ProcessorParameter {}

extension ImageProcessors.Resize.Mode: ProcessorParameter {
    /// The mode's name, with the colour in brackets where there is one.
    public var identifierValue: ProcessorIdentifier.Value {
        switch self {
        case .stretch: .text("stretch")
        case .aspectFit: .text("aspectFit")
        case .aspectFill: .text("aspectFill")
        case .aspectFillCropped: .text("aspectFillCropped")
        case .letterbox(let color): ProcessorIdentifier.Value(verbatim: "letterbox\(color.identifierValue)")
        }
    }
}

extension ImageProcessor where Self == ImageProcessors.Resize {
    /// Resizes to a box in points; see ``ImageProcessors/Resize``.
    public static func resize(
        to size: PointSize, mode: ImageProcessors.Resize.Mode = .aspectFit,
        filter: ImageProcessors.Resize.Filter = .lanczos, allowsUpscaling: Bool = true
    ) -> Self { Self(to: size, mode: mode, filter: filter, allowsUpscaling: allowsUpscaling) }

    /// Resizes to a box in pixels, whatever the picture's scale; see ``ImageProcessors/Resize``.
    public static func resize(
        toPixels size: PixelSize, mode: ImageProcessors.Resize.Mode = .aspectFit,
        filter: ImageProcessors.Resize.Filter = .lanczos, allowsUpscaling: Bool = true
    ) -> Self { Self(toPixels: size, mode: mode, filter: filter, allowsUpscaling: allowsUpscaling) }

    /// Resizes to a width in points, in proportion.
    public static func resize(
        width: Double, filter: ImageProcessors.Resize.Filter = .lanczos, allowsUpscaling: Bool = true
    ) -> Self { Self(width: width, filter: filter, allowsUpscaling: allowsUpscaling) }

    /// Resizes to a height in points, in proportion.
    public static func resize(
        height: Double, filter: ImageProcessors.Resize.Filter = .lanczos, allowsUpscaling: Bool = true
    ) -> Self { Self(height: height, filter: filter, allowsUpscaling: allowsUpscaling) }
}
