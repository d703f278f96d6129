import CWebImageGTK
import FoundationEssentials
import WebImageGTK

/// The application's icon: that of the desktop, or the program's own until it is installed.
@MainActor enum GalleryIcon {
    /// The application's identifier: the name of its icon, of its desktop file and of its windows. The project has no domain of its own:
    /// `alt` is for names outside of the domain name system (RFC 9476).
    static let identifier = "alt.swift_web_image.Gallery"

    /// The application's icon; that of images if it cannot be shown.
    static var icon: String { available(identifier, orElse: "image-x-generic") }

    /// The application's icon in one color; that of images if it cannot be shown.
    static var symbolicIcon: String { available(identifier + "-symbolic", orElse: "image-x-generic-symbolic") }

    private static func available(_ name: String, orElse other: String) -> String {
        guard let display = gdk_display_get_default(), let theme = gtk_icon_theme_get_for_display(display) else {
            return other
        }
        if gtk_icon_theme_has_icon(theme, name) == 0, let ownFolder { gtk_icon_theme_add_search_path(theme, ownFolder) }
        return gtk_icon_theme_has_icon(theme, name) != 0 ? name : other
    }

    /// A folder with the program's own icons, as themes have them: GTK reads icons from files. `nil` if it cannot be written.
    private static let ownFolder: String? = {
        let folder = URL(filePath: String(cString: g_get_user_cache_dir())).appending(path: "webimage-gallery/icons")
        for (path, content) in [
            ("scalable/apps/\(identifier).svg", PackageResources.gallery_svg),
            ("symbolic/apps/\(identifier)-symbolic.svg", PackageResources.gallery_symbolic_svg),
        ] {
            let file = folder.appending(path: "hicolor/\(path)")
            do {
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(content).write(to: file, options: .atomic)
            } catch {
                return nil
            }
        }
        return folder.path(percentEncoded: false)
    }()
}
