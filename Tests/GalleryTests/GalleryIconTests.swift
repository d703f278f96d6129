import CWebImageAdwaita
import CWebImageGTK
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// The application's icon in the window About and on empty pages.
final class GalleryIconTests: GTKTestCase {
    func testThereIsAnIconWithoutBeingInstalled() throws {
        try MainActor.assumeIsolated {
            adw_init()
            let display = try XCTUnwrap(gdk_display_get_default())
            let theme = try XCTUnwrap(gtk_icon_theme_get_for_display(display))
            for icon in [GalleryIcon.icon, GalleryIcon.symbolicIcon] {
                XCTAssertNotEqual(gtk_icon_theme_has_icon(theme, icon), 0, "\(icon) is not in the theme")
            }
            let isInstalled = gtk_icon_theme_has_icon(theme, GalleryIcon.identifier) != 0
            XCTAssertEqual(GalleryIcon.icon == GalleryIcon.identifier, isInstalled)
        }
    }

    /// Names in the domain name system belong to whoever has registered them.
    func testTheIdentifierIsValidAndNamesNoDomain() {
        MainActor.assumeIsolated {
            XCTAssertNotEqual(g_application_id_is_valid(GalleryIcon.identifier), 0)
            XCTAssertTrue(GalleryIcon.identifier.hasPrefix("alt."))
        }
    }
}
