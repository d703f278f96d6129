/// The version of the library, its tool and the Gallery: the one place that states it.
///
/// `Scripts/version` reads it for the installed files, and `Scripts/lint` compares the changelog with it.
package enum LibraryVersion {
    package static let text = "0.3.0"
    /// The day of the release.
    package static let date = "2026-11-24"
}
