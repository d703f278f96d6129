import CWebImageAdwaita
import CWebImageGTK
import Foundation
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// The application's icon in the window About and on empty pages.
final class GalleryIconTests: GTKTestCase {
    func testTheProgramHasItsIconsWithoutBeingInstalled() throws {
        try MainActor.assumeIsolated {
            adw_init()
            let display = try XCTUnwrap(gdk_display_get_default())
            let theme = try XCTUnwrap(gtk_icon_theme_get_for_display(display))
            XCTAssertEqual(GalleryIcon.icon, GalleryIcon.identifier)
            XCTAssertEqual(GalleryIcon.symbolicIcon, GalleryIcon.identifier + "-symbolic")
            let packaging = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Packaging")
            for (icon, name) in [(GalleryIcon.icon, "gallery.svg"), (GalleryIcon.symbolicIcon, "gallery-symbolic.svg")]
            {
                let found = ObjectPointer(
                    try XCTUnwrap(
                        gtk_icon_theme_lookup_icon(
                            theme, icon, nil, 64, 1, GTK_TEXT_DIR_NONE, GtkIconLookupFlags(rawValue: 0))))
                defer { g_object_unref(found.address) }
                let file = ObjectPointer(try XCTUnwrap(gtk_icon_paintable_get_file(found.opaque)))
                defer { g_object_unref(file.address) }
                let path = try XCTUnwrap(g_file_get_path(file.opaque))
                defer { g_free(path) }
                XCTAssertEqual(
                    try Data(contentsOf: URL(filePath: String(cString: path))),
                    try Data(contentsOf: packaging.appending(path: name)), name)
            }
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
