internal import CWebImageCairo
internal import CWebImageKernels
public import WebImageCore
public import WebImageProcessing

/// A context for drawing with cairo in a closure.
///
/// ```swift
/// let badge = try Image(size: PointSize(width: 24, height: 24), scale: 2) { context in
///     context.fill(Path(circleAround: Point(x: 12, y: 12), radius: 12), with: .color(.black))
///     context.draw(StyledText("3", size: 14, color: .white), at: Point(x: 8, y: 3))
/// }
/// ```
///
/// Coordinates are points from the top left corner; `y` increases downwards. Whole numbers are pixel edges at scale 1:
/// pixel (0, 0) is between 0 and 1, with its center at 0.5. A horizontal line of 1 point is sharp at `y` = 0.5, and
/// covers two rows by half at `y` = 1. Colors are sRGB with straight alpha.
///
/// Drawing does not throw. The first error, such as an infinite coordinate, ends the drawing: later calls do nothing,
/// and the function that called the closure throws the error.
///
/// A context is valid on the thread that runs the closure, until the closure returns.
public struct DrawingContext: ~Copyable {
    let cairo: OpaquePointer
    private let state: State
    /// The size of the image, in points.
    public let size: PointSize
    /// Pixels per point.
    public let scale: Double

    init(cairo: OpaquePointer, size: PointSize, scale: Double) {
        self.cairo = cairo
        self.size = size
        self.scale = scale
        state = State()
    }

    private final class State {
        var failure: WebImageError?
        var depth = 0
    }

    /// The `cairo_t *`, for functions that this type does not offer. Valid until the closure returns. Its surface has
    /// cairo's byte order.
    public var cairoContext: OpaquePointer { cairo }

    // MARK: State

    /// Saves the transform and clip until ``restore()``.
    public func save() {
        guard isIntact else { return }
        state.depth += 1
        cairo_save(cairo)
    }

    /// Restores the transform and clip of the last ``save()``.
    public func restore() {
        guard isIntact else { return }
        guard state.depth > 0 else {
            return fail(.drawing(.failed("a drawing state was restored that had not been saved")))
        }
        state.depth -= 1
        cairo_restore(cairo)
    }

    /// Calls `body`, then restores the transform and clip.
    public func withSavedState<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        save()
        defer { restore() }
        try body()
    }

    // MARK: Transforms

    /// Moves the origin of later drawing.
    public func translate(x: Double, y: Double) {
        guard isIntact, check(x, "translation"), check(y, "translation") else { return }
        cairo_translate(cairo, x, y)
    }

    /// Scales later drawing; 0 is an error.
    public func scale(x: Double, y: Double) {
        guard isIntact, check(x, "scale", allowsZero: false), check(y, "scale", allowsZero: false) else { return }
        cairo_scale(cairo, x, y)
    }

    /// Rotates later drawing around the origin, clockwise; a full turn is 360 degrees.
    public func rotate(degrees: Double) { rotate(by: .degrees(degrees)) }

    func rotate(by angle: Angle) {
        guard isIntact, check(angle.radians, "angle") else { return }
        cairo_rotate(cairo, angle.radians)
    }

    // MARK: Failures

    /// Whether there was no error yet.
    var isIntact: Bool { state.failure == nil }

    /// Stops drawing with an error. Nothing is drawn after it, so that it is the only one.
    func fail(_ failure: WebImageError) { state.failure = failure }

    /// Throws the first error, here or in cairo.
    func finish() throws(WebImageError) {
        if let failure = state.failure { throw failure }
        try CairoStatus.check(cairo_status(cairo))
    }

    /// Stops drawing and returns `false` for a number that cannot be drawn.
    func check(_ value: Double, _ name: String, allowsZero: Bool = true) -> Bool {
        let isUsable = abs(value) <= Self.largestNumber && (allowsZero || value != 0)
        if !isUsable {
            fail(.drawing(.invalidParameter(name: name, value: value.description)))
        }
        return isUsable
    }

    /// Like the function above, for a length.
    func checkLength(_ value: Double, _ name: String) -> Bool {
        if value < 0 {
            fail(.drawing(.invalidParameter(name: name, value: value.description)))
        }
        return check(value, name) && value >= 0
    }

    /// Like the function above, for a color; cairo clamps components beyond 0 to 1.
    func check(_ color: Color) -> Bool {
        check(color.red, "red") && check(color.green, "green") && check(color.blue, "blue")
            && check(color.alpha, "alpha")
    }

    /// The largest number. cairo stores coordinates in 24 bits plus 8 for fractions, without checks. This leaves room
    /// for line widths.
    static let largestNumber = Double(1 << 22)
}

