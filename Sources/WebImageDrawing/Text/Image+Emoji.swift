internal import CWebImageCairo
public import WebImageCore

extension Image {
    /// One emoji in colour, as large as fits in a square; blocks the calling thread. May be called from any thread.
    ///
    /// It needs a font such as Noto Color Emoji, whose pictures have 128 pixels a side: larger ones get blurred.
    ///
    /// - Parameters:
    ///   - emoji: one character; skin tones, flags and families are one too.
    ///   - size: of the square's sides, in points.
    ///   - scale: pixels in a point.
    /// - Throws: ``WebImageError/drawing(_:)`` with ``WebImageError/DrawingFailure/noColorFont(emoji:)`` where no font has the emoji in
    ///   colour, ``WebImageError/DrawingFailure/notAnEmoji(_:)`` for another text, and for numbers that make no sense;
    ///   ``WebImageError/imageTooLarge(size:pixelLimit:)``, ``WebImageError/outOfMemory(byteCount:)``.
    public init(emoji: String, size: Double, scale: Double = 1) throws(WebImageError) {
        guard let text = Self.colored(emoji) else { throw .drawing(.notAnEmoji(emoji)) }
        // Fonts with pictures have one size: as good as any.
        let layout = try TextLayout(StyledText(text, font: Font("emoji", size: 128)))
        let ink = layout.inkRect
        guard layout.isInColor, ink.width > 0, ink.height > 0 else { throw .drawing(.noColorFont(emoji: emoji)) }
        try self.init(size: PointSize(width: size, height: size), scale: scale) { context in
            let factor = size / max(ink.width, ink.height)
            context.translate(x: size / 2, y: size / 2)
            context.scale(x: factor, y: factor)
            context.draw(
                layout, color: .black, at: Point(x: -ink.x - ink.width / 2, y: -ink.y - ink.height / 2))
        }
    }

    /// The text as an emoji; `nil` if it is none. Characters that are letters or signs first, such as a heart, need a mark
    /// behind them to be shown in colour (Unicode TS #51).
    private static func colored(_ text: String) -> String? {
        guard text.count == 1, let first = text.unicodeScalars.first, first.properties.isEmoji else { return nil }
        if first.properties.isEmojiPresentation || text.unicodeScalars.contains(emojiMark) { return text }
        // A digit alone is a digit.
        guard !first.isASCII else { return nil }
        var scalars = String.UnicodeScalarView([first, emojiMark])
        scalars.append(contentsOf: text.unicodeScalars.dropFirst())
        return String(scalars)
    }

    private static let emojiMark: Unicode.Scalar = "\u{FE0F}"
}
