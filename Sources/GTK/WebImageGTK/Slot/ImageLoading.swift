/// When a view loads its image.
public enum ImageLoading: Sendable, Hashable {
    /// While the view is mapped, and less than a page away from the visible area of each `GtkScrolledWindow` around it.
    /// A view on a hidden page of a `GtkStack`, or in no window, does not load.
    ///
    /// Cells of a `GtkListView` or `GtkGridView` load as with ``eager``, because a list binds only the items near its
    /// visible area.
    case lazy
    /// At once, with a low priority until the view is mapped.
    case eager
}
