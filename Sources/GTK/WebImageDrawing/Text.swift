internal import CWebImageCairo
public import WebImageCore

/// A typeface with a size.
struct Font: Sendable {
    let family: String
    let size: Double
    var weight: Int
    let isItalic: Bool

    init(_ family: String = "sans-serif", size: Double, weight: Int = 400, isItalic: Bool = false) {
        self.family = family
        self.size = size
        self.weight = weight
        self.isItalic = isItalic
    }
}

/// A text with its font, color and layout.
///
/// ```swift
/// let caption = StyledText("Sunrise over the lake", size: 18, weight: 700, color: .white, wrappingWidth: 200)
/// let image = try Image(text: caption, scale: 2)
/// ```
///
/// Every script is laid out by its own rules (pango), including right-to-left text, ligatures and color emoji.
public struct StyledText: Sendable {
    /// The position of short lines.
    public enum Alignment: Sendable, CaseIterable {
        /// At the start of the line: left for English, right for Arabic.
        case leading
        /// In the center.
        case center
        /// At the end of the line.
        case trailing
        /// Lines fill the width, except for the last one.
        case justified
    }

    let string: String
    let font: Font
    let color: Color
    let alignment: Alignment
    let wrappingWidth: Double?
    /// The maximum number of lines; `nil` for no limit.
    public var lineLimit: Int?

    /// Creates a text.
    ///
    /// A font that is not installed is replaced by a similar one.
    ///
    /// - Parameters:
    ///   - string: the text; a line break starts a paragraph.
    ///   - font: one or more names of fonts, separated by commas; the first installed one is used. `sans-serif`, the
    ///     default, `serif` and `monospace` always work. Missing glyphs are taken from other fonts.
    ///   - size: the font's size in points, where a point is a pixel at scale 1. Sizes outside 0.1 to 10,000 cause an
    ///     error when the text is used.
    ///   - weight: 100 to 1000 as in CSS: 400, the default, is regular, 700 is bold. Others are clamped.
    ///   - isItalic: whether letters are slanted, with their own shapes where the typeface has them.
    ///   - color: the color of glyphs without their own colors.
    ///   - alignment: the position of short lines.
    ///   - wrappingWidth: the maximum width of a line in points. Longer words are broken. By default, lines break only
    ///     at line breaks in the string.
    ///   - lineLimit: the maximum number of lines in a paragraph, the last of which ends with an ellipsis. Requires a
    ///     `wrappingWidth`; no limit by default.
    public init(
        _ string: String, font: String = "sans-serif", size: Double, weight: Int = 400, isItalic: Bool = false,
        color: Color = .black, alignment: Alignment = .leading, wrappingWidth: Double? = nil, lineLimit: Int? = nil
    ) {
        self.init(
            string, font: Font(font, size: size, weight: weight, isItalic: isItalic), color: color,
            alignment: alignment, wrappingWidth: wrappingWidth, lineLimit: lineLimit)
    }

    init(
        _ string: String, font: Font, color: Color = .black, alignment: Alignment = .leading,
        wrappingWidth: Double? = nil, lineLimit: Int? = nil
    ) {
        self.string = string
        self.font = font
        self.color = color
        self.alignment = alignment
        self.wrappingWidth = wrappingWidth
        self.lineLimit = lineLimit
    }

    /// Returns the size of the lines in points, independent of the scale. Slanted glyphs may extend beyond it.
    ///
    /// - Throws: ``WebImage/WebImageError/processing(identifier:reason:url:)`` for invalid numbers, a text that is too long, or
    ///   a system without fonts.
    public func size() throws(WebImageError) -> PointSize {
        try TextLayout(self).logicalRect.size
    }
}

extension DrawingContext {
    /// Draws a text.
    ///
    /// Texts smaller than a tenth of a pixel are not drawn; more than 10,000 pixels are an error.
    ///
    /// - Parameters:
    ///   - text: the text, which may have several lines.
    ///   - point: the top left corner of the first line.
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

    /// Whether fonts have glyphs of this size. FreeType rejects others, and cairo then keeps that error for the font in
    /// the whole process.
    private func isDrawable(fontSize: Double) -> Bool {
        var matrix = cairo_matrix_t()
        cairo_get_matrix(cairo, &matrix)
        let longest = max(
            (matrix.xx * matrix.xx + matrix.yx * matrix.yx).squareRoot(),
            (matrix.xy * matrix.xy + matrix.yy * matrix.yy).squareRoot())
        let height = fontSize * longest
        guard height <= TextLayout.largestFontSize else {
            fail(
                .drawing(.invalidParameter(name: "font size in pixels", value: height.description)))
            return false
        }
        // The direction in which the transform shrinks most.
        let area = abs(matrix.xx * matrix.yy - matrix.xy * matrix.yx)
        return longest > 0 && fontSize * area / longest >= TextLayout.smallestFontSize
    }
}

