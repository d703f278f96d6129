public import WebImageCore

/// A text as it is to be drawn: its font, its colour, how it is broken into lines.
///
/// ```swift
/// let caption = StyledText("Sunrise over the lake", font: Font(size: 18, weight: .bold), color: .white, wrappingWidth: 200)
/// let image = try Image(text: caption, scale: 2)
/// ```
///
/// Every script is laid out by its own rules (pango): right to left, ligatures, emoji in colour.
public struct StyledText: Sendable, Hashable {
    /// Where lines stand that are shorter than the longest, or than ``wrappingWidth``.
    public enum Alignment: String, Sendable, Hashable, Codable, CaseIterable {
        /// Where lines begin: left for English, right for Arabic.
        case leading
        /// In the middle.
        case center
        /// Where lines end.
        case trailing
        /// Stretched to the whole width, but for the last.
        case justified
    }

    /// The characters; a line break begins a paragraph.
    public var string: String
    /// Its typeface and size.
    public var font: Font
    /// Of glyphs without colours of their own.
    public var color: Color
    /// Where short lines stand.
    public var alignment: Alignment
    /// How wide a line may get, in points; `nil` breaks lines only where the text does. Words that are longer are broken.
    public var wrappingWidth: Double?
    /// How many lines a paragraph may have; the last ends in an ellipsis. Needs a ``wrappingWidth``; `nil` for any.
    public var lineLimit: Int?

    /// Makes a text.
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

    /// The room its lines take, in points, which glyphs such as slanted ones may leave. It does not depend on the scale.
    ///
    /// - Throws: ``WebImageError/drawing(_:)`` for numbers that make no sense, a text that is too long, or a system without fonts.
    public func size() throws(WebImageError) -> PointSize {
        try TextLayout(self).logicalRect.size
    }
}
