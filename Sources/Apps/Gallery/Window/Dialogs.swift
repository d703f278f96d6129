import CWebImageAdwaita
import CWebImageGTK
import FoundationEssentials
import GTKObjects
import WebImageGTK

/// The dialogs that ask for a location, and the about window.
@MainActor final class Dialogs {
    let window: ObjectPointer
    let session: GallerySession

    init(window: ObjectPointer, session: GallerySession) { (self.window, self.session) = (window, session) }

    func chooseFiles(_ body: @escaping @MainActor ([String]) -> Void) {
        choose("Open files", GTK_FILE_CHOOSER_ACTION_OPEN, body)
    }

    func chooseFolder(_ body: @escaping @MainActor (String) -> Void) {
        choose("Open folder", GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER) { if let folder = $0.first { body(folder) } }
    }

    private func choose(
        _ title: String, _ action: GtkFileChooserAction, _ body: @escaping @MainActor ([String]) -> Void
    ) {
        let chooser = ObjectPointer(web_image_file_chooser_new(title, window.as(), action, "_Open", "_Cancel"))
        web_image_file_chooser_set_select_multiple(chooser.opaque, action == GTK_FILE_CHOOSER_ACTION_OPEN ? 1 : 0)
        chooser.chooseFiles(body)
    }

    /// Asks for a URL or path.
    func askForLocation(_ body: @escaping @MainActor (String) -> Void) {
        let entry = ask(
            "Open location", "An image, a folder, a list of links, or a web page with images", "Location", "_Open", body
        )
        entry.set("placeholder-text", "https://example.org/photo.jpg")
        gtk_entry_set_input_purpose(entry.as(), GTK_INPUT_PURPOSE_URL)
    }

    /// Asks for the new name of a file.
    func askForName(of file: URL, _ body: @escaping @MainActor (String) -> Void) {
        let name = file.displayName
        let entry = ask("Rename", "The new name of \(file.displayName)", "Name", "_Rename", body).set("text", name)
        // The ending stays, if the user just writes.
        let stem = name.lastIndex(of: ".").map { name[..<$0].unicodeScalars.count } ?? -1
        gtk_editable_select_region(entry.opaque, 0, gint(stem))
    }

    /// Asks for a text. Returns its entry.
    private func ask(
        _ title: String, _ explanation: String, _ label: String, _ confirmation: String,
        _ body: @escaping @MainActor (String) -> Void
    ) -> ObjectPointer {
        let dialog = ObjectPointer(
            adw_message_dialog_new(window.as(), nil, nil))
        dialog.set("title", title)
        // libadwaita 1.7 measures a heading of its own at widths that are too narrow for it, and GTK warns.
        let heading = ObjectPointer.label(title, "title-2")
        let explanation = ObjectPointer.label(explanation)
        for label in [heading, explanation] { label.set("xalign", 0.5).set("justify", 2) }
        let entry = ObjectPointer(gtk_entry_new()).set("activates-default", true)
        entry.setAccessibleLabel(label)
        let content = ObjectPointer.column(spacing: 12, [heading, explanation, entry])
        adw_message_dialog_set_extra_child(dialog.as(), content.widget)
        for (name, title) in [("cancel", "_Cancel"), ("open", confirmation)] {
            adw_message_dialog_add_response(dialog.as(), name, title)
        }
        adw_message_dialog_set_response_appearance(dialog.as(), "open", ADW_RESPONSE_SUGGESTED)
        adw_message_dialog_set_default_response(dialog.as(), "open")
        adw_message_dialog_set_close_response(dialog.as(), "cancel")
        dialog.onText("response") { response in
            let text = entry.get("text", as: String.self).trimmed
            if response == "open", !text.isEmpty { body(text) }
        }
        gtk_window_present(dialog.as())
        gtk_widget_grab_focus(entry.widget)
        return entry
    }

    func showAbout() {
        let about = ObjectPointer(adw_about_window_new())
            .set("application-name", "Gallery").set("application-icon", GalleryIcon.icon)
            .set("version", LibraryVersion.text).set("developer-name", "The swift-web-image developers")
            .set(
                "comments",
                "An image viewer that shows where pixels come from: which cache had the image, what a server sent, and how long each step took."
            )
            .set("copyright", "© 2026 the swift-web-image developers")
        about.set("license-type", Int(GTK_LICENSE_MIT_X11.rawValue))
        gtk_window_set_transient_for(about.as(), window.as())
        gtk_window_present(about.as())
    }
}

@MainActor extension ObjectPointer {
    /// Calls `body` with the text that is the only argument of a signal.
    func onText(_ signal: String, _ body: @escaping @MainActor (String) -> Void) {
        let trampoline: @convention(c) (gpointer, UnsafePointer<CChar>?, gpointer) -> Void = { _, text, data in
            let text = text.map { String(cString: $0) } ?? ""
            SignalHandler<(String) -> Void>.with(data) { $0(text) }
        }
        connect(signal, SignalHandler(body), unsafeBitCast(trampoline, to: GCallback.self))
    }
}
