internal import CWebImageCairo
internal import WebImageCore

extension DrawingContext {
    /// Draws a text.
    ///
    /// - Parameter point: the left top corner of its first line's room; ``StyledText/size()`` tells how far it reaches.
    public func draw(_ text: StyledText, at point: Point) {
        guard isIntact, check(point.x, "coordinate"), check(point.y, "coordinate"), check(text.color) else { return }
        do throws(WebImageError) {
            draw(try TextLayout(text), color: text.color, at: point)
        } catch {
            fail(error)
        }
    }

    func draw(_ text: TextLayout, color: Color, at point: Point) {
        cairo_save(cairo)
        cairo_new_path(cairo)
        cairo_move_to(cairo, point.x, point.y)
        cairo_set_source_rgba(cairo, color.red, color.green, color.blue, color.alpha)
        pango_cairo_update_layout(cairo, text.layout)
        pango_cairo_show_layout(cairo, text.layout)
        cairo_restore(cairo)
        cairo_new_path(cairo)
    }
}
