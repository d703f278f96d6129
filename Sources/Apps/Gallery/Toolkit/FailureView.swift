import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

/// Says what is wrong, in place of the images, and lets the user try again.
@MainActor final class FailureView {
    let widget = ObjectPointer(adw_status_page_new())
    var onRetry: () -> Void = {}

    init(_ title: String = localized("Image not available")) {
        widget.set("icon-name", "dialog-error-symbolic").set("title", title).expanding()
        let button = ObjectPointer.button(localized("_Try again")) { [weak self] in self?.onRetry() }
        button.style("pill").style("suggested-action").aligned(GTK_ALIGN_CENTER)
        adw_status_page_set_child(widget.opaque, button.widget)
    }

    func show(_ error: WebImageError) { show(error.userDescription) }

    func show(_ sentence: String) { widget.set("description", sentence.escapedMarkup) }
}
