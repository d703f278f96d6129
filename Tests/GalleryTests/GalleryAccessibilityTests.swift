import CWebImageAdwaita
import CWebImageGTK
import Foundation
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// The whole window, page by page: for assistive technologies, for the keyboard, and for the eyes.
final class GalleryAccessibilityTests: GTKTestCase {
    private static let pages: [GalleryWindow.Page] =
        [.photos, .statistics, .learn(nil)] + PageName.allCases.map { .learn($0) }

    /// What was found on a page.
    private struct Findings {
        let page: String
        let nameless, withoutKeyboard: [String]
        /// How many colors a row of pixels has.
        let colorCount: Int
    }

    /// Filling the pages takes seconds, so the tests share a visit.
    @MainActor private static var visit: Result<[Findings], any Error>?

    @MainActor private static func findings() throws -> [Findings] {
        if let visit { return try visit.get() }
        let new = Result { try visitPages() }
        visit = new
        return try new.get()
    }

    @MainActor private static func visitPages() throws -> [Findings] {
        var findings: [Findings] = []
        let makeSmaller: @MainActor (inout WebImageManager.Configuration) -> Void = { configuration in
            // A debug build takes seconds for an animation.
            configuration.optionsProcessor = { request in
                guard var file = SampleFile(request.url) else { return }
                file.width = min(file.width, 64)
                if let url = file.url { request.url = url }
            }
        }
        try WindowFixture.withImages(configure: makeSmaller) { fixture in
            let window = fixture.window
            @MainActor func note(_ page: String) {
                let drawn = Rendering(of: window.widget.widget)
                findings.append(
                    Findings(
                        page: page, nameless: hasTestBackEnd ? namelessControls(in: window.widget) : [],
                        withoutKeyboard: controlsWithoutKeyboard(in: window.widget),
                        colorCount: Set((0..<50).map { drawn[$0 * drawn.width / 50, 200] }).count))
            }
            for page in pages {
                window.show(page)
                pump(page.name, seconds: 60) { window.isSettled }
                note(page.name)
            }
            window.view(1)
            pump("the viewer") { window.isSettled }
            note("viewer")
            window.inspect()
            pump("the inspector") { window.isSettled }
            note("viewer and inspector")
        }
        return findings
    }

    private static var hasTestBackEnd: Bool { ProcessInfo.processInfo.environment["GTK_A11Y"] == "test" }

    func testEveryControlHasANameAndARole() throws {
        try XCTSkipUnless(Self.hasTestBackEnd, "needs GTK's test back end: GTK_A11Y=test")
        try MainActor.assumeIsolated {
            for findings in try Self.findings() { XCTAssertEqual(findings.nameless, [], findings.page) }
        }
    }

    func testAButtonWithAMnemonicHasItsTitleOnce() throws {
        try XCTSkipUnless(Self.hasTestBackEnd, "needs GTK's test back end: GTK_A11Y=test")
        MainActor.assumeIsolated {
            let button = ObjectPointer.button("_Try again") {}
            g_object_ref_sink(button.address)
            defer { g_object_unref(button.address) }
            XCTAssertEqual(gtk_test_accessible_has_property(button.opaque, GTK_ACCESSIBLE_PROPERTY_LABEL), 0)
            XCTAssertNotEqual(gtk_test_accessible_has_relation(button.opaque, GTK_ACCESSIBLE_RELATION_LABELLED_BY), 0)
        }
    }

    func testTabReachesEveryControl() throws {
        try MainActor.assumeIsolated {
            for findings in try Self.findings() { XCTAssertEqual(findings.withoutKeyboard, [], findings.page) }
        }
    }

    func testEachPageShowsItsImages() throws {
        try MainActor.assumeIsolated {
            // The page of markers shows a map, and has a test of its own.
            let names = Set(
                PageName.allCases.filter { $0.rawValue != "markers" }.map { GalleryWindow.Page.learn($0).name })
            let pages = try Self.findings().filter { names.contains($0.page) }
            XCTAssertEqual(pages.count, names.count)
            for findings in pages { XCTAssertGreaterThan(findings.colorCount, 3, findings.page) }
        }
    }

    // MARK: Widgets

