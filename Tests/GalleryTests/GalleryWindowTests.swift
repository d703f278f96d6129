import CWebImageAdwaita
import CWebImageGTK
import Foundation
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK
@testable import WebImage

/// What the window does with its parts: the grid, the viewer and the inspector.
final class GalleryWindowTests: GTKTestCase {
    func testTheViewerIsLeftForItsImageInTheGrid() throws {
        try WindowFixture.withImages { fixture in
            let window = fixture.window
            window.view(0)
            pump("the viewer") { window.shownPage == "viewer" && window.isSettled }
            fixture.run("viewer-next")
            pump("the next image") { window.isSettled }
            fixture.run("viewer-back")
            pump("the grid") { window.shownPage == "photos" && window.photos.grid.current == 1 }
            let cell = try XCTUnwrap(window.photos.grid.cell(of: fixture.urls[1]))
            pump("the focus") { gtk_widget_has_focus(cell.widget.widget) != 0 }
            // The actions of the viewer are those of the next visit.
            window.view(2)
            pump("the viewer again") { window.shownPage == "viewer" && window.isSettled }
        }
    }

    func testTheViewerIsLeftWhenAllImagesAreClosed() throws {
        try WindowFixture.withImages { fixture in
            let window = fixture.window
            window.view(0)
            window.inspect()
            pump("the viewer") { window.shownPage == "viewer" && window.isSettled }
            window.session.collection.replace(with: [])
            pump("the empty page") { window.shownPage == "photos" && window.isSettled }
        }
    }

    func testTheInspectorOpensOverTheImagesOfANarrowWindow() throws {
        try WindowFixture.withImages(width: 400) { fixture in
            let window = fixture.window
            window.inspect()
            pump("the folding") { window.flap.get("folded") && window.flap.get("reveal-progress") == 1.0 }
            XCTAssertTrue(window.flap.get("reveal-flap"))
        }
    }

    func testTheKeysOfThePhotosAreThoseOfTheirPageOnly() throws {
        try WindowFixture.withImages { fixture in
            let window = fixture.window
            let actions = window.photos.actions
            XCTAssertTrue(
                actions.allSatisfy { $0.keys.isEmpty }, "the inspector's texts have Ctrl+C and Ctrl+A too")
            XCTAssertTrue(actions.allSatisfy { !$0.pageKeys.isEmpty }, "the shortcuts window lists each")
            window.photos.grid.setCurrent(1, focusing: true)
            fixture.run("toggle-selection")
            XCTAssertEqual(Array(window.photos.grid.selection.ranges), [1..<2])
            fixture.run("select-all")
            XCTAssertEqual(Array(window.photos.grid.selection.ranges), [0..<3])
            fixture.run("select-none")
            XCTAssertTrue(window.photos.grid.selection.isEmpty)
            fixture.run("view")
            pump("the viewer") { window.shownPage == "viewer" && window.isSettled }
        }
    }

    func testTheSwitcherOfPagesIsThereOnlyWhileDevelopersNeedIt() throws {
        try WindowFixture.withImages { fixture in
            XCTAssertFalse(fixture.window.hasSwitcher)
            for page in ["page-statistics", "page-learn"] {
                fixture.run(page)
                pump(page) { "page-\(fixture.window.shownPage)" == page }
                XCTAssertTrue(fixture.window.hasSwitcher)
            }
            fixture.run("page-photos")
            pump("the photos") { fixture.window.shownPage == "photos" }
            XCTAssertFalse(fixture.window.hasSwitcher)
        }
    }

    /// How many places of pages have none.
    @MainActor private static func emptyBinCount(in widget: UnsafeMutablePointer<GtkWidget>) -> Int {
        var count = 0
        let pointer = ObjectPointer(widget)
        if pointer.isInstance(of: adw_bin_get_type()), adw_bin_get_child(pointer.as()) == nil { count += 1 }
        var next = gtk_widget_get_first_child(widget)
        while let child = next {
            count += emptyBinCount(in: child)
            next = gtk_widget_get_next_sibling(child)
        }
        return count
    }

