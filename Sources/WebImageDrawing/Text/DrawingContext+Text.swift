internal import CWebImageCairo
internal import WebImageCore

extension DrawingContext {
    /// Draws a text.
    ///
    /// - Parameter point: the left top corner of its first line's room; ``StyledText/size()`` tells how far it reaches. Where
    ///   transforms leave a tenth of a pixel of the font's size, nothing is drawn; more than 10,000 pixels are an error.
    public func draw(_ text: StyledText, at point: Point) {
        guard isIntact, check(point.x, "coordinate"), check(point.y, "coordinate"), check(text.color) else { return }
        do throws(WebImageError) {
            draw(try TextLayout(text), color: text.color, at: point)
        } catch {
            fail(error)
        }
    }

    func draw(_ text: TextLayout, color: Color, at point: Point) {
        guard isDrawable(fontSize: text.fontSize) else { return }
        cairo_save(cairo)
        cairo_new_path(cairo)
        cairo_move_to(cairo, point.x, point.y)
        cairo_set_source_rgba(cairo, color.red, color.green, color.blue, color.alpha)
        pango_cairo_update_layout(cairo, text.layout)
        pango_cairo_show_layout(cairo, text.layout)
        cairo_restore(cairo)
        cairo_new_path(cairo)
    }

    /// Whether glyphs come out in a size that fonts have.
    ///
    /// FreeType refuses others, and cairo then has that font's error for good, in the whole process.
    private func isDrawable(fontSize: Double) -> Bool {
        var matrix = cairo_matrix_t()
        cairo_get_matrix(cairo, &matrix)
        let longest = max(
            (matrix.xx * matrix.xx + matrix.yx * matrix.yx).squareRoot(),
            (matrix.xy * matrix.xy + matrix.yy * matrix.yy).squareRoot())
        let height = fontSize * longest
        guard height <= TextLayout.largestFontSize else {
            fail(.drawing(.invalidNumber(name: "font size in pixels", value: height.description)))
            return false
        }
        // The side on which the transform makes them flattest; nobody sees what is thinner than this.
        let area = abs(matrix.xx * matrix.yy - matrix.xy * matrix.yx)
        return longest > 0 && fontSize * area / longest >= TextLayout.smallestFontSize
    }
}
