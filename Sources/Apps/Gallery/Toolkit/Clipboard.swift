import CWebImageGTK
import FoundationEssentials
import GTKObjects
import WebImageGTK

/// Locations on the clipboard and in drops.
@MainActor enum Clipboard {
    static func copy(_ text: String, of widget: ObjectPointer) {
        gdk_clipboard_set_text(gtk_widget_get_clipboard(widget.widget), text)
    }

    /// Calls `body` with the files or links on the clipboard; with nothing if it has others.
    static func readLocations(of widget: ObjectPointer, _ body: @escaping @MainActor ([String]) -> Void) {
        let clipboard = gtk_widget_get_clipboard(widget.widget)
        let formats = gdk_clipboard_get_formats(clipboard)
        let hasFiles = gdk_content_formats_contain_gtype(formats, gdk_file_list_get_type()) != 0
        let handler = Unmanaged.passRetained(SignalHandler(body)).toOpaque()
        gdk_clipboard_read_value_async(
            clipboard, hasFiles ? gdk_file_list_get_type() : String.type, G_PRIORITY_DEFAULT, nil,
            { clipboard, result, data in
                onMainThread((clipboard, result, data)) { clipboard, result, data in
                    guard let clipboard, let data else { return }
                    let handler = Unmanaged<SignalHandler<@MainActor ([String]) -> Void>>.fromOpaque(data)
                    defer { handler.release() }
                    let value = gdk_clipboard_read_value_finish(OpaquePointer(clipboard), result, nil)
                    handler.takeUnretainedValue().body(value.flatMap { Clipboard.locations(in: $0) } ?? [])
                }
            }, handler)
    }

    /// Returns the locations in a file list or text; `nil` for other values.
    static func locations(in value: UnsafePointer<GValue>) -> [String]? {
        if g_type_check_value_holds(value, gdk_file_list_get_type()) != 0 {
            var locations: [String] = []
            var next = g_value_get_boxed(value)?.assumingMemoryBound(to: GSList.self)
            while let entry = next {
                if let file = entry.pointee.data {
                    locations.append(ObjectPointer.location(ofFile: OpaquePointer(file)))
                }
                next = entry.pointee.next
            }
            return locations
        }
        guard g_type_check_value_holds(value, String.type) != 0 else { return nil }
        return locations(in: String.load(from: value))
    }

    /// The paths and links in a text, one a line. Other lines are left out.
    static func locations(in text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).map { String($0).trimmed }.filter { line in
            line.hasPrefix("/") || line.hasPrefix("file:") || URL.remote(line) != nil
        }
    }
}