    func testPartsAreMadeWhenTheyAreShown() throws {
        try WindowFixture.withImages { fixture in
            let window = fixture.window
            XCTAssertEqual(Self.emptyBinCount(in: window.widget.widget), 2)
            for (page, emptyCount) in [(GalleryWindow.Page.statistics, 1), (.learn(nil), 0), (.photos, 0)] {
                window.show(page)
                pump(page.name) { window.isSettled }
                XCTAssertEqual(window.shownPage, page.name)
                XCTAssertEqual(Self.emptyBinCount(in: window.widget.widget), emptyCount, page.name)
            }
            XCTAssertNil(adw_flap_get_flap(window.flap.opaque))
            window.inspect()
            XCTAssertNotNil(adw_flap_get_flap(window.flap.opaque))
        }
    }

    func testALoadThatEndsAfterTheWindowIsHarmless() throws {
        let loader = ManualLoader()
        try WindowFixture.withImages(configure: { $0.loaders = [loader, FileLoader()] }) { fixture in
            let window = fixture.window
            let url = try XCTUnwrap(URL(string: "manual://host/late.png"))
            window.session.collection.append([url])
            pump("the request") { loader.lastLoad(of: url) != nil }
            window.view(3)
            gtk_window_destroy(window.widget.as())
            try XCTUnwrap(loader.lastLoad(of: url)).answer(.red)
            // The fixture takes the window's messages.
            window.showToast("late")
            pumpUntilIdle()
            pump("the end of all loads") { !fixture.session.manager.isRunning }
            XCTAssertNotNil(fixture.session.loads.record(of: url), "the load has ended")
        }
    }

    @MainActor private static func title(of window: GalleryWindow) -> String? {
        gtk_window_get_title(window.widget.as()).map { String(cString: $0) }
    }

    func testTheTitleOfTheWindowIsTheNameOfTheImage() throws {
        try WindowFixture.withImages { fixture in
            let window = fixture.window
            XCTAssertEqual(Self.title(of: window), "Gallery")
            window.view(1, isAnimated: false)
            pump("the viewer") { window.isSettled }
            XCTAssertEqual(Self.title(of: window), "1.png – Gallery")
            fixture.run("viewer-next")
            XCTAssertEqual(Self.title(of: window), "2.png – Gallery")
            fixture.run("viewer-back")
            pump("the grid") { window.shownPage == "photos" && window.isSettled }
            XCTAssertEqual(Self.title(of: window), "Gallery")
        }
    }

    func testTheFocusReturnsToTheImagesFromTheirMenu() throws {
        try WindowFixture.withImages { fixture in
            let window = fixture.window
            window.photos.grid.setCurrent(1, focusing: true)
            fixture.run("image-menu")
            var popover: UnsafeMutablePointer<GtkWidget>?
            pump("the menu") {
                var next = gtk_widget_get_first_child(window.photos.widget.widget)
                while let child = next {
                    if ObjectPointer(child).isInstance(of: gtk_popover_get_type()) { popover = child }
                    next = gtk_widget_get_next_sibling(child)
                }
                return popover.map { gtk_widget_get_mapped($0) != 0 } ?? false
            }
            gtk_popover_popdown(ObjectPointer(try XCTUnwrap(popover)).as())
            pumpUntilIdle()
            let focus = try XCTUnwrap(gtk_window_get_focus(window.widget.as()))
            let grid = window.photos.grid.widget.widget
            XCTAssertTrue(focus == grid || gtk_widget_is_ancestor(focus, grid) != 0)
            XCTAssertEqual(window.photos.grid.current, 1)
        }
    }

    func testAMessageIsAboveTheButtonsOfTheViewer() throws {
        try WindowFixture.withImages { fixture in
            let window = fixture.window
            fixture.session.settings.change { $0.showsFilmstrip = true }
            window.view(1, isAnimated: false)
            pump("the viewer") { window.isSettled }
            let viewer = try XCTUnwrap(window.shownViewer)
            window.showToast("b.png is in the trash")
            @MainActor func toast() -> UnsafeMutablePointer<GtkWidget>? {
                var next = gtk_widget_get_first_child(viewer.toasts.widget)
                while let child = next {
                    if String(cString: gtk_widget_get_css_name(child)) == "toast" { return child }
                    next = gtk_widget_get_next_sibling(child)
                }
                return nil
            }
            @MainActor func bottom(_ widget: UnsafeMutablePointer<GtkWidget>, isTop: Bool = false) -> Float {
                var bounds = graphene_rect_t()
                _ = gtk_widget_compute_bounds(widget, window.widget.widget, &bounds)
                return bounds.origin.y + (isTop ? 0 : bounds.size.height)
            }
            let bar = try XCTUnwrap(viewer.controls.parts.first { gtk_widget_get_valign($0.widget) == GTK_ALIGN_END })
            // It slides in from below.
            pump("the message above the buttons") {
                toast().map { gtk_widget_get_mapped($0) != 0 && bottom($0) <= bottom(bar.widget, isTop: true) } ?? false
            }
        }
    }

