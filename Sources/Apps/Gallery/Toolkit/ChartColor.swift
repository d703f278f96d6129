import CWebImageGTK
import GTKObjects
import WebImageGTK

/// The colors of charts, from GNOME's palette: a lighter one on dark backgrounds.
enum ChartColor: Sendable {
    case blue, green, yellow, orange, red, purple, brown, gray

    private var codes: (light: UInt32, dark: UInt32) {
        switch self {
        case .blue: (0x1C71D8, 0x62A0EA)
        case .green: (0x26A269, 0x57E389)
        case .yellow: (0xC88800, 0xF8E45C)
        case .orange: (0xE66100, 0xFFA348)
        case .red: (0xC01C28, 0xF66151)
        case .purple: (0x813D9C, 0xC882DA)
        case .brown: (0x865E3C, 0xCDAB8F)
        case .gray: (0x77767B, 0x9A9996)
        }
    }

    func color(isDark: Bool, alpha: Float = 1) -> GdkRGBA {
        let code = isDark ? codes.dark : codes.light
        func part(_ shift: UInt32) -> Float { Float(code >> shift & 0xFF) / 255 }
        return GdkRGBA(red: part(16), green: part(8), blue: part(0), alpha: alpha)
    }
}

@MainActor extension Canvas {
    /// Whether the theme has light text on a dark background.
    var isDark: Bool {
        let color = textColor
        return color.red + color.green + color.blue > 1.5
    }

    func color(_ color: ChartColor, alpha: Float = 1) -> GdkRGBA { color.color(isDark: isDark, alpha: alpha) }

    /// The color of text, lighter for lines and labels that are less important.
    func dimTextColor(_ alpha: Float = 0.55) -> GdkRGBA {
        var color = textColor
        color.alpha *= alpha
        return color
    }

    /// Fills a rectangle.
    ///
    /// - Parameter radius: of the corners.
    func fill(
        _ x: Double, _ y: Double, _ width: Double, _ height: Double, _ color: GdkRGBA, radius: Double = 0,
        in snapshot: OpaquePointer
    ) {
        guard width > 0, height > 0 else { return }
        var area = graphene_rect_t(
            origin: graphene_point_t(x: Float(x), y: Float(y)),
            size: graphene_size_t(width: Float(width), height: Float(height)))
        var color = color
        guard radius > 0 else { return gtk_snapshot_append_color(snapshot, &color, &area) }
        var outline = GskRoundedRect()
        gsk_rounded_rect_init_from_rect(&outline, &area, Float(min(radius, width / 2, height / 2)))
        gtk_snapshot_push_rounded_clip(snapshot, &outline)
        gtk_snapshot_append_color(snapshot, &color, &area)
        gtk_snapshot_pop(snapshot)
    }

    /// Draws one line of text.
    ///
    /// - Parameter anchor: which part of the text is at `x`: 0 its start, 1 its end.
    func drawText(
        _ text: String, x: Double, y: Double, anchor: Double = 0, _ color: GdkRGBA, in snapshot: OpaquePointer
    ) {
        let layout = ObjectPointer(gtk_widget_create_pango_layout(widget.widget, text))
        defer { g_object_unref(layout.address) }
        var (textWidth, textHeight): (gint, gint) = (0, 0)
        pango_layout_get_pixel_size(layout.opaque, &textWidth, &textHeight)
        let start = max(0, min(x - anchor * Double(textWidth), Double(width) - Double(textWidth)))
        var (color, origin) = (color, graphene_point_t(x: Float(start), y: Float(y)))
        gtk_snapshot_save(snapshot)
        gtk_snapshot_translate(snapshot, &origin)
        gtk_snapshot_append_layout(snapshot, layout.opaque, &color)
        gtk_snapshot_restore(snapshot)
    }

    /// The height of a line of text in points.
    var lineHeight: Double {
        let layout = ObjectPointer(gtk_widget_create_pango_layout(widget.widget, "0"))
        defer { g_object_unref(layout.address) }
        var height: gint = 0
        pango_layout_get_pixel_size(layout.opaque, nil, &height)
        return Double(height)
    }
}
