import CWebImageGTK
import CWebImageShumate
import Foundation
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK
@testable import WebImageMap

/// Selection, highlight, keyboard and what screen readers say.
final class MarkerSelectionTests: GTKTestCase {
    func testShowsItsOtherImageWhileItIsSelected() throws {
        try MainActor.assumeIsolated {
            let (fixture, map) = (PictureFixture(), TestMap())
            defer { map.close() }
            let (marker, neighbor) = (try makePair(fixture), try makePair(fixture))
            neighbor.longitude = 9
            map.show(marker, neighbor)
            var changes: [Bool] = []
            marker.onSelectionChange = { changes.append($0) }
            XCTAssertEqual(drawnPixel(of: marker), Swatch.red.pixel)
            XCTAssertTrue(marker.select())
            XCTAssertTrue(marker.isSelected)
            XCTAssertEqual(drawnPixel(of: marker), Swatch.blue.pixel)
            XCTAssertTrue(marker.highlighted.isOnScreen)
            XCTAssertFalse(marker.imageSlot.isOnScreen)
            XCTAssertEqual(drawnPixel(of: neighbor), Swatch.red.pixel)

            XCTAssertTrue(neighbor.select())
            XCTAssertFalse(marker.isSelected, "one at a time")
            XCTAssertEqual(drawnPixel(of: marker), Swatch.red.pixel)
            XCTAssertEqual(drawnPixel(of: neighbor), Swatch.blue.pixel)
            neighbor.deselect()
            XCTAssertFalse(neighbor.isSelected)
            // Other states are no selection.
            gtk_widget_set_state_flags(marker.widget, GTK_STATE_FLAG_PRELIGHT, gboolean(0))
            gtk_widget_unset_state_flags(marker.widget, GTK_STATE_FLAG_PRELIGHT)
            XCTAssertEqual(changes, [true, false])
        }
    }

    func testStaysSelectedOutsideTheViewport() throws {
        try MainActor.assumeIsolated {
            let (fixture, map) = (PictureFixture(), TestMap())
            defer { map.close() }
            let marker = try makePair(fixture)
            map.show(marker)
            marker.select()
            map.lookAway(from: marker)
            pump("the release") { marker.image == nil && marker.highlighted.image == nil }
            XCTAssertTrue(marker.isSelected)
            map.lookBack(at: marker)
            pump("its other picture") { drawnPixel(of: marker) == Swatch.blue.pixel }
        }
    }

    func testIsSelectedIfLayerAndMarkerAllowIt() throws {
        MainActor.assumeIsolated {
            let marker = makeMarker()
            XCTAssertFalse(marker.select(), "without a layer")
            marker.deselect()
            let (none, single) = (TestMap(selection: GTK_SELECTION_NONE), TestMap())
            defer {
                none.close()
                single.close()
            }
            none.add(marker)
            XCTAssertFalse(marker.select())
            let other = makeMarker()
            single.add(other)
            shumate_marker_set_selectable(other.marker, gboolean(0))
            XCTAssertFalse(other.select())
            XCTAssertFalse(other.isSelected)
        }
    }

    func testIsHighlightedByTheAppToo() throws {
        try MainActor.assumeIsolated {
            let fixture = PictureFixture()
            let marker = try makePair(fixture)
            marker.isHighlighted = true
            XCTAssertEqual(drawnPixel(of: marker), Swatch.blue.pixel)
            marker.isHighlighted = false
            XCTAssertEqual(drawnPixel(of: marker), Swatch.red.pixel)
            destroyUnparented(marker)
        }
    }

    func testAClickSelectsAndAnotherOneEndsIt() throws {
        try MainActor.assumeIsolated {
            guard let pointer = Pointer() else { throw XCTSkip("no X server with a test extension: install libxtst6") }
            let (fixture, map) = (PictureFixture(), TestMap())
            defer { map.close() }
            let marker = try makePair(fixture)
            pointer.moveAway()
            map.show(marker)
            pointer.move(to: marker.widget)
            pump("the pointer over it") { drawnPixel(of: marker) == Swatch.blue.pixel }
            XCTAssertFalse(marker.isSelected)
            pointer.press()
            pointer.release()
            pump("the selection") { marker.isSelected }
            pointer.moveAway()
            pump("the pointer gone") {
                gtk_widget_get_state_flags(marker.widget).rawValue & GTK_STATE_FLAG_PRELIGHT.rawValue == 0
            }
            XCTAssertEqual(drawnPixel(of: marker), Swatch.blue.pixel)
            pointer.move(to: marker.widget)
            pointer.press()
            pointer.release()
            pump("the end of it") { !marker.isSelected }
            pointer.moveAway()
            pump("its own picture") { drawnPixel(of: marker) == Swatch.red.pixel }
        }
    }

