internal import CWebImageGTK
internal import GTKObjects
internal import WebImage

/// The initials and the color of a name.
struct Initials: Equatable {
    /// The first letters of the first and the last word, in upper case; empty for a name without letters.
    let text: String
    /// The background. White text on it has a contrast of 4.7, and it has 3.2 or more on the backgrounds of GTK's light and dark theme.
    let color: Color

    init(of name: String) {
        // Composed and decomposed characters are the same name.
        let name = Self.normalized(name)
        let words = name.split(whereSeparator: \.isWhitespace)
        let letters = [words.first, words.count > 1 ? words.last : nil].compactMap { $0 }
        text = letters.compactMap { $0.prefix(1).uppercased().first }.map(String.init).joined()
        color = Self.color(hue: Self.hue(of: words.joined(separator: " ")))
    }

    private static func normalized(_ name: String) -> String {
        guard let text = g_utf8_normalize(name, -1, G_NORMALIZE_DEFAULT_COMPOSE) else { return name }
        defer { g_free(text) }
        return String(cString: text)
    }

    // MARK: Color

    private static let hueCount: UInt64 = 18

    /// The same in each run of a program and in each version, which Swift's hashes are not: FNV-1a.
    private static func hue(of name: String) -> Double {
        let hash = name.utf8.reduce(into: UInt64(0xcbf2_9ce4_8422_2325)) { hash, byte in
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        // The low bits depend on the last letters only.
        return Double((hash ^ hash >> 32) % hueCount) / Double(hueCount)
    }

    /// The luminance of each color (WCAG 2.2).
    static let luminance = 0.17

    /// Returns the color of a hue, from 0 to 1, with the luminance above.
    private static func color(hue: Double) -> Color {
        var (dark, light) = (0.0, 1.0)
        for _ in 0..<16 {
            let middle = (dark + light) / 2
            if luminance(of: color(hue: hue, lightness: middle)) < luminance { dark = middle } else { light = middle }
        }
        return color(hue: hue, lightness: (dark + light) / 2)
    }

    private static func color(hue: Double, lightness: Double) -> Color {
        let saturation = 0.6
        let chroma = (1 - abs(2 * lightness - 1)) * saturation
        func component(_ shift: Double) -> Double {
            let place = (hue * 6 + shift).truncatingRemainder(dividingBy: 6)
            return lightness - chroma / 2 + chroma * min(1, max(0, abs(place - 3) - 1))
        }
        return Color(red: component(0), green: component(4), blue: component(2))
    }

    static func luminance(of color: Color) -> Double {
        func linear(_ value: Double) -> Double { value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4) }
        return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue)
    }
}

// MARK: - Drawing

@MainActor extension Initials {
    /// Makes a paintable that fills its area with the color and has the initials in the middle, or a figure if there are none.
    func makePaintable() -> ObjectReference {
        let paintable = PicturePaintable()
        paintable.foreground = { draw(into: $0, width: $1, height: $2) }
        return paintable.reference
    }

    private func draw(into snapshot: OpaquePointer, width: Double, height: Double) {
        var area = graphene_rect_t(width: width, height: height)
        var background = GdkRGBA(color)
        gtk_snapshot_append_color(snapshot, &background, &area)
        let side = min(width, height)
        guard side > 0 else { return }
        gtk_snapshot_save(snapshot)
        var center = graphene_point_t(x: Float(width / 2), y: Float(height / 2))
        gtk_snapshot_translate(snapshot, &center)
        if text.isEmpty { drawFigure(into: snapshot, side: side) } else { drawText(into: snapshot, side: side) }
        gtk_snapshot_restore(snapshot)
    }

    /// Draws the text around the origin.
    private func drawText(into snapshot: OpaquePointer, side: Double) {
        guard let context = pango_font_map_create_context(pango_cairo_font_map_get_default()) else { return }
        defer { g_object_unref(UnsafeMutableRawPointer(context)) }
        guard let layout = pango_layout_new(context) else { return }
        defer { g_object_unref(UnsafeMutableRawPointer(layout)) }
        let font = Self.makeFont()
        defer { pango_font_description_free(font) }
        pango_layout_set_text(layout, text, -1)
        // Two wide letters have to fit in the circle.
        var extents = PangoRectangle()
        for share in [0.42, 0.34, 0.26] {
            pango_font_description_set_absolute_size(font, side * share * Double(PANGO_SCALE))
            pango_layout_set_font_description(layout, font)
            pango_layout_get_pixel_extents(layout, nil, &extents)
            if Double(extents.width) <= side * 0.75 { break }
        }
        var origin = graphene_point_t(
            x: Float(-Double(extents.width) / 2) - Float(extents.x),
            y: Float(-Double(extents.height) / 2) - Float(extents.y))
        gtk_snapshot_translate(snapshot, &origin)
        var white = GdkRGBA(.white)
        gtk_snapshot_append_layout(snapshot, layout, &white)
    }

    /// Returns GTK's font in bold, which the caller owns.
    private static func makeFont() -> OpaquePointer? {
        var name: String?
        if let settings = gtk_settings_get_default() {
            var value = GValue()
            g_object_get_property(ObjectPointer(settings).object, "gtk-font-name", &value)
            name = g_value_get_string(&value).map { String(cString: $0) }
            g_value_unset(&value)
        }
        let font = pango_font_description_from_string(name ?? "Sans")
        pango_font_description_set_weight(font, PANGO_WEIGHT_BOLD)
        return font
    }

    /// Draws a head and shoulders around the origin.
    private func drawFigure(into snapshot: OpaquePointer, side: Double) {
        for (y, diameter) in [(-0.12, 0.32), (0.46, 0.66)] {
            var white = GdkRGBA(.white)
            var square = graphene_rect_t(
                x: -side * diameter / 2, y: side * (y - diameter / 2), width: side * diameter, height: side * diameter)
            var circle = GskRoundedRect()
            gsk_rounded_rect_init_from_rect(&circle, &square, Float(side * diameter / 2))
            gtk_snapshot_push_rounded_clip(snapshot, &circle)
            gtk_snapshot_append_color(snapshot, &white, &square)
            gtk_snapshot_pop(snapshot)
        }
    }
}
