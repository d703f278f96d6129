public import WebImageCoding
public import WebImageCore

// MARK: Geometry

extension ImageProcessor {
    /// Resizes. Points are multiplied by the image's scale and rounded to whole pixels, at least one.
    ///
    /// - Parameters:
    ///   - size: a box; if only one side is given, the other follows from the image's proportions.
    ///   - mode: how to fit the box; by default, the whole image inside it.
    ///   - filter: how to compute pixels; Lanczos by default.
    ///   - allowsUpscaling: whether a smaller image is enlarged; `true` by default.
    public static func resize(
        to size: TargetSize, mode: ResizeMode = .aspectFit, filter: ResizeFilter = .lanczos,
        allowsUpscaling: Bool = true
    ) -> Self {
        let fit: FitMode =
            switch mode {
            case .aspectFit: .aspectFit
            case .aspectFill: .aspectFill
            case .stretch: .stretch
            }
        return resize(to: size, fit: fit, filter: filter, allowsUpscaling: allowsUpscaling)
    }

    /// Resizes to exactly the box, filled: what extends beyond it at two sides is cut off. If only one side is given,
    /// the other follows from the image's proportions.
    ///
    /// - Parameters:
    ///   - size: the box.
    ///   - focus: the point of the image that is in the center of the result, as far as the image extends; the image's center by
    ///     default.
    ///   - filter: how to compute pixels; Lanczos by default.
    ///   - allowsUpscaling: whether a smaller image is enlarged, `true` by default, or comes out smaller than the box.
    public static func resize(
        toFill size: TargetSize, focus: FocalPoint = .center, filter: ResizeFilter = .lanczos,
        allowsUpscaling: Bool = true
    ) -> Self { resize(to: size, fit: .aspectFillCropped(focus), filter: filter, allowsUpscaling: allowsUpscaling) }

    /// Resizes to exactly the box, with the whole image centered on a color, which also shows through translucent
    /// pixels. If only one side is given, the other follows from the image's proportions.
    ///
    /// - Parameter allowsUpscaling: whether a smaller image is enlarged, `true` by default, or keeps its size in the
    ///   box.
    public static func letterbox(
        to size: TargetSize, color: Color, filter: ResizeFilter = .lanczos, allowsUpscaling: Bool = true
    ) -> Self { resize(to: size, fit: .letterbox(color), filter: filter, allowsUpscaling: allowsUpscaling) }

    static func resize(
        to size: TargetSize, fit: FitMode, filter: ResizeFilter = .lanczos, allowsUpscaling: Bool = true
    ) -> Self { Self(ResizeProcessor(to: size, mode: fit, filter: filter, allowsUpscaling: allowsUpscaling)) }

    /// Crops to a rectangle in points, rounded to whole pixels.
    ///
    /// Where it extends beyond the image, the result is smaller; entirely outside is an error. The result shares the
    /// image's memory if it is at least half of it.
    public static func crop(toPoints rect: PointRect) -> Self { Self(CropProcessor(area: .points(rect))) }

    /// Crops to a rectangle in pixels, like the function above.
    public static func crop(toPixels rect: PixelRect) -> Self { Self(CropProcessor(area: .pixels(rect))) }

    /// Moves the edges inwards, or outwards where a distance is negative. Distances are in points, and rounded to whole
    /// pixels.
    ///
    /// - Parameters:
    ///   - all: of the edges that are not given; 0 by default.
    ///   - color: of the pixels added outside; clear by default.
    public static func inset(
        _ all: Double = 0, top: Double? = nil, left: Double? = nil, bottom: Double? = nil, right: Double? = nil,
        color: Color = .clear
    ) -> Self {
        let insets = PointInsets(
            top: top ?? all, left: left ?? all, bottom: bottom ?? all, right: right ?? all)
        return inset(by: insets, color: color)
    }

    static func inset(by insets: PointInsets, color: Color = .clear) -> Self {
        Self(InsetProcessor(insets: insets, color: color))
    }

    /// Rounds the corners: all by the same radius, or each by its own.
    ///
    /// Radii that are too large for a side shrink by the same factor, as in CSS. Edges are antialiased.
    ///
    /// - Parameters:
    ///   - radius: of the corners that are not given; 0 by default.
    ///   - border: inside the edge; none by default.
    public static func roundedCorners(
        radius: Double = 0, topLeft: Double? = nil, topRight: Double? = nil, bottomRight: Double? = nil,
        bottomLeft: Double? = nil, border: Border? = nil
    ) -> Self {
        let radii = CornerRadii(
            topLeft: topLeft ?? radius, topRight: topRight ?? radius, bottomRight: bottomRight ?? radius,
            bottomLeft: bottomLeft ?? radius)
        return Self(RoundedCornersProcessor(radii: radii, border: border))
    }

