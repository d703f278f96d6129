internal import CWebImageCairo
public import WebImageCore

/// A typeface with a size.
public struct Font: Sendable, Hashable {
    /// The slope of the letters.
    public enum Style: Sendable, Hashable, CaseIterable {
        /// Upright.
        case normal
        /// Slanted, with its own letter shapes.
        case italic
        /// Slanted upright letters.
        case oblique
    }

    package var family: String
    package var size: Double
    package var weight: Int
    package var style: Style

    /// Creates a font. A font that is not installed is replaced by a similar one when it is used.
    ///
    /// - Parameters:
    ///   - family: one or more names, separated by commas; the first installed one is used. `sans-serif`, `serif` and
    ///     `monospace` always work. Missing glyphs are taken from other fonts.
    ///   - size: the size in points, where a point is a pixel at scale 1. Sizes outside 0.1 to 10,000 cause an error
    ///     when the font is used.
    ///   - weight: 100 to 1000 as in CSS: 400, the default, is regular, 700 is bold. Clamped when the font is used.
    ///   - style: the slope of the letters.
    public init(_ family: String = "sans-serif", size: Double, weight: Int = 400, style: Style = .normal) {
        self.family = family
        self.size = size
        self.weight = weight
        self.style = style
    }
}

/// A text with its font, color and layout.
///
/// ```swift
/// let caption = StyledText("Sunrise over the lake", font: Font(size: 18, weight: 700), color: .white, wrappingWidth: 200)
/// let image = try Image(text: caption, scale: 2)
/// ```
///
/// Every script is laid out by its own rules (pango), including right-to-left text, ligatures and color emoji.
public struct StyledText: Sendable, Hashable {
    /// The position of short lines.
    public enum Alignment: Sendable, Hashable, CaseIterable {
        /// At the start of the line: left for English, right for Arabic.
        case leading
        /// In the center.
        case center
        /// At the end of the line.
        case trailing
        /// Lines fill the width, except for the last one.
        case justified
    }

    package var string: String
    package var font: Font
    package var color: Color
    package var alignment: Alignment
    package var wrappingWidth: Double?
    package var lineLimit: Int?

    /// Creates a text.
    ///
    /// - Parameters:
    ///   - string: the text; a line break starts a paragraph.
    ///   - color: the color of glyphs without their own colors.
    ///   - alignment: the position of short lines.
    ///   - wrappingWidth: the maximum width of a line in points. Longer words are broken. By default, lines break only
    ///     at line breaks in the string.
    ///   - lineLimit: the maximum number of lines in a paragraph, the last of which ends with an ellipsis. Requires a
    ///     `wrappingWidth`; no limit by default.
    public init(
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
    /// - Throws: ``WebImageError/processing(identifier:reason:url:)`` for invalid numbers, a text that is too long, or a system without fonts.
    public func size() throws(WebImageError) -> PointSize {
        try TextLayout(self).logicalRect.size
    }
}

extension DrawingContext {
    /// Draws a text.
    ///
    /// Texts smaller than a tenth of a pixel are not drawn; more than 10,000 pixels are an error.
    ///
    /// - Parameter point: the top left corner of the first line.
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
                .processing(
                    identifier: "drawing",
                    reason: .invalidParameter(name: "font size in pixels", value: height.description)))
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
    /// - Parameter scale: pixels per point.
    /// - Throws: ``WebImageError/processing(identifier:reason:url:)`` for invalid numbers, a text that is too long, or a system without fonts;
    ///   ``WebImageError/LimitFailure/pixels(size:limit:)``, ``WebImageError/outOfResources(reason:url:)``.
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
    /// - Throws: ``WebImageError/processing(identifier:reason:url:)`` with ``WebImageError/ProcessingFailure/noFont(emoji:)`` or
    ///   ``WebImageError/ProcessingFailure/notAnEmoji(_:)``, and for invalid numbers;
    ///   ``WebImageError/LimitFailure/pixels(size:limit:)``, ``WebImageError/outOfResources(reason:url:)``.
    public init(emoji: String, size: Double, scale: Double = 1) throws(WebImageError) {
        guard let text = Self.colored(emoji) else {
            throw .processing(identifier: "drawing", reason: .notAnEmoji(emoji))
        }
        // Bitmap fonts have only one size, so any size works.
        let layout = try TextLayout(StyledText(text, font: Font("emoji", size: 128)))
        let ink = layout.inkRect
        guard layout.isInColor, ink.width > 0, ink.height > 0 else {
            throw .processing(identifier: "drawing", reason: .noFont(emoji: emoji))
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
