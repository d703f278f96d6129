import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import ProgramSupport
import WebImageGTK

@MainActor extension ObjectPointer {
    /// Shows a `GtkFileChooserNative`, and calls `body` with the chosen files' ``location(ofFile:)``, if there are any.
    func chooseFiles(_ body: @escaping @MainActor ([String]) -> Void) {
        onResponse { [self] response in
            // GTK does not own a native dialog; the creator's reference keeps it until the answer.
            defer { g_object_unref(address) }
            guard response == Int(GTK_RESPONSE_ACCEPT.rawValue), let files = web_image_file_chooser_get_files(opaque)
            else { return }
            let list = ObjectPointer(files)
            defer { g_object_unref(list.address) }
            let locations = (0..<g_list_model_get_n_items(list.opaque)).compactMap { index -> String? in
                guard let file = g_list_model_get_item(list.opaque, index) else { return nil }
                defer { g_object_unref(file) }
                return Self.location(ofFile: OpaquePointer(file))
            }
            if !locations.isEmpty { body(locations) }
        }
        gtk_native_dialog_show(self.as())
    }

    /// Has a `GtkFileChooserNative` begin in a folder.
    ///
    /// - Parameter location: as ``location(ofFile:)`` returns it; empty for GTK's choice.
    func beginChoosing(in location: String) {
        guard !location.isEmpty, let file = g_file_new_for_commandline_arg(location) else { return }
        web_image_file_chooser_set_folder(opaque, file)
        g_object_unref(UnsafeMutableRawPointer(file))
    }

    /// Returns the path of a `GFile`, also where a device or a share is mounted; without one, its URL.
    static func location(ofFile file: OpaquePointer) -> String {
        guard let text = g_file_get_path(file) ?? g_file_get_uri(file) else { return "" }
        defer { g_free(text) }
        return SystemString(cString: text).location
    }
}

extension SystemString {
    /// The location as a text: a path that is not UTF-8 is a `file:` URL.
    var location: String { text ?? fileURL.absoluteString }
}
