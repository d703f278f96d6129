import CWebImageAdwaita
import CWebImageGTK
import WebImageGTK

/// Says what is wrong with an image, and lets the user try again.
@MainActor final class FailureView {
    let widget = ObjectPointer(adw_status_page_new())
    var onRetry: () -> Void = {}

    init() {
        widget.set("icon-name", "dialog-error-symbolic").set("title", "Image not available").expanding()
        let button = ObjectPointer.button("_Try again") { [weak self] in self?.onRetry() }
        button.style("pill").style("suggested-action").aligned(GTK_ALIGN_CENTER)
        adw_status_page_set_child(widget.opaque, button.widget)
    }

    func show(_ error: WebImageError) { widget.set("description", "\(error)".escapedMarkup) }
}
