/// How a file is shown while it arrives.
struct PreviewStyle: Hashable, Sendable {
    enum Content: Hashable, Sendable {
        /// Not blurred.
        case sharp
        /// Blurred if its first bytes show the whole image; otherwise not shown.
        case blurred
        /// Blurred if its first bytes show the whole image; otherwise not blurred.
        case blurredIfWhole
    }

    /// How what has arrived is shown; `nil` for not at all.
    var content: Content?
    /// Whether the thumbnail in the file is shown first.
    var showsThumbnail = false
}
