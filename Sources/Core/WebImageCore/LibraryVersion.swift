// `Scripts/version` reads it for the installed files, and `Scripts/lint` compares the changelog with it.

/// The version of the library and of its programs.
///
/// ```swift
/// print("swift-web-image \(LibraryVersion.text)")
/// ```
public enum LibraryVersion {
    /// Three numbers, such as `0.3.0`.
    public static let text = "0.3.0"
    /// The day of the release, such as `2026-11-24`.
    public static let date = "2026-11-24"
}
