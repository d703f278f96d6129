import CWebImageGTK
import WebImageGTK

/// The icon that the desktop has for the application.
@MainActor enum GalleryIcon {
    /// The application's identifier: the name of its icon, of its desktop file and of its windows. The project has no domain of its own:
    /// `alt` is for names outside of the domain name system (RFC 9476).
    static let identifier = "alt.swift_web_image.Gallery"

    /// The application's icon; that of images until the program is installed.
    static var icon: String { available(identifier, orElse: "image-x-generic") }

    /// The application's icon in one color; that of images until the program is installed.
    static var symbolicIcon: String { available(identifier + "-symbolic", orElse: "image-x-generic-symbolic") }

    private static func available(_ name: String, orElse other: String) -> String {
        let theme = gdk_display_get_default().map { gtk_icon_theme_get_for_display($0) }
        return theme.map { gtk_icon_theme_has_icon($0, name) != 0 } == true ? name : other
    }
}
