import CWebImageGTK
import GTKObjects
import WebImageGTK

/// The style sheet of what libadwaita has no style for.
enum GalleryStyle {
    @MainActor static func add(to display: OpaquePointer?) {
        guard let display else { return }
        let style: UnsafeMutablePointer<GtkCssProvider> = gtk_css_provider_new()
        web_image_css_provider_load(style, text)
        // 600: GTK_STYLE_PROVIDER_PRIORITY_APPLICATION
        gtk_style_context_add_provider_for_display(display, ObjectPointer(style).opaque, 600)
        g_object_unref(style)
    }

    private static let text = """
        .photo { border-radius: \(PhotoCell.cornerRadius)px; }
        .photo.selected { color: @accent_bg_color; }
        .photo:focus-visible { outline: 3px solid @accent_color; outline-offset: -3px; }
        .photo .failure { border-radius: 0; color: @error_color; }
        .photo-canvas.on-black { background: black; }
        .photo-canvas.on-gray { background: #777; }
        .photo-canvas.on-white { background: white; }
        .photo-canvas.on-checkerboard {
            background-color: #999;
            background-image:
                linear-gradient(45deg, #666 25%, transparent 25%, transparent 75%, #666 75%),
                linear-gradient(45deg, #666 25%, transparent 25%, transparent 75%, #666 75%);
            background-size: 24px 24px;
            background-position: 0 0, 12px 12px;
        }
        .image-frame { background-color: alpha(currentColor, 0.08); border-radius: 6px; }
        /* As in a dark room. */
        .photo-canvas.immersive { background: black; }
        .picture-button { padding: 0; }
        .alps { background-color: mix(@window_bg_color, #8ff0a4, 0.12); }
        /* Above the viewer's controls. */
        .photo-viewer toast { margin-bottom: 96px; }
        map-marker { border-radius: 50%; }
        map-marker:focus-visible { outline: 3px solid @accent_color; outline-offset: 2px; }
        """
}
