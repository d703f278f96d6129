public import CWebImageGTK
public import FoundationEssentials
internal import GTKObjects
public import WebImage

extension Image {
    /// Returns a `GdkContentProvider` of the image, for the clipboard or a drag: pixels as a `GdkTexture`, which GTK also offers as PNG, and the
    /// location of the image, which is a file for file managers or a link. The caller owns it.
    ///
    /// ```swift
    /// let content = image.makeContentProvider(location: url)
    /// gdk_clipboard_set_content(gtk_widget_get_clipboard(widget), content)
    /// g_object_unref(UnsafeMutableRawPointer(content))
    /// ```
    ///
    /// - Parameter location: a `file:`, `http:` or `https:` URL. `nil`, the default, and others, such as `data:`, offer pixels only.
    @MainActor public func makeContentProvider(location: URL? = nil) -> UnsafeMutablePointer<GdkContentProvider>? {
        let texture = ObjectPointer(makeTexture())
        defer { g_object_unref(texture.address) }
        var value = GValue()
        g_value_init(&value, gdk_texture_get_type())
        g_value_set_object(&value, texture.address)
        defer { g_value_unset(&value) }
        let pixels = gdk_content_provider_new_for_value(&value)
        guard let location = location.flatMap(Self.makeContentProvider) else { return pixels }
        // Programs that take both, such as file managers, take the first.
        var providers: [UnsafeMutablePointer<GdkContentProvider>?] = [location, pixels]
        return gdk_content_provider_new_union(&providers, gsize(providers.count))
    }

    private static func makeContentProvider(of url: URL) -> UnsafeMutablePointer<GdkContentProvider>? {
        switch url.scheme {
        case "file":
            var files: [OpaquePointer?] = [g_file_new_for_uri(url.absoluteString)]
            defer { for file in files { file.map { g_object_unref(UnsafeMutableRawPointer($0)) } } }
            var value = GValue()
            g_value_init(&value, gdk_file_list_get_type())
            g_value_take_boxed(&value, gdk_file_list_new_from_array(&files, 1).map { UnsafeMutableRawPointer($0) })
            defer { g_value_unset(&value) }
            return gdk_content_provider_new_for_value(&value)
        case "http", "https":
            let text = "\(url.absoluteString)\r\n"
            let bytes = g_bytes_new(text, gsize(text.utf8.count))
            defer { g_bytes_unref(bytes) }
            return gdk_content_provider_new_for_bytes("text/uri-list", bytes)
        default:
            return nil
        }
    }
}
