import CWebImageAdwaita
import CWebImageGTK
import FoundationEssentials
import WebImageGTK

/// A pane that shows what is known about the load of one image.
@MainActor final class LoadInspector {
    let widget: ObjectPointer
    var onClose: () -> Void = {}
    /// Called to show the image of a URL again, with this policy.
    var onReload: (_ url: URL, _ policy: CachePolicy) -> Void = { _, _ in }

    private let session: GallerySession
    private let stack = ObjectPointer(gtk_stack_new()).expanding()
    private(set) var url: URL?

    init(session: GallerySession) {
        self.session = session
        let header = ObjectPointer(adw_header_bar_new()).set("show-start-title-buttons", false).set(
            "show-end-title-buttons", false)
        adw_header_bar_set_title_widget(header.opaque, adw_window_title_new("Inspector", ""))
        widget = ObjectPointer.column([header, stack]).sized(300, -1)
        let close = ObjectPointer.iconButton("window-close-symbolic", "Close the inspector") { [weak self] in
            self?.onClose()
        }
        adw_header_bar_pack_end(header.opaque, close.widget)
        let empty = ObjectPointer(adw_status_page_new()).set("icon-name", "dialog-information-symbolic")
            .set("title", "No image selected").set("description", "Select an image to see how it was loaded.")
        gtk_stack_add_named(stack.opaque, empty.widget, "empty")
    }

    /// Shows the newest load of a URL; `nil` for none.
    func show(_ url: URL?) { self.url = url }
}
