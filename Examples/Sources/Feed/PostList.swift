import CGTK
import WebImageGTK

/// A scrolling list of posts.
@MainActor final class PostList {
    let widget: UnsafeMutablePointer<GtkWidget> = gtk_scrolled_window_new()

    private let posts: [Post]
    private let prefetcher: PostPrefetcher
    /// The rows by `GtkListItem`. GTK makes about 200, many more than are in sight, and uses them for all posts.
    private var rows: [OpaquePointer: PostRow] = [:]

    init(_ posts: [Post]) {
        self.posts = posts
        prefetcher = PostPrefetcher(posts, scale: Double(gtk_widget_get_scale_factor(widget)))
        // GTK's model only counts the posts.
        let model = gtk_string_list_new(nil)
        for post in posts { gtk_string_list_append(model, post.author) }
        let list: UnsafeMutablePointer<GtkWidget> = gtk_list_view_new(gtk_no_selection_new(model), makeFactory())
        // Otherwise rows get the smallest height they can have, without their images.
        gtk_scrollable_set_vscroll_policy(OpaquePointer(list), GTK_SCROLL_NATURAL)
        gtk_scrolled_window_set_policy(OpaquePointer(widget), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
        gtk_scrolled_window_set_child(OpaquePointer(widget), list)
        connect(widget, "realize") { [weak self] in
            guard let self, let clock = gtk_widget_get_frame_clock(widget) else { return }
            connect(UnsafeMutableRawPointer(clock), "layout") { [weak self] in self?.didLayOut() }
        }
    }

    private func makeFactory() -> OpaquePointer? {
        guard let factory = gtk_signal_list_item_factory_new() else { return nil }
        let object = UnsafeMutableRawPointer(factory)
        connect(object, "setup") { [weak self] item in
            let row = PostRow()
            gtk_list_item_set_activatable(item, 0)
            gtk_list_item_set_selectable(item, 0)
            gtk_list_item_set_child(item, row.widget)
            self?.rows[item] = row
        }
        connect(object, "bind") { [weak self] item in
            guard let self else { return }
            let position = Int(gtk_list_item_get_position(item))
            rows[item]?.bind(to: posts[position], at: position)
        }
        connect(object, "unbind") { [weak self] item in self?.rows[item]?.unbind() }
        connect(object, "teardown") { [weak self] item in self?.rows[item] = nil }
        return factory
    }

    /// Loads images for the rows in sight. Before the layout, which ends each change of the list and each step of
    /// scrolling, all rows count as mapped.
    private func didLayOut() {
        for row in rows.values { row.visibilityDidChange() }
        prefetcher.visiblePositionsDidChange(to: rows.values.filter(\.isInSight).compactMap(\.position))
    }
}
