import CWebImageAdwaita
import CWebImageGTK
import WebImageGTK

/// Charts of what the loads have cost, and what the caches have saved.
@MainActor final class StatisticsPage {
    let widget = ObjectPointer(gtk_stack_new()).expanding()
    private let session: GallerySession

    init(session: GallerySession) {
        self.session = session
        let empty = ObjectPointer(adw_status_page_new()).set("icon-name", "power-profile-performance-symbolic")
            .set("title", "No loads yet").set("description", "Open images to see what the caches save.")
        gtk_stack_add_named(widget.opaque, empty.widget, "empty")
    }
}
