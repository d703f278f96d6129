internal import CWebImageCairo
internal import WebImageCore

/// A text laid out by pango.
///
/// pango's font map belongs to one thread. This uses the calling thread's, which pango retains until the thread ends. A
/// layout must therefore be created, drawn and released on one thread.
///
/// Glyphs are not hinted and not aligned to pixels, so that lines are the same at every scale and position.
final class TextLayout {
    let layout: OpaquePointer
    let fontSize: Double

    /// About an eighth of pango's range of numbers, with 1024 per point, if each byte were a square glyph.
    static let lengthLimit = 250_000.0
    /// In points, and in pixels when drawn.
    static let largestFontSize = 10_000.0
    static let smallestFontSize = 0.1

    /// - Throws: ``WebImageError/processing(identifier:reason:url:)``.
    init(_ text: StyledText) throws(WebImageError) {
        try Self.check(text)
        fontSize = text.font.size
        guard cwi_has_fonts() else { throw .processing(identifier: "drawing", reason: .noFont(emoji: nil)) }
        let context = pango_font_map_create_context(pango_cairo_font_map_get_default())
        defer { g_object_unref(UnsafeMutableRawPointer(context)) }
        pango_context_set_round_glyph_positions(context, 0)
        let options = cairo_font_options_create()
        defer { cairo_font_options_destroy(options) }
        cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY)
        cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE)
        cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF)
        pango_cairo_context_set_font_options(context, options)

        guard let layout = pango_layout_new(context) else {
            throw .outOfResources(reason: .memory(byteCount: text.string.utf8.count))
        }
        self.layout = layout
        // pango ends a text at a NUL.
        let string = text.string.replacing("\0", with: "\u{FFFD}")
        pango_layout_set_text(layout, string, Int32(string.utf8.count))
        setFont(text.font)
        if let width = text.wrappingWidth {
            pango_layout_set_width(layout, Self.pangoUnits(width))
            pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR)
        }
        if let limit = text.lineLimit {
            pango_layout_set_height(layout, -Int32(clamping: max(1, limit)))
            pango_layout_set_ellipsize(layout, PANGO_ELLIPSIZE_END)
        }
        switch text.alignment {
        case .leading: pango_layout_set_alignment(layout, PANGO_ALIGN_LEFT)
        case .center: pango_layout_set_alignment(layout, PANGO_ALIGN_CENTER)
        case .trailing: pango_layout_set_alignment(layout, PANGO_ALIGN_RIGHT)
        case .justified: pango_layout_set_justify(layout, 1)
        }
    }

    deinit { g_object_unref(UnsafeMutableRawPointer(layout)) }

    /// The rectangle of the lines, in points relative to the drawing position.
    var logicalRect: PointRect { rects.logical }

    /// The rectangle of the glyphs.
    var inkRect: PointRect { rects.ink }

    /// The union of both.
    var wholeRect: PointRect {
        let (ink, logical) = rects
        guard ink.width > 0, ink.height > 0 else { return logical }
        let (left, top) = (min(ink.x, logical.x), min(ink.y, logical.y))
        return PointRect(
            x: left, y: top, width: max(ink.x + ink.width, logical.x + logical.width) - left,
            height: max(ink.y + ink.height, logical.y + logical.height) - top)
    }

    /// Whether every character has a color glyph.
    var isInColor: Bool { cwi_layout_is_in_color(layout) }

    private var rects: (ink: PointRect, logical: PointRect) {
        var (ink, logical) = (PangoRectangle(), PangoRectangle())
        pango_layout_get_extents(layout, &ink, &logical)
        func points(_ rect: PangoRectangle) -> PointRect {
            let scale = Double(PANGO_SCALE)
            return PointRect(
                x: Double(rect.x) / scale, y: Double(rect.y) / scale, width: Double(rect.width) / scale,
                height: Double(rect.height) / scale)
        }
        return (points(ink), points(logical))
    }

    private func setFont(_ font: Font) {
        let description = pango_font_description_new()
        defer { pango_font_description_free(description) }
        pango_font_description_set_family(description, font.family)
        // Not in typographic points, of which pango maps 72 to 96 pixels.
        pango_font_description_set_absolute_size(description, font.size * Double(PANGO_SCALE))
        let weight = min(max(font.weight, 100), 1000)
        pango_font_description_set_weight(description, PangoWeight(rawValue: UInt32(weight)))
        switch font.style {
        case .normal: pango_font_description_set_style(description, PANGO_STYLE_NORMAL)
        case .italic: pango_font_description_set_style(description, PANGO_STYLE_ITALIC)
        case .oblique: pango_font_description_set_style(description, PANGO_STYLE_OBLIQUE)
        }
        pango_layout_set_font_description(layout, description)
    }

    private static func check(_ text: StyledText) throws(WebImageError) {
        let size = text.font.size
        guard size >= smallestFontSize, size <= largestFontSize else {
            throw .processing(
                identifier: "drawing", reason: .invalidParameter(name: "font size", value: size.description))
        }
        if let width = text.wrappingWidth, !(width > 0 && width <= lengthLimit) {
            throw .processing(
                identifier: "drawing", reason: .invalidParameter(name: "wrapping width", value: width.description))
        }
        let limit = Int(min(lengthLimit / size, 100_000))
        guard text.string.utf8.count <= limit else {
            throw .processing(
                identifier: "drawing", reason: .textTooLong(byteCount: text.string.utf8.count, limit: limit))
        }
    }

    private static func pangoUnits(_ points: Double) -> Int32 { Int32((points * Double(PANGO_SCALE)).rounded()) }
}