extension DrawingContext {
    /// Draws an image, stretched to a rectangle.
    ///
    /// The pixels are copied. Resize an image before drawing it much smaller, which is faster and sharper.
    ///
    /// - Parameters:
    ///   - image: the image to draw; of an animation the first frame.
    ///   - rect: where to draw it, in points.
    ///   - mode: how the image is blended with the existing pixels, inside the rectangle only.
    ///   - alpha: the opacity, 0 to 1.
    public func draw(_ image: Image, in rect: PointRect, mode: BlendMode = .sourceOver, alpha: Double = 1) {
        guard isIntact, check(rect.x, "coordinate"), check(rect.y, "coordinate"), checkLength(rect.width, "width"),
            checkLength(rect.height, "height"), checkLength(alpha, "alpha"), rect.width > 0, rect.height > 0
        else { return }
        do throws(WebImageError) {
            let pixels = image.pixels
            try CairoCanvas.check(pixels.size)
            let copy = try CairoImage(pixels)
            cairo_save(cairo)
            cairo_translate(cairo, rect.x, rect.y)
            cairo_scale(cairo, rect.width / Double(pixels.width), rect.height / Double(pixels.height))
            cairo_set_source_surface(cairo, copy.surface, 0, 0)
            // Without this, edges of enlarged images fade.
            cairo_pattern_set_extend(cairo_get_source(cairo), CAIRO_EXTEND_PAD)
            cairo_new_path(cairo)
            cairo_rectangle(cairo, 0, 0, Double(pixels.width), Double(pixels.height))
            cairo_clip(cairo)
            cairo_set_operator(cairo, mode.cairoOperator)
            cairo_paint_with_alpha(cairo, min(alpha, 1))
            cairo_restore(cairo)
            // The source refers to the copy's memory.
            cairo_set_source_rgba(cairo, 0, 0, 0, 1)
        } catch {
            fail(error)
        }
    }

    /// Draws an image at its size in points.
    public func draw(_ image: Image, at point: Point, mode: BlendMode = .sourceOver, alpha: Double = 1) {
        let size = image.size
        draw(
            image, in: PointRect(x: point.x, y: point.y, width: size.width, height: size.height), mode: mode,
            alpha: alpha)
    }
}

/// A copy of pixels in cairo's byte order.
private final class CairoImage {
    let surface: OpaquePointer
    private let memory: ScratchMemory

    init(_ pixels: PixelBuffer) throws(WebImageError) {
        let stride = pixels.width * 4
        memory = try ScratchMemory(byteCount: stride * pixels.height)
        let bytes = memory.address.assumingMemoryBound(to: UInt8.self)
        for y in 0..<pixels.height {
            cwi_swap_red_and_blue(pixels.row(y), bytes + y * stride, pixels.width)
        }
        let surface = cairo_image_surface_create_for_data(
            bytes, pixels.isOpaque ? CAIRO_FORMAT_RGB24 : CAIRO_FORMAT_ARGB32, Int32(pixels.width),
            Int32(pixels.height), Int32(stride))
        try CairoStatus.check(cairo_surface_status(surface))
        guard let surface else { throw .outOfResources(reason: .memory(byteCount: stride * pixels.height)) }
        self.surface = surface
    }

    deinit {
        // Remaining references find the surface empty.
        cairo_surface_finish(surface)
        cairo_surface_destroy(surface)
    }
}