    // MARK: Keyboard

    func testTheKeyboardGoesFromMarkerToMarkerInTheDirectionOfText() {
        MainActor.assumeIsolated {
            for direction in [GTK_TEXT_DIR_LTR, GTK_TEXT_DIR_RTL] {
                let map = TestMap()
                defer {
                    gtk_widget_set_default_direction(GTK_TEXT_DIR_LTR)
                    map.close()
                }
                gtk_widget_set_default_direction(direction)
                let (west, east, away) = (makeMarker(), makeMarker(), makeMarker())
                west.longitude -= 1
                east.longitude += 1
                map.show(east, west)
                away.longitude = -170
                map.add(away)
                let inOrder = direction == GTK_TEXT_DIR_LTR ? [west, east] : [east, west]
                for marker in inOrder {
                    gtk_widget_child_focus(map.window.window, GTK_DIR_TAB_FORWARD)
                    XCTAssertEqual(gtk_window_get_focus(map.window.asWindow), marker.widget)
                }
            }
        }
    }

    func testAMarkerIsOneStopOfTabAlsoAfterAFailure() {
        MainActor.assumeIsolated {
            let map = TestMap()
            defer { map.close() }
            let (failed, other) = (makeMarker(), makeMarker())
            other.longitude += 1
            failed.retriesOnTap = true
            map.show(failed, other)
            failed.setImage(URL(string: "data:text/plain,none"))
            pump("the failure") { if case .failed = failed.loadState { true } else { false } }
            for marker in [failed, other] {
                gtk_widget_child_focus(map.window.window, GTK_DIR_TAB_FORWARD)
                XCTAssertEqual(gtk_window_get_focus(map.window.asWindow), marker.widget)
            }
        }
    }

    func testTheKeyboardReachesAndSelects() throws {
        try MainActor.assumeIsolated {
            guard let keyboard = Pointer() else { throw XCTSkip("no X server with a test extension: install libxtst6") }
            let (fixture, map) = (PictureFixture(), TestMap())
            defer { map.close() }
            let marker = try makePair(fixture)
            keyboard.moveAway()
            map.show(marker)
            keyboard.giveKeyboard(to: map.window.window)
            pump("the keyboard") { gtk_window_is_active(map.window.asWindow) != 0 }
            keyboard.type(GDK_KEY_Tab)
            pump("the focus") { gtk_widget_has_focus(marker.widget) != 0 }
            pump("the highlight") { drawnPixel(of: marker) == Swatch.blue.pixel }
            keyboard.type(GDK_KEY_space)
            pump("the selection") { marker.isSelected }
            keyboard.type(GDK_KEY_Return)
            pump("the end of it") { !marker.isSelected }
        }
    }

    func testKeysSelect() throws {
        try MainActor.assumeIsolated {
            let (fixture, map) = (PictureFixture(), TestMap())
            defer { map.close() }
            let marker = try makePair(fixture)
            map.show(marker)
            let keys = shortcuts(of: marker)
            XCTAssertEqual(Set(keys.keys), ["space", "KP_Space", "Return", "KP_Enter", "ISO_Enter"])
            for action in keys.values {
                XCTAssertTrue(press(action, on: marker))
                XCTAssertTrue(marker.isSelected)
                XCTAssertTrue(press(action, on: marker))
                XCTAssertFalse(marker.isSelected)
            }
            // Not used.
            shumate_marker_layer_set_selection_mode(map.layer, GTK_SELECTION_NONE)
            XCTAssertFalse(keys.values.contains { press($0, on: marker) })
            // One stays selected.
            shumate_marker_layer_set_selection_mode(map.layer, GTK_SELECTION_BROWSE)
            for action in keys.values {
                XCTAssertTrue(press(action, on: marker))
                XCTAssertTrue(marker.isSelected)
            }
            // The keys act on the current owner of the marker.
            let next = WebMarker(wrapping: marker.marker)
            XCTAssertEqual(shortcuts(of: next).count, keys.count)
        }
    }

