/// How a file is shown while it arrives.
enum PreviewStyle: Hashable, Sendable {
    /// Not blurred.
    case sharp
    /// Blurred if its first bytes show the whole image; otherwise not shown.
    case blurred
    /// Blurred if its first bytes show the whole image; otherwise not blurred.
    case blurredIfWhole
}