extension Image {
    /// Creates an image of a text on a transparent background, of the size needed. Blocks the calling thread, which can
    /// be any thread.
    ///
    /// An empty text has the height of its line and a width of one pixel.
    ///
    /// - Parameters:
    ///   - text: the text, which may have several lines.
    ///   - scale: pixels per point.
    /// - Throws: ``WebImage/WebImageError/processing(identifier:reason:url:)`` for invalid numbers, a text that is too long, or
    ///   a system without fonts; ``WebImage/WebImageError/LimitFailure/pixels(size:limit:)``,
    ///   ``WebImage/WebImageError/outOfResources(reason:url:)``.
    public init(text: StyledText, scale: Double = 1) throws(WebImageError) {
        let layout = try TextLayout(text)
        let rect = layout.wholeRect
        let pixel = scale > 0 ? 1 / scale : 1
        let size = PointSize(width: max(rect.width, pixel), height: max(rect.height, pixel))
        try self.init(size: size, scale: scale) { context in
            guard context.check(text.color) else { return }
            context.draw(layout, color: text.color, at: Point(x: -rect.x, y: -rect.y))
        }
    }
}

extension Image {
    /// Creates an image of one color emoji, fitted to a square. Blocks the calling thread, which can be any thread.
    ///
    /// Requires a font such as Noto Color Emoji, whose images have 128 pixels per side; larger images are blurred.
    ///
    /// - Parameters:
    ///   - emoji: a single character, which may have a skin tone or be a flag or family.
    ///   - size: the side of the square, in points.
    ///   - scale: pixels per point.
    /// - Throws: ``WebImage/WebImageError/processing(identifier:reason:url:)`` with
    ///   ``WebImage/WebImageError/ProcessingFailure/noFont(emoji:)``, and for invalid numbers and texts that are not a single
    ///   emoji; ``WebImage/WebImageError/LimitFailure/pixels(size:limit:)``, ``WebImage/WebImageError/outOfResources(reason:url:)``.
    public init(emoji: String, size: Double, scale: Double = 1) throws(WebImageError) {
        guard let text = Self.colored(emoji) else {
            throw .drawing(.invalidParameter(name: "emoji", value: "'\(emoji.prefix(50))'"))
        }
        // Bitmap fonts have only one size, so any size works.
        let layout = try TextLayout(StyledText(text, font: Font("emoji", size: 128)))
        let ink = layout.inkRect
        guard layout.isInColor, ink.width > 0, ink.height > 0 else {
            throw .drawing(.noFont(emoji: emoji))
        }
        try self.init(size: PointSize(width: size, height: size), scale: scale) { context in
            let factor = size / max(ink.width, ink.height)
            context.translate(x: size / 2, y: size / 2)
            context.scale(x: factor, y: factor)
            context.draw(
                layout, color: .black, at: Point(x: -ink.x - ink.width / 2, y: -ink.y - ink.height / 2))
        }
    }

    /// Returns the text as an emoji; `nil` if it is not one. Characters that are normally shown as letters or symbols,
    /// such as a heart, need a variation selector to be shown in color (Unicode TS #51).
    private static func colored(_ text: String) -> String? {
        guard text.count == 1, let first = text.unicodeScalars.first, first.properties.isEmoji else { return nil }
        if first.properties.isEmojiPresentation || text.unicodeScalars.contains(emojiMark) { return text }
        guard !first.isASCII else { return nil }
        var scalars = String.UnicodeScalarView([first, emojiMark])
        scalars.append(contentsOf: text.unicodeScalars.dropFirst())
        return String(scalars)
    }

    private static let emojiMark: Unicode.Scalar = "\u{FE0F}"
}

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

    /// - Throws: ``WebImage/WebImageError/processing(identifier:reason:url:)``.
    init(_ text: StyledText) throws(WebImageError) {
        try Self.check(text)
        fontSize = text.font.size
        guard cwi_has_fonts() else { throw .drawing(.noFont(emoji: nil)) }
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
        pango_font_description_set_style(description, font.isItalic ? PANGO_STYLE_ITALIC : PANGO_STYLE_NORMAL)
        pango_layout_set_font_description(layout, description)
    }

    private static func check(_ text: StyledText) throws(WebImageError) {
        let size = text.font.size
        guard size >= smallestFontSize, size <= largestFontSize else {
            throw .drawing(.invalidParameter(name: "font size", value: size.description))
        }
        if let width = text.wrappingWidth, !(width > 0 && width <= lengthLimit) {
            throw .drawing(.invalidParameter(name: "wrapping width", value: width.description))
        }
        let limit = Int(min(lengthLimit / size, 100_000))
        guard text.string.utf8.count <= limit else {
            let value = "\(text.string.utf8.count) bytes long; at most \(limit) can be laid out"
            throw .drawing(.invalidParameter(name: "text", value: value))
        }
    }

    private static func pangoUnits(_ points: Double) -> Int32 { Int32((points * Double(PANGO_SCALE)).rounded()) }
}