    /// Cuts out the largest circle around the center. The result is a square.
    ///
    /// - Parameter border: inside the edge; none by default.
    public static func circle(border: Border? = nil) -> Self { Self(CircleProcessor(border: border)) }

    /// Rotates clockwise around the center; a full turn is 360 degrees.
    ///
    /// Multiples of 90 degrees move pixels; other angles use a bicubic filter with antialiased edges on a clear
    /// background.
    ///
    /// - Parameter keepsSize: whether the result has the image's size, so that corners are cut off. By default it holds
    ///   the whole image.
    public static func rotate(degrees: Double, keepsSize: Bool = false) -> Self {
        rotate(clockwise: .degrees(degrees), keepsSize: keepsSize)
    }

    static func rotate(clockwise angle: Angle, keepsSize: Bool = false) -> Self {
        Self(RotateProcessor(clockwise: angle, keepsSize: keepsSize))
    }

    /// Mirrors the image: horizontally, left and right change places; vertically, top and bottom.
    public static func flip(horizontally: Bool = false, vertically: Bool = false) -> Self {
        Self(FlipProcessor(horizontally: horizontally, vertically: vertically))
    }

    /// Draws the image in a rectangle of a canvas, as a view does. Fractions of pixels are antialiased.
    ///
    /// - Parameters:
    ///   - rect: in points from the canvas's top left corner.
    ///   - canvas: in points, rounded to whole pixels; it has the image's scale.
    ///   - contentMode: how the image fits the rectangle.
    ///   - clips: whether to cut off what extends beyond the rectangle; `false` by default.
    ///   - background: the canvas's color; clear by default.
    public static func draw(
        in rect: PointRect, canvas: PointSize, contentMode: ImageContentMode = .scaleToFill, clips: Bool = false,
        background: Color = .clear
    ) -> Self {
        Self(
            DrawInRectProcessor(
                rect: rect, canvas: canvas, contentMode: contentMode, clips: clips, background: background))
    }
}

// MARK: Color

extension ImageProcessor {
    /// Changes colors by a matrix: each component of the result is a sum of all four, and of a constant.
    ///
    /// Colors are not premultiplied and encoded as sRGB, as in Core Graphics, CSS and SVG filters with
    /// `color-interpolation-filters="sRGB"`. Components are from 0 to 1; results are clamped to that.
    ///
    /// - Parameter elements: 20 numbers as in SVG's `feColorMatrix`: for red, green, blue and alpha of the result, the
    ///   factors of red, green, blue and alpha, and a constant, where 1 is a whole component. Another count is an error
    ///   when the processor runs.
    public static func colorMatrix(_ elements: [Double]) -> Self { colorMatrix(ColorMatrix(elements)) }

    static func colorMatrix(_ matrix: ColorMatrix) -> Self { Self(ColorMatrixProcessor(matrix: matrix)) }

    /// Replaces colors by their luma (Rec. 709).
    public static func grayscale() -> Self { colorMatrix(.grayscale) }

    /// Inverts colors.
    public static func inverted() -> Self { colorMatrix(.inverted) }

    /// Tones brown, like an old photograph.
    ///
    /// - Parameter amount: 0 changes nothing; 1, the default, is all brown.
    public static func sepia(_ amount: Double = 1) -> Self { colorMatrix(.sepia(amount)) }

    /// Adjusts saturation, brightness and contrast, in this order.
    ///
    /// - Parameters:
    ///   - saturation: 0 is gray, 1 changes nothing.
    ///   - brightness: added to red, green and blue; 0 changes nothing, 1 is white.
    ///   - contrast: multiplies the distance from middle gray; 1 changes nothing.
    public static func color(saturation: Double = 1, brightness: Double = 0, contrast: Double = 1) -> Self {
        colorMatrix(.saturation(saturation).followed(by: .brightness(brightness)).followed(by: .contrast(contrast)))
    }

    /// Lays a color over the image.
    ///
    /// - Parameter mode: ``BlendMode/sourceIn``, the default as in SDWebImage, fills the image's shape with the color,
    ///   for icons. ``BlendMode/color`` and ``BlendMode/multiply`` tint photographs.
    public static func tint(_ color: Color, mode: BlendMode = .sourceIn) -> Self {
        Self(TintProcessor(color: color, mode: mode))
    }