    func testTheFocusHighlights() throws {
        try MainActor.assumeIsolated {
            let (fixture, map) = (PictureFixture(), TestMap())
            defer { map.close() }
            let marker = try makePair(fixture)
            map.show(marker)
            XCTAssertNotEqual(gtk_widget_get_focusable(marker.widget), 0)
            gtk_window_set_focus_visible(map.window.asWindow, gboolean(1))
            gtk_widget_grab_focus(marker.widget)
            pump("the highlight") { drawnPixel(of: marker) == Swatch.blue.pixel }
            gtk_window_set_focus(map.window.asWindow, nil)
            pump("the end of it") { drawnPixel(of: marker) == Swatch.red.pixel }
        }
    }

    // MARK: Accessibility

    func testDescribesWhatItShows() {
        MainActor.assumeIsolated {
            let marker = makeMarker()
            XCTAssertEqual(
                gtk_accessible_get_accessible_role(OpaquePointer(marker.marker)), GTK_ACCESSIBLE_ROLE_LIST_ITEM)
            XCTAssertNil(marker.alternativeText)
            marker.alternativeText = "Ortler"
            XCTAssertEqual(marker.alternativeText, "Ortler")
            XCTAssertEqual(
                gtk_picture_get_alternative_text(OpaquePointer(marker.imageWidget)).map { String(cString: $0) },
                "Ortler")
            marker.alternativeText = nil
            XCTAssertNil(gtk_picture_get_alternative_text(OpaquePointer(marker.imageWidget)))
            destroyUnparented(marker)
        }
    }

    func testReportsItsNameAndSelectionToAssistiveTechnologies() throws {
        try XCTSkipUnless(
            ProcessInfo.processInfo.environment["GTK_A11Y"] == "test", "GTK_A11Y=test records what they would get")
        MainActor.assumeIsolated {
            let (map, marker) = (TestMap(), makeMarker())
            defer { map.close() }
            let accessible = OpaquePointer(marker.marker)
            map.show(marker)
            XCTAssertEqual(gtk_test_accessible_has_property(accessible, GTK_ACCESSIBLE_PROPERTY_LABEL), 0)
            marker.alternativeText = "Ortler"
            XCTAssertNotEqual(gtk_test_accessible_has_property(accessible, GTK_ACCESSIBLE_PROPERTY_LABEL), 0)
            marker.select()
            XCTAssertNotEqual(gtk_test_accessible_has_state(accessible, GTK_ACCESSIBLE_STATE_SELECTED), 0)
            marker.alternativeText = nil
            XCTAssertEqual(gtk_test_accessible_has_property(accessible, GTK_ACCESSIBLE_PROPERTY_LABEL), 0)
        }
    }
}

/// Red, and blue while it is highlighted.
@MainActor private func makePair(_ fixture: PictureFixture) throws -> WebMarker {
    let marker = makeMarker()
    let (normal, other) = (try fixture.url("normal"), try fixture.url("other"))
    try fixture.remember(.red, at: normal)
    try fixture.remember(.blue, at: other)
    marker.setImage(normal, manager: fixture.manager)
    marker.highlighted.setImage(other, manager: fixture.manager)
    return marker
}

/// The actions of the marker's keys, by the names of the keys.
@MainActor private func shortcuts(of marker: WebMarker) -> [String: OpaquePointer] {
    var actions: [String: OpaquePointer] = [:]
    let controllers = gtk_widget_observe_controllers(marker.widget)
    for number in 0..<g_list_model_get_n_items(controllers) {
        guard let controller = g_list_model_get_object(controllers, number).map({ ObjectPointer($0) }) else { continue }
        defer { g_object_unref(controller.address) }
        guard controller.isInstance(of: gtk_shortcut_controller_get_type()) else { continue }
        for place in 0..<g_list_model_get_n_items(controller.opaque) {
            guard let shortcut = g_list_model_get_object(controller.opaque, place).map({ ObjectPointer($0) }) else {
                continue
            }
            defer { g_object_unref(shortcut.address) }
            guard let text = gtk_shortcut_trigger_to_string(gtk_shortcut_get_trigger(shortcut.opaque)) else { continue }
            defer { g_free(text) }
            actions[String(cString: text)] = gtk_shortcut_get_action(shortcut.opaque)
        }
    }
    g_object_unref(controllers.map { UnsafeMutableRawPointer($0) })
    return actions
}

/// - Returns: whether the key meant something.
@MainActor private func press(_ action: OpaquePointer, on marker: WebMarker) -> Bool {
    gtk_shortcut_action_activate(action, GtkShortcutActionFlags(rawValue: 0), marker.widget, nil) != 0
}
