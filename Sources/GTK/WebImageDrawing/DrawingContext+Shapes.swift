internal import CWebImageCairo
public import WebImageCore
public import WebImageProcessing

extension DrawingContext {
    /// Fills a path.
    ///
    /// - Parameters:
    ///   - path: the outline of the area.
    ///   - paint: a color or a gradient.
    ///   - isEvenOdd: whether a figure inside another one is a hole, regardless of its direction. By default, areas
    ///     that the path winds around more often in one direction than in the other are filled.
    ///   - mode: how the fill is blended with the existing pixels, inside the path only.
    public func fill(
        _ path: Path, with paint: Paint, isEvenOdd: Bool = false, mode: BlendMode = .sourceOver
    ) {
        guard isIntact, set(path), set(paint) else { return }
        cairo_save(cairo)
        cairo_set_fill_rule(cairo, isEvenOdd ? CAIRO_FILL_RULE_EVEN_ODD : CAIRO_FILL_RULE_WINDING)
        draw(mode: mode) { cairo_fill_preserve(cairo) }
        cairo_restore(cairo)
        cairo_new_path(cairo)
    }

    /// Fills the whole clip region.
    public func fill(with paint: Paint, mode: BlendMode = .sourceOver) {
        guard isIntact, set(paint) else { return }
        cairo_set_operator(cairo, mode.cairoOperator)
        cairo_paint(cairo)
        cairo_set_operator(cairo, CAIRO_OPERATOR_OVER)
    }

    /// Strokes a path, half of the line's width on either side.
    ///
    /// - Parameters:
    ///   - path: the middle of the line.
    ///   - paint: a color or a gradient.
    ///   - width: the line width in points.
    ///   - cap: the shape of the line's ends.
    ///   - join: the shape of its corners.
    ///   - miterLimit: the longest miter that is not cut off, in line widths.
    ///   - dashes: alternating lengths of dashes and gaps in points; empty for a solid line.
    ///   - dashPhase: the position in the dashes at which the line begins, in points.
    ///   - mode: how the line is blended with the existing pixels.
    public func stroke(
        _ path: Path, with paint: Paint, width: Double = 1, cap: LineCap = .butt, join: LineJoin = .miter,
        miterLimit: Double = 10, dashes: [Double] = [], dashPhase: Double = 0, mode: BlendMode = .sourceOver
    ) {
        guard isIntact, setLine(width: width, dashes: dashes, dashPhase: dashPhase),
            checkLength(miterLimit, "miter limit"), set(path), set(paint)
        else { return }
        cairo_set_line_cap(cairo, cap.cairoCap)
        cairo_set_line_join(cairo, join.cairoJoin)
        cairo_set_miter_limit(cairo, miterLimit)
        cairo_set_operator(cairo, mode.cairoOperator)
        cairo_stroke(cairo)
        cairo_set_operator(cairo, CAIRO_OPERATOR_OVER)
    }

    /// Restricts later drawing to the inside of a path, in addition to previous clips.
    public func clip(to path: Path, isEvenOdd: Bool = false) {
        guard isIntact, set(path) else { return }
        cairo_set_fill_rule(cairo, isEvenOdd ? CAIRO_FILL_RULE_EVEN_ODD : CAIRO_FILL_RULE_WINDING)
        cairo_clip(cairo)
    }

    /// Some modes also change pixels outside a shape, which clipping to the shape prevents.
    private func draw(mode: BlendMode, _ fill: () -> Void) {
        switch mode {
        case .sourceIn, .sourceOut, .destinationIn, .destinationAtop:
            cairo_clip(cairo)
            cairo_set_operator(cairo, mode.cairoOperator)
            cairo_paint(cairo)
        default:
            cairo_set_operator(cairo, mode.cairoOperator)
            fill()
        }
    }

    /// Sets cairo's current path.
    private func set(_ path: Path) -> Bool {
        var matrix = cairo_matrix_t()
        cairo_get_matrix(cairo, &matrix)
        cairo_new_path(cairo)
        for element in path.elements {
            switch element {
            case .move(let point):
                guard check(point, matrix) else { return false }
                cairo_move_to(cairo, point.x, point.y)
            case .line(let point):
                guard check(point, matrix) else { return false }
                cairo_line_to(cairo, point.x, point.y)
            case .curve(let point, let first, let second):
                guard check(point, matrix), check(first, matrix), check(second, matrix) else { return false }
                cairo_curve_to(cairo, first.x, first.y, second.x, second.y, point.x, point.y)
            case .close:
                cairo_close_path(cairo)
            }
        }
        return true
    }

