internal import CWebImageCairo
public import WebImageCore

/// Where a closure draws: cairo, in Swift's terms.
///
/// ```swift
/// let badge = try Image(size: PointSize(width: 24, height: 24), scale: 2) { context in
///     context.fill(Path(circleAround: Point(x: 12, y: 12), radius: 12), with: .color(red))
///     context.draw(StyledText("3", font: Font(size: 14), color: .white), at: Point(x: 8, y: 3))
/// }
/// ```
///
/// Coordinates are points, from the left top corner; `y` grows downwards. Whole numbers are edges of pixels (at scale 1), so
/// pixel (0, 0) lies between 0 and 1 and its centre at 0.5: a horizontal line of 1 point is sharp at `y` = 0.5, and covers two
/// rows by half at `y` = 1. Colours are sRGB with straight alpha.
///
/// Drawing does not throw. The first thing that goes wrong, such as a coordinate that is no number, ends the drawing: what
/// comes after it does nothing, and whoever called the closure throws the error.
///
/// A context is used by the thread that runs the closure and by no other, and is gone when the closure returns.
public struct DrawingContext: ~Copyable {
    let cairo: OpaquePointer
    private let state: State
    /// What is drawn on, in points.
    public let size: PointSize
    /// Pixels in a point.
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

    /// cairo's own context, a `cairo_t *`, for what this type lacks. It is good until the closure returns, and its surface
    /// holds pixels in cairo's byte order.
    public var cairoContext: OpaquePointer { cairo }

    // MARK: State

    /// Remembers transform and clip until ``restore()``.
    public func save() {
        guard isIntact else { return }
        state.depth += 1
        cairo_save(cairo)
    }

    /// Goes back to the transform and clip of the last ``save()``.
    public func restore() {
        guard isIntact else { return }
        guard state.depth > 0 else { return fail(.drawing(.unbalancedRestore)) }
        state.depth -= 1
        cairo_restore(cairo)
    }

    /// Calls `body`, then goes back to the transform and clip there were before.
    public func withSavedState<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        save()
        defer { restore() }
        try body()
    }

    // MARK: Transforms

    /// Moves the origin of what is drawn from now on.
    public func translate(x: Double, y: Double) {
        guard isIntact, check(x, "translation"), check(y, "translation") else { return }
        cairo_translate(cairo, x, y)
    }

    /// Scales what is drawn from now on; 0 is an error, since nothing would be left.
    public func scale(x: Double, y: Double) {
        guard isIntact, check(x, "scale", allowsZero: false), check(y, "scale", allowsZero: false) else { return }
        cairo_scale(cairo, x, y)
    }

    /// Turns what is drawn from now on around the origin, clockwise.
    public func rotate(by angle: Angle) {
        guard isIntact, check(angle.radians, "angle") else { return }
        cairo_rotate(cairo, angle.radians)
    }

    // MARK: Failures

    /// Whether nothing has gone wrong so far.
    var isIntact: Bool { state.failure == nil }

    /// Ends the drawing, unless it has ended before.
    func fail(_ failure: WebImageError) {
        if state.failure == nil { state.failure = failure }
    }

    /// Throws what went wrong, here or in cairo.
    func finish() throws(WebImageError) {
        if let failure = state.failure { throw failure }
        try CairoStatus.check(cairo_status(cairo))
    }

    /// Whether a number can be drawn with; if not, the drawing fails.
    func check(_ value: Double, _ name: String, allowsZero: Bool = true) -> Bool {
        let isUsable = abs(value) <= Self.largestNumber && (allowsZero || value != 0)
        if !isUsable { fail(.drawing(.invalidNumber(name: name, value: value.description))) }
        return isUsable
    }

    /// As above, for a length.
    func checkLength(_ value: Double, _ name: String) -> Bool {
        if value < 0 { fail(.drawing(.invalidNumber(name: name, value: value.description))) }
        return check(value, name) && value >= 0
    }

    /// Whether all components are numbers; cairo brings those outside 0 to 1 inside.
    func check(_ color: Color) -> Bool {
        check(color.red, "red") && check(color.green, "green") && check(color.blue, "blue")
            && check(color.alpha, "alpha")
    }

    /// cairo keeps places in pixels in 24 bits with 8 more for fractions, and does not look whether they fit; this leaves
    /// room for a line's width.
    static let largestNumber = Double(1 << 22)
}
