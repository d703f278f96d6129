/// How a file is shown that is arriving.
enum PreviewStyle: Hashable, Sendable {
    /// As it is.
    case sharp
    /// Blurred, where its first bytes show the whole picture; others not at all.
    case blurred
    /// Blurred, where its first bytes show the whole picture; others as they are.
    case blurredIfWhole
}