    /// Blurs.
    ///
    /// - Parameter radius: in points, about twice the standard deviation of a Gaussian. 0 changes nothing; more than
    ///   8192 pixels count as that.
    public static func blur(radius: Double) -> Self { blur(BlurEffect(radius: radius)) }

    /// Blurs like frosted glass.
    ///
    /// - Parameters:
    ///   - mask: stretched over the image; the image stays as it is where the mask lets nothing through. White lets
    ///     everything through, black and clear nothing, as for SVG masks.
    ///   - maskID: names `mask` in the identifier. Without one, the mask's pixels are hashed once the identifier is
    ///     asked for, some 25 ms per megapixel.
    ///   - maskUsesAlpha: whether only the mask's alpha counts: opaque lets everything through.
    public static func blur(
        _ effect: BlurEffect, mask: Image? = nil, maskID: String? = nil, maskUsesAlpha: Bool = false
    ) -> Self {
        Self(
            BlurProcessor(
                effect: effect, mask: mask.map { ImageOperand($0, id: maskID) }, maskUsesAlpha: maskUsesAlpha))
    }
}

// MARK: Other images

extension ImageProcessor {
    /// Draws another image over the image, pixel by pixel and regardless of its scale. The result has the size of the
    /// image below.
    ///
    /// - Parameters:
    ///   - other: the image above. Of an animation, its first frame.
    ///   - id: names `other` in the identifier. Without one, its pixels are hashed once the identifier is read,
    ///     some 25 ms per megapixel.
    ///   - x: the left edge in points, rounded to whole pixels.
    ///   - y: the top edge in points, rounded to whole pixels.
    ///   - opacity: 0 to 1.
    public static func blend(
        _ other: Image, id: String? = nil, x: Double = 0, y: Double = 0, mode: BlendMode = .sourceOver,
        opacity: Double = 1
    ) -> Self {
        Self(BlendProcessor(operand: ImageOperand(other, id: id), x: x, y: y, mode: mode, opacity: opacity))
    }

    /// Draws another image, such as a watermark, at its size in points.
    ///
    /// - Parameters:
    ///   - other: the image above. Of an animation, its first frame.
    ///   - id: names `other` in the identifier; see ``blend(_:id:x:y:mode:opacity:)``.
    ///   - position: where it is inside the margin. Modes that scale make it as large as the image allows.
    ///   - margin: the distance from the sides, in points; a negative one moves it out.
    ///   - opacity: 0 to 1.
    ///   - scale: how much to enlarge it.
    public static func overlay(
        _ other: Image, id: String? = nil, at position: ImageContentMode = .bottomRight, margin: Double = 8,
        opacity: Double = 1, scale: Double = 1
    ) -> Self {
        Self(
            OverlayProcessor(
                operand: ImageOperand(other, id: id), position: position, margin: margin, opacity: opacity,
                scale: scale))
    }

    /// Keeps what a mask lets through; the rest becomes clear. White lets everything through, black and clear nothing:
    /// the luma (Rec. 709) of the premultiplied color counts, as for SVG masks.
    ///
    /// - Parameters:
    ///   - mask: stretched over the image. Of an animation, its first frame.
    ///   - id: names `mask` in the identifier; see ``blend(_:id:x:y:mode:opacity:)``.
    ///   - usesAlpha: whether only the mask's alpha counts: opaque lets everything through, clear nothing.
    public static func mask(_ mask: Image, id: String? = nil, usesAlpha: Bool = false) -> Self {
        Self(MaskProcessor(operand: ImageOperand(mask, id: id), usesAlpha: usesAlpha))
    }

    /// Calls a closure, on a thread for decoding.
    ///
    /// Of an animation, the closure gets the first frame, and the frames as ``Image/animation``. If it returns other
    /// pixels with the same frames, the result is a still, unless `eachFrame` is set.
    ///
    /// - Parameters:
    ///   - id: names what the closure does, with every parameter that the result depends on. Without one, the result is
    ///     not cached, and the closure runs for every load.
    ///   - eachFrame: whether the closure is called with each frame of an animation, when it is decoded, instead. Only
    ///     the pixels of its result count then. `false` by default.
    ///   - body: its errors become ``WebImageError/processing(identifier:reason:url:)``, unless they are a
    ///     ``WebImageError``.
    public static func transform(
        id: String? = nil, eachFrame: Bool = false,
        _ body: @escaping @Sendable (_ image: Image, _ cancellation: Cancellation?) throws -> Image
    ) -> Self {
        guard eachFrame else { return Self(ClosureProcessor(id: id, body)) }
        return Self(FrameClosureProcessor(closure: ClosureProcessor(id: id, name: "transformFrames", body)))
    }
}
