import CGTK
import WebImageGTK

/// The feed of photographs in Swift: swift run --package-path Examples LanguagesFeed http://127.0.0.1:8000
@main
enum Program {
    @MainActor static func main() {
        guard CommandLine.arguments.count == 2,
            let application = gtk_application_new("org.example.Feed", G_APPLICATION_DEFAULT_FLAGS)
        else { return print("Usage: LanguagesFeed ADDRESS") }
        MainLoop.install()
        let call = unsafeBitCast(didActivate, to: GCallback.self)
        g_signal_connect_data(application, "activate", call, nil, nil, GConnectFlags(rawValue: 0))
        g_application_run(UnsafeMutablePointer(OpaquePointer(application)), 0, nil)
        g_object_unref(application)
    }

    private static let didActivate: @convention(c) (gpointer, gpointer?) -> Void = { application, _ in
        nonisolated(unsafe) let application = application
        MainActor.assumeIsolated { activate(application.assumingMemoryBound(to: GtkApplication.self)) }
    }

    /// Makes the widget of a cell, which shows one photograph after the other.
    @MainActor private static func setUp(_ picture: WebPicture) -> UnsafeMutablePointer<GtkWidget> {
        gtk_widget_set_size_request(picture.widget, 180, 135)
        gtk_widget_add_css_class(picture.widget, "photo")
        gtk_widget_set_overflow(picture.widget, GTK_OVERFLOW_HIDDEN)
        gtk_picture_set_content_fit(OpaquePointer(picture.widget), GTK_CONTENT_FIT_COVER)
        picture.decodesAtDisplaySize = true
        picture.retriesOnTap = true
        return picture.widget
    }

    @MainActor private static func activate(_ application: UnsafeMutablePointer<GtkApplication>) {
        let style: UnsafeMutablePointer<GtkCssProvider> = gtk_css_provider_new()
        css_provider_load(style, ".photo { border-radius: 8px; }")
        gtk_style_context_add_provider_for_display(gdk_display_get_default(), OpaquePointer(style), 600)

        let photos = (0..<200).map { "\(CommandLine.arguments[1])/\(String(1000 + $0).dropFirst()).jpg" }
        let model = gtk_string_list_new(nil)
        for photo in photos { gtk_string_list_append(model, photo) }
        let factory = WebPicture.makeListItemFactory(makeCell: setUp) { picture, position, _ in
            // That of the item before never appears.
            picture.setImage(
                photos[position], placeholder: .blurHash("LEHV6nWB2yk8pyo0adR*.7kCMdnj"), options: .fadeIn)
        }
        let grid: UnsafeMutablePointer<GtkWidget> = gtk_grid_view_new(gtk_no_selection_new(model), factory)
        gtk_grid_view_set_min_columns(OpaquePointer(grid), 4)
        gtk_grid_view_set_max_columns(OpaquePointer(grid), 4)

        let window: UnsafeMutablePointer<GtkWidget> = gtk_application_window_new(application)
        let scrolled: UnsafeMutablePointer<GtkWidget> = gtk_scrolled_window_new()
        gtk_scrolled_window_set_child(OpaquePointer(scrolled), grid)
        let windowObject = UnsafeMutablePointer<GtkWindow>(OpaquePointer(window))
        gtk_window_set_title(windowObject, "Photos")
        gtk_window_set_default_size(windowObject, 800, 700)
        gtk_window_set_child(windowObject, scrolled)
        gtk_window_present(windowObject)
    }
}
