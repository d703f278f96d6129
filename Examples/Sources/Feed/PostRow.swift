import CGTK
import WebImageGTK

/// The widgets of a row, which shows one post after the other.
@MainActor final class PostRow {
    let widget: UnsafeMutablePointer<GtkWidget>
    /// The space around the content in points.
    nonisolated static let margin = 12.0

    /// The position of the post in the list; `nil` while the row is unused.
    private(set) var position: Int?

    private let box: UnsafeMutablePointer<GtkWidget> = gtk_box_new(GTK_ORIENTATION_VERTICAL, 8)
    private let avatar = WebPicture()
    private let author: UnsafeMutablePointer<GtkWidget> = gtk_label_new(nil)
    private let text: UnsafeMutablePointer<GtkWidget> = gtk_label_new(nil)
    private let image = WebPicture()
    private let retryButton: UnsafeMutablePointer<GtkWidget> = gtk_button_new_with_label("Try again")
    private var post: Post?
    private var hasImages = false

    init() {
        widget = makeColumn(around: box)
        avatar.fixedSize = PointSize(width: Post.avatarSide, height: Post.avatarSide)
        image.contentMode = .scaleAspectFill
        image.onLoadStateChange = { [retryButton] state in
            guard case .failed(let error) = state else { return gtk_widget_set_visible(retryButton, 0) }
            gtk_widget_set_tooltip_text(retryButton, error.description)
            gtk_widget_set_visible(retryButton, 1)
        }
        // The list scrolls to the row with the focus, which would move the button away from the pointer.
        gtk_widget_set_focus_on_click(retryButton, 0)
        connect(retryButton, "clicked") { [weak self] in self?.image.retry() }
        layOut()
    }

    func bind(to post: Post, at position: Int) {
        self.post = post
        self.position = position
        gtk_label_set_text(OpaquePointer(author), post.author)
        gtk_label_set_text(OpaquePointer(text), post.text)
        image.alternativeText = "Photograph by \(post.author)"
        // The row has its final height now, and does not move when the image arrives.
        image.naturalSize = post.imageSize
    }

    func unbind() {
        (post, position) = (nil, nil)
        releaseImages()
    }

    var isInSight: Bool { post != nil && gtk_widget_get_mapped(widget) != 0 }

    /// Loads the images when the row has come into sight, and releases them when it has left.
    func visibilityDidChange() {
        if isInSight { loadImages() } else { releaseImages() }
    }

    private func loadImages() {
        guard !hasImages, let post else { return }
        hasImages = true
        let scale = Double(gtk_widget_get_scale_factor(widget))
        avatar.setImage(post.avatarRequest(scale: scale), options: .fadeIn)
        image.setImage(post.imageRequest(scale: scale), placeholder: .blurHash(post.blurHash), options: .fadeIn)
    }

    /// Cancels the loads and shows nothing. Images that were loaded stay in the memory cache for a while.
    private func releaseImages() {
        guard hasImages else { return }
        hasImages = false
        avatar.prepareForReuse()
        image.prepareForReuse()
    }

    private func layOut() {
        let setMargins = [
            gtk_widget_set_margin_top, gtk_widget_set_margin_bottom, gtk_widget_set_margin_start,
            gtk_widget_set_margin_end,
        ]
        for set in setMargins { set(box, gint(Self.margin)) }
        let header: UnsafeMutablePointer<GtkWidget> = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 10)
        gtk_widget_add_css_class(author, "heading")
        gtk_box_append(cast(header), avatar.widget)
        gtk_box_append(cast(header), author)
        gtk_label_set_wrap(OpaquePointer(text), 1)
        gtk_label_set_xalign(OpaquePointer(text), 0)
        let overlay: UnsafeMutablePointer<GtkWidget> = gtk_overlay_new()
        gtk_overlay_set_child(OpaquePointer(overlay), image.widget)
        gtk_overlay_add_overlay(OpaquePointer(overlay), retryButton)
        gtk_widget_set_halign(retryButton, GTK_ALIGN_CENTER)
        gtk_widget_set_valign(retryButton, GTK_ALIGN_CENTER)
        gtk_widget_set_visible(retryButton, 0)
        for child in [header, text, overlay] { gtk_box_append(cast(box), child) }
    }
}
