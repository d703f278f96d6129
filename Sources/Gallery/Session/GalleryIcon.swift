import CWebImageGTK
import WebImageGTK

/// The icon that the desktop has for the application.
@MainActor enum GalleryIcon {
    /// The application's identifier: the name of its icon, of its desktop file and of its windows.
    static let identifier = "io.github.swift_web_image.Gallery"

    /// The application's icon in one color. It is not there until the program is installed.
    static var symbolicIcon: String {
        let name = identifier + "-symbolic"
        let theme = gdk_display_get_default().map { gtk_icon_theme_get_for_display($0) }
        return theme.map { gtk_icon_theme_has_icon($0, name) != 0 } == true ? name : "image-x-generic-symbolic"
    }
}