    /// Checks a point, transformed to pixels.
    private func check(_ point: Point, _ matrix: cairo_matrix_t) -> Bool {
        let x = matrix.xx * point.x + matrix.xy * point.y + matrix.x0
        let y = matrix.yx * point.x + matrix.yy * point.y + matrix.y0
        return check(x, "coordinate") && check(y, "coordinate")
    }

    private func setLine(width: Double, dashes: [Double], dashPhase: Double) -> Bool {
        var (x, y) = (width, width)
        guard checkLength(width, "line width"), check(dashPhase, "dash phase"),
            dashes.allSatisfy({ checkLength($0, "dash") })
        else { return false }
        cairo_user_to_device_distance(cairo, &x, &y)
        guard check(x, "line width"), check(y, "line width") else { return false }
        let isEndless = !dashes.isEmpty && !dashes.contains { $0 > 0 }
        if isEndless {
            fail(.drawing(.invalidParameter(name: "dash", value: "0")))
            return false
        }
        cairo_set_line_width(cairo, width)
        cairo_set_dash(cairo, dashes, Int32(clamping: dashes.count), dashPhase)
        return true
    }

    private func set(_ paint: Paint) -> Bool {
        switch paint {
        case .color(let color):
            guard check(color) else { return false }
            cairo_set_source_rgba(cairo, color.red, color.green, color.blue, color.alpha)
            return true
        case .linearGradient(let start, let end, let stops):
            guard [start.x, start.y, end.x, end.y].allSatisfy({ check($0, "coordinate") }) else { return false }
            return set(cairo_pattern_create_linear(start.x, start.y, end.x, end.y), stops)
        case .radialGradient(let center, let inner, let outer, let stops):
            guard check(center.x, "coordinate"), check(center.y, "coordinate"), checkLength(inner, "radius"),
                checkLength(outer, "radius")
            else { return false }
            return set(cairo_pattern_create_radial(center.x, center.y, inner, center.x, center.y, outer), stops)
        }
    }

    private func set(_ gradient: OpaquePointer?, _ stops: [(Double, Color)]) -> Bool {
        defer { cairo_pattern_destroy(gradient) }
        for (offset, color) in stops {
            guard check(offset, "gradient offset"), check(color) else { return false }
            cairo_pattern_add_color_stop_rgba(gradient, offset, color.red, color.green, color.blue, color.alpha)
        }
        cairo_set_source(cairo, gradient)
        return true
    }
}

extension LineCap {
    fileprivate var cairoCap: cairo_line_cap_t {
        switch self {
        case .butt: CAIRO_LINE_CAP_BUTT
        case .round: CAIRO_LINE_CAP_ROUND
        case .square: CAIRO_LINE_CAP_SQUARE
        }
    }
}

extension LineJoin {
    fileprivate var cairoJoin: cairo_line_join_t {
        switch self {
        case .miter: CAIRO_LINE_JOIN_MITER
        case .round: CAIRO_LINE_JOIN_ROUND
        case .bevel: CAIRO_LINE_JOIN_BEVEL
        }
    }
}

/// A color or gradient for fills and strokes.
///
/// A gradient has stops: positions from 0 at the start to 1 at the end, with their colors. Colors between stops are
/// mixed premultiplied, in encoded sRGB.
public enum Paint: Sendable {
    /// One color.
    case color(Color)
    /// Colors along a line; the first and the last extend beyond its ends.
    case linearGradient(from: Point, to: Point, stops: [(Double, Color)])
    /// Colors between two circles with the same center; the first and the last extend inwards and outwards.
    case radialGradient(center: Point, innerRadius: Double = 0, outerRadius: Double, stops: [(Double, Color)])
}

/// The shape of the ends of a line.
public enum LineCap: Sendable, CaseIterable {
    /// The line ends at its last point.
    case butt
    /// The line ends with a half disc.
    case round
    /// The line extends half its width beyond its last point.
    case square
}