    func testAMessageIsAboveTheBarOfTheSelection() throws {
        try WindowFixture.withImages { fixture in
            let window = fixture.window
            window.photos.grid.selectAll()
            window.showToast("3 links copied")
            let toasts = window.photos.toasts.widget
            @MainActor func frame(_ widget: UnsafeMutablePointer<GtkWidget>) -> graphene_rect_t {
                var bounds = graphene_rect_t()
                _ = gtk_widget_compute_bounds(widget, window.widget.widget, &bounds)
                return bounds
            }
            pump("the message above the bar") {
                guard let toast = gtk_widget_get_last_child(toasts), let bar = gtk_widget_get_next_sibling(toasts),
                    String(cString: gtk_widget_get_css_name(toast)) == "toast"
                else { return false }
                let (message, selection) = (frame(toast), frame(bar))
                return message.size.height > 0 && selection.size.height > 0
                    && message.origin.y + message.size.height <= selection.origin.y
            }
        }
    }

    func testThePagesForDevelopersAreApartFromTheOtherCommands() throws {
        try WindowFixture.withImages { fixture in
            let developers = fixture.window.actions.filter { $0.group == .developers }.map(\.name)
            XCTAssertEqual(developers, ["page-photos", "page-learn", "page-statistics", "clear-caches"])
        }
    }

    /// The actions of a menu, of its sections and submenus.
    @MainActor private static func actions(of menu: UnsafeMutablePointer<GMenuModel>) -> Set<String> {
        var actions: Set<String> = []
        for index in 0..<g_menu_model_get_n_items(menu) {
            if let value = g_menu_model_get_item_attribute_value(menu, index, G_MENU_ATTRIBUTE_ACTION, nil) {
                if let text = g_variant_get_string(value, nil) { actions.insert(String(cString: text)) }
                g_variant_unref(value)
            }
            for name in [G_MENU_LINK_SECTION, G_MENU_LINK_SUBMENU] {
                guard let link = g_menu_model_get_item_link(menu, index, name) else { continue }
                actions.formUnion(Self.actions(of: link))
                g_object_unref(link)
            }
        }
        return actions
    }

    /// The actions of all menus of buttons in a widget.
    @MainActor private static func menuActions(in widget: UnsafeMutablePointer<GtkWidget>) -> Set<String> {
        var actions: Set<String> = []
        let object = ObjectPointer(widget)
        if object.isInstance(of: gtk_menu_button_get_type()), let menu = gtk_menu_button_get_menu_model(object.opaque) {
            actions = Self.actions(of: menu)
        }
        var next = gtk_widget_get_first_child(widget)
        while let child = next {
            actions.formUnion(menuActions(in: child))
            next = gtk_widget_get_next_sibling(child)
        }
        return actions
    }

    func testOnlyTheMenuOfTheInspectorIsForDevelopers() throws {
        try WindowFixture.withImages { fixture in
            let forDevelopers: Set<String> = ["win.page-learn", "win.page-statistics", "win.clear-caches"]
            fixture.window.view(1, isAnimated: false)
            pump("the viewer") { fixture.window.isSettled }
            let actions = Self.menuActions(in: fixture.window.widget.widget)
            XCTAssertTrue(actions.isSuperset(of: ["win.preferences", "win.viewer-trash"]), "\(actions)")
            XCTAssertTrue(actions.isDisjoint(with: forDevelopers), "\(actions)")
            fixture.run("inspector")
            pumpUntilIdle()
            XCTAssertEqual(
                Self.menuActions(in: fixture.window.widget.widget).subtracting(actions), forDevelopers)
            fixture.run("page-statistics")
            pump("the statistics") { fixture.window.shownPage == "statistics" }
            fixture.run("clear-caches")
            pump("the message") { fixture.toasts.last?.message == "Memory and disk cache are empty" }
        }
    }
}
