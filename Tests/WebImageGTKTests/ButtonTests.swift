import CWebImageGTK
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK

final class WebButtonTests: GTKTestCase {
    func testShowsTheImageOfItsStateAsThePointerMakesIt() throws {
        try MainActor.assumeIsolated {
            guard let pointer = Pointer() else { throw XCTSkip("no X server with a test extension: install libxtst6") }
            let (fixture, window, button) = (PictureFixture(), TestWindow(), WebButton())
            defer { window.close() }
            gtk_widget_set_size_request(button.widget, 80, 60)
            window.add(button.widget)
            try setSwatches(of: button, fixture: fixture)
            pointer.moveAway()
            window.present()
            pump("the map") { button.imageSlot.isOnScreen && gtk_widget_get_width(button.widget) > 0 }
            pump("the normal state") { shown(button) == Swatch.red.pixel }
            pointer.move(to: button.widget)
            pump("the pointer over it") { shown(button) == Swatch.green.pixel }
            XCTAssertEqual(button.shownStates.image, .hovered)
            pointer.press()
            pump("the press") { shown(button) == Swatch.blue.pixel }
            XCTAssertEqual(button.shownStates.image, .highlighted)
            pointer.release()
            pump("the release") { shown(button) == Swatch.green.pixel }
            pointer.moveAway()
            pump("the pointer gone") { shown(button) == Swatch.red.pixel }
        }
    }

