public import CWebImageGTK

extension GtkStateFlags {
    /// Whether a view with these flags shows its highlighted image: the pointer is over it or presses it, or it is
    /// selected or checked.
    public var areHighlighting: Bool {
        let flags =
            GTK_STATE_FLAG_PRELIGHT.rawValue | GTK_STATE_FLAG_ACTIVE.rawValue | GTK_STATE_FLAG_SELECTED.rawValue
            | GTK_STATE_FLAG_CHECKED.rawValue
        return rawValue & flags != 0
    }
}
