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
        choose(localized("Open files"), GTK_FILE_CHOOSER_ACTION_OPEN, body)
    }

    func chooseFolder(_ body: @escaping @MainActor (String) -> Void) {
        choose(localized("Open folder"), GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER) {
            if let folder = $0.first { body(folder) }
        }
    }

    private func choose(
        _ title: String, _ action: GtkFileChooserAction, _ body: @escaping @MainActor ([String]) -> Void
    ) {
        let chooser = ObjectPointer(
            web_image_file_chooser_new(title, window.as(), action, localized("_Open"), localized("_Cancel")))
        web_image_file_chooser_set_select_multiple(chooser.opaque, action == GTK_FILE_CHOOSER_ACTION_OPEN ? 1 : 0)
        chooser.beginChoosing(in: session.settings.values.lastFolder)
        chooser.chooseFiles(body)
    }

    /// Asks for a URL or path.
    func askForLocation(_ body: @escaping @MainActor (String) -> Void) {
        let entry = TextDialog.ask(
            over: window, localized("Open location"),
            localized("An image, a folder, a list of links, or a web page with images"), localized("Location"),
            localized("_Open"), body
        )
        entry.set("placeholder-text", "https://example.org/photo.jpg")
        gtk_entry_set_input_purpose(entry.as(), GTK_INPUT_PURPOSE_URL)
    }

    /// Asks for the new name of a file.
    func askForName(of file: URL, _ body: @escaping @MainActor (String) -> Void) {
        let name = file.displayName
        let entry = TextDialog.ask(
            over: window, localized("Rename"), localized("The new name of {file}", ["file": file.displayName]),
            localized("Name"), localized("_Rename"), body
        ).set("text", name)
        // The ending stays, if the user just writes.
        let stem = name.lastIndex(of: ".").map { name[..<$0].unicodeScalars.count } ?? -1
        gtk_editable_select_region(entry.opaque, 0, gint(stem))
    }

    func showAbout() {
        let about = ObjectPointer(adw_about_window_new())
            .set("application-name", localized("Gallery")).set("application-icon", GalleryIcon.icon)
            .set("version", LibraryVersion.text).set("developer-name", localized("The swift-web-image developers"))
            .set(
                "comments",
                localized(
                    "An image viewer that shows where pixels come from: which cache had the image, what a server sent, and how long each step took."
                )
            )
            .set("copyright", localized("© 2026 the swift-web-image developers"))
        about.set("license-type", Int(GTK_LICENSE_MIT_X11.rawValue))
        gtk_window_set_transient_for(about.as(), window.as())
        gtk_window_present(about.as())
    }
}