    func testStatesByFlags() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), TestWindow())
            let button = WebButton(wrapping: gtk_toggle_button_new())
            defer { window.close() }
            window.add(button.widget)
            try setSwatches(of: button, fixture: fixture)
            XCTAssertEqual(button.shownStates.image, .normal)
            XCTAssertNil(button.shownStates.background)
            let toggle = UnsafeMutableRawPointer(button.widget).assumingMemoryBound(to: GtkToggleButton.self)
            gtk_toggle_button_set_active(toggle, gboolean(1))
            XCTAssertEqual(button.shownStates.image, .selected)
            gtk_widget_set_state_flags(button.widget, GTK_STATE_FLAG_ACTIVE, gboolean(0))
            XCTAssertEqual(button.shownStates.image, .highlighted)
            gtk_widget_set_sensitive(button.widget, gboolean(0))
            XCTAssertEqual(button.shownStates.image, .disabled)
            XCTAssertEqual(shown(button), Swatch(red: 9, green: 9, blue: 9).pixel)
            gtk_widget_set_sensitive(button.widget, gboolean(1))
            gtk_widget_unset_state_flags(button.widget, GTK_STATE_FLAG_ACTIVE)
            gtk_toggle_button_set_active(toggle, gboolean(0))
            gtk_widget_set_state_flags(button.widget, GTK_STATE_FLAG_FOCUS_VISIBLE, gboolean(0))
            XCTAssertEqual(button.shownStates.image, .focused)
            gtk_widget_unset_state_flags(button.widget, GTK_STATE_FLAG_FOCUS_VISIBLE)
            XCTAssertEqual(button.shownStates.image, .normal)
        }
    }

    func testTheKeyboardFocusIsAState() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, button) = (PictureFixture(), TestWindow(), WebButton())
            defer { window.close() }
            window.add(button.widget)
            try setSwatches(of: button, fixture: fixture)
            window.present()
            pump("the map") { button.imageSlot.isOnScreen }
            XCTAssertNotEqual(gtk_widget_get_focusable(button.widget), 0)
            gtk_window_set_focus_visible(window.asWindow, gboolean(1))
            gtk_widget_grab_focus(button.widget)
            pump("the focus") { button.shownStates.image == .focused }
        }
    }

    func testEachStateHasItsOwnLoad() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, button) = (PictureFixture(), TestWindow(), WebButton())
            defer { window.close() }
            window.add(button.widget)
            window.present()
            pump("the map") { gtk_widget_get_mapped(button.widget) != 0 }
            let outcomes = Outcomes()
            let (normal, both) = (try fixture.url("normal"), try fixture.url("both"))
            button.setImage(normal, manager: fixture.manager, completion: { outcomes.append($0) })
            for state in [WebButton.State.highlighted, .disabled] {
                button.imageSlot(for: state).setImage(
                    both, manager: fixture.manager, completion: { outcomes.append($0) })
            }
            button.backgroundSlot(for: .normal).setImage(
                try fixture.url("plate"), manager: fixture.manager, completion: { outcomes.append($0) })
            XCTAssertEqual(fixture.loader.lastLoad(of: normal)?.priority, .high)
            // It is not on show.
            XCTAssertEqual(fixture.loader.lastLoad(of: both)?.priority, .low)
            XCTAssertEqual(button.imageSlot(for: .disabled).imageURL, both)
            XCTAssertEqual(button.imageURL, normal)
            XCTAssertEqual(button.backgroundSlot(for: .normal).imageURL, try fixture.url("plate"))
            button.imageSlot(for: .disabled).cancelCurrentRequest()
            for load in fixture.loader.loads { load.answer(.green) }
            pump("four ends") { outcomes.results.count == 4 }
            XCTAssertEqual(outcomes.errors, [.cancelled])
            XCTAssertNotNil(button.imageSlot(for: .highlighted).image)
            XCTAssertNil(button.imageSlot(for: .disabled).image)
            XCTAssertNotNil(button.backgroundSlot(for: .normal).image)
        }
    }

    func testAStateWithoutAnImageYetShowsTheNextOne() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, button) = (PictureFixture(), TestWindow(), WebButton())
            defer { window.close() }
            window.add(button.widget)
            try fixture.remember(.red, at: try fixture.url("normal"))
            button.setImage(try fixture.url("normal"), manager: fixture.manager)
            let pressed = try fixture.url("pressed")
            button.imageSlot(for: .highlighted).setImage(pressed, manager: fixture.manager)
            gtk_widget_set_state_flags(button.widget, GTK_STATE_FLAG_ACTIVE, gboolean(0))
            XCTAssertEqual(shown(button), Swatch.red.pixel)
            fixture.loader.lastLoad(of: pressed)?.answer(.blue)
            pump("the image") { shown(button) == Swatch.blue.pixel }
            XCTAssertEqual(button.shownStates.image, .highlighted)
        }
    }

    func testAContentModeOfABackgroundIsNotThatOfOthers() throws {
        try MainActor.assumeIsolated {
            let (fixture, window, button) = (PictureFixture(), TestWindow(), WebButton())
            defer { window.close() }
            window.add(button.widget)
            let url = try fixture.remembered(.red, as: "plate")
            button.backgroundSlot(for: .normal).setImage(url, manager: fixture.manager)
            button.backgroundSlot(for: .highlighted).contentMode = .scaleAspectFit
            // The image is half as high as wide, and fills the square.
            let background = gtk_widget_get_prev_sibling(button.imageWidget)
            let drawing = Rendering(
                of: gtk_picture_get_paintable(OpaquePointer(background)), width: 9, height: 9)
            XCTAssertEqual(drawing[4, 0], Swatch.red.pixel)
        }
    }

    func testDestroyingTheButtonCancelsAndFrees() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), TestWindow())
            weak var weakButton: WebButton?
            let outcomes = Outcomes()
            do {
                let button = WebButton()
                weakButton = button
                window.add(button.widget)
                for state in WebButton.State.allCases {
                    button.imageSlot(for: state).setImage(
                        try fixture.url("\(state)"), manager: fixture.manager,
                        completion: { outcomes.append($0) })
                }
            }
            window.close()
            XCTAssertNil(weakButton)
            pump("six cancels") { outcomes.errors.count == 6 }
            XCTAssertFalse(fixture.loader.loads.isEmpty)
            XCTAssertTrue(fixture.loader.loads.allSatisfy(\.isCancelled))
        }
    }

    func testWrappingTwiceRetiresTheFirst() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), TestWindow())
            defer { window.close() }
            let first = WebButton()
            window.add(first.widget)
            let url = try fixture.url("pressed")
            first.imageSlot(for: .highlighted).setImage(url, manager: fixture.manager)
            let second = WebButton(wrapping: first.widget)
            XCTAssertEqual(fixture.loader.lastLoad(of: url)?.isCancelled, true)
            XCTAssertTrue(WebButton.attached(to: first.widget) === second)
            XCTAssertNil(ImageSlot.attached(to: first.widget, key: "image-highlighted"))
        }
    }

    func testDescribesWhatItShows() {
        MainActor.assumeIsolated {
            let (window, button) = (TestWindow(), WebButton())
            defer { window.close() }
            window.add(button.widget)
            button.alternativeText = "Play"
            XCTAssertEqual(
                gtk_picture_get_alternative_text(OpaquePointer(button.imageWidget)).map { String(cString: $0) }, "Play")
            button.alternativeText = nil
            XCTAssertNil(gtk_picture_get_alternative_text(OpaquePointer(button.imageWidget)))
        }
    }
}

@MainActor private func shown(_ button: WebButton) -> SIMD4<UInt8> {
    Rendering(of: gtk_picture_get_paintable(OpaquePointer(button.imageWidget)), width: 9, height: 9)[4, 4]
}

/// A colour for each state.
@MainActor private func setSwatches(of button: WebButton, fixture: PictureFixture) throws {
    let swatches: [(WebButton.State, Swatch)] = [
        (.normal, .red), (.hovered, .green), (.highlighted, .blue), (.disabled, Swatch(red: 9, green: 9, blue: 9)),
        (.selected, Swatch(red: 90, green: 0, blue: 0)), (.focused, Swatch(red: 0, green: 90, blue: 0)),
    ]
    for (state, swatch) in swatches {
        let url = try fixture.url("\(state)")
        try fixture.remember(swatch, at: url)
        button.imageSlot(for: state).setImage(url, manager: fixture.manager)
    }
}