    /// What a user operates. Lists and menus give their own items names.
    private static let controlTypes: [GType] = [
        gtk_button_get_type(), gtk_scale_get_type(), gtk_switch_get_type(), gtk_spin_button_get_type(),
        gtk_check_button_get_type(), gtk_drop_down_get_type(), gtk_menu_button_get_type(), gtk_toggle_button_get_type(),
        gtk_entry_get_type(),
    ]

    @MainActor private static func visit(_ widget: ObjectPointer, _ body: (ObjectPointer) -> Bool) {
        guard gtk_widget_get_mapped(widget.widget) != 0, gtk_widget_get_child_visible(widget.widget) != 0, body(widget)
        else { return }
        var next = gtk_widget_get_first_child(widget.widget)
        while let child = next {
            visit(ObjectPointer(child), body)
            next = gtk_widget_get_next_sibling(child)
        }
    }

    @MainActor private static func isControl(_ widget: ObjectPointer) -> Bool {
        controlTypes.contains { widget.isInstance(of: $0) }
    }

    @MainActor private static func namelessControls(in root: ObjectPointer) -> [String] {
        var found: [String] = []
        visit(root) { widget in
            guard isControl(widget) else { return true }
            if gtk_accessible_get_accessible_role(widget.opaque) == GTK_ACCESSIBLE_ROLE_NONE || !hasName(widget) {
                found.append(description(of: widget))
            }
            // Parts of a control, as the arrows of a spin button, belong to it.
            return false
        }
        return found
    }

    @MainActor private static func hasName(_ widget: ObjectPointer) -> Bool {
        if gtk_test_accessible_has_property(widget.opaque, GTK_ACCESSIBLE_PROPERTY_LABEL) != 0
            || gtk_test_accessible_has_relation(widget.opaque, GTK_ACCESSIBLE_RELATION_LABELLED_BY) != 0
        {
            return true
        }
        // A button is named by the text in it.
        var hasText = false
        visit(widget) { part in
            if part.isInstance(of: gtk_label_get_type()), !part.text.isEmpty { hasText = true }
            return true
        }
        return hasText
    }

    @MainActor private static func controlsWithoutKeyboard(in root: ObjectPointer) -> [String] {
        var expected: [ObjectPointer] = []
        visit(root) { widget in
            // Window buttons are reached by the window manager's keys.
            if widget.isInstance(of: gtk_window_controls_get_type()) { return false }
            guard isControl(widget) else { return true }
            // Pictures of buttons, which the pointer cannot use either.
            let isUsable = gtk_widget_is_sensitive(widget.widget) != 0 && gtk_widget_get_can_target(widget.widget) != 0
            if isUsable { expected.append(widget) }
            return false
        }
        var reached: Set<ObjectPointer> = []
        gtk_window_set_focus(root.as(), nil)
        for _ in 0..<400 {
            guard gtk_widget_child_focus(root.widget, GTK_DIR_TAB_FORWARD) != 0,
                let focus = gtk_window_get_focus(root.as())
            else { break }
            guard reached.insert(ObjectPointer(focus)).inserted || reached.count < 2 else { break }
        }
        return expected.filter { control in
            !reached.contains { $0 == control || gtk_widget_is_ancestor($0.widget, control.widget) != 0 }
                && !isReachedByArrows(control)
        }.map { description(of: $0) }
    }

    /// A view switcher's buttons: GTK moves between them with the arrow keys.
    @MainActor private static func isReachedByArrows(_ control: ObjectPointer) -> Bool {
        gtk_widget_get_ancestor(control.widget, adw_view_switcher_get_type()) != nil
    }

    @MainActor private static func description(of widget: ObjectPointer) -> String {
        var path: [String] = []
        var next: UnsafeMutablePointer<GtkWidget>? = widget.widget
        while let current = next, path.count < 5 {
            let object = ObjectPointer(current)
            path.append(String(cString: g_type_name_from_instance(object.as(GTypeInstance.self))))
            next = gtk_widget_get_parent(current)
        }
        let tooltip = gtk_widget_get_tooltip_text(widget.widget).map { String(cString: $0) } ?? ""
        return path.joined(separator: " < ") + (tooltip.isEmpty ? "" : " “\(tooltip)”")
    }
}
