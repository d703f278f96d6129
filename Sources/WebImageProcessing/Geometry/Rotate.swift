internal import WebImageCoding
public import WebImageCore

extension ImageProcessors {
    /// Turns a picture around its centre.
    ///
    /// By multiples of 90 degrees pixels are moved, not filtered. By others they are read with a bicubic filter, and the
    /// picture's edges are cut as exactly as those of ``RoundedCorners``. What the picture does not cover is clear.
    public struct Rotate: PixelProcessor, Hashable {
        /// How far, clockwise, at least 0 and less than 360 degrees.
        public let angle: Angle
        /// Whether the result has the picture's size, so that corners are cut off, or holds all of it.
        public let keepsSize: Bool

        /// - Parameters:
        ///   - angle: how far; more than a full turn is as good as what is left of it.
        ///   - keepsSize: `false` unless said otherwise: the result holds the whole picture, and is as large as that needs,
        ///     rounded up to whole pixels.
        public init(clockwise angle: Angle, keepsSize: Bool = false) {
            self.angle = angle.normalized
            self.keepsSize = keepsSize
        }

        /// Such as `rotate(degrees:30,keepsSize:no)`.
        public var identifier: ProcessorIdentifier {
            ProcessorIdentifier("rotate", ["degrees": angle, "keepsSize": keepsSize])
        }

        /// The turned pixels; the same object where nothing turns.
        public func process(_ pixels: PixelBuffer, in context: ProcessingContext) throws(WebImageError) -> PixelBuffer {
            try checkFinite("degrees", angle.degrees)
            guard let orientation = quarterTurns else {
                let size = keepsSize ? pixels.size : pixels.size.rotated(clockwise: angle.radians)
                try checkResult(size, of: pixels.size)
                return try pixels.rotated(clockwise: angle.radians, into: size, cancellation: context.cancellation)
            }
            let turned = try pixels.upright(from: orientation, cancellation: context.cancellation)
            guard keepsSize, turned.size != pixels.size else { return turned }
            // Where width and height differ by an odd number, the middle lies half a pixel beside the old one.
            return try Canvas.color(.clear, pixels.size).drawing(
                turned, x: (pixels.width - turned.width) >> 1, y: (pixels.height - turned.height) >> 1,
                replacesBackground: true, cancellation: context.cancellation)
        }

        /// The EXIF orientation that asks for this turn; `nil` for an angle between.
        private var quarterTurns: ImageOrientation? {
            switch angle.degrees {
            case 0: .up
            case 90: .right
            case 180: .down
            case 270: .left
            default: nil
            }
        }
    }
}

extension ImageProcessor where Self == ImageProcessors.Rotate {
    /// Turns the picture around its centre: `.rotate(clockwise: .degrees(30))`; see ``ImageProcessors/Rotate``.
    public static func rotate(clockwise angle: Angle, keepsSize: Bool = false) -> Self {
        Self(clockwise: angle, keepsSize: keepsSize)
    }
}
