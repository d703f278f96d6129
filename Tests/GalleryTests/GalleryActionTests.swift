import CWebImageGTK
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// What menus show of the actions.
final class GalleryActionTests: GTKTestCase {
    /// The state of an action as text, such as `true` or `'name'`; `nil` for an action without one.
    @MainActor private static func state(_ action: String, _ fixture: WindowFixture) -> String? {
        guard let action = g_action_map_lookup_action(fixture.window.widget.opaque, action),
            let state = g_action_get_state(action)
        else { return nil }
        defer { g_variant_unref(state) }
        let text = g_variant_print(state, 0)
        defer { g_free(text) }
        return text.map { String(cString: $0) }
    }

    func testTheMenuMarksTheOrder() throws {
        try WindowFixture.withImages { fixture in
            XCTAssertEqual(Self.state("sort", fixture), "'name'")
            fixture.run("sort", "dateTaken")
            XCTAssertEqual(fixture.session.settings.values.order, .dateTaken)
            XCTAssertEqual(Self.state("sort", fixture), "'dateTaken'")
            fixture.run("sort", "unknown")
            XCTAssertEqual(Self.state("sort", fixture), "'dateTaken'")
            fixture.session.settings.change { $0.order = .size }
            XCTAssertEqual(Self.state("sort", fixture), "'size'")
            pump("the order") { !fixture.window.photos.opener.follower.isBusy }
        }
    }

    func testTheMenusMarkWhatIsOn() throws {
        try WindowFixture.withImages { fixture in
            XCTAssertEqual(Self.state("show-names", fixture), "false")
            XCTAssertEqual(Self.state("viewer-filmstrip", fixture), "false")
            fixture.run("show-names")
            XCTAssertEqual(Self.state("show-names", fixture), "true")
            fixture.session.settings.change { $0.showsFilmstrip = true }
            XCTAssertEqual(Self.state("viewer-filmstrip", fixture), "true")
            fixture.run("show-names")
            XCTAssertEqual(Self.state("show-names", fixture), "false")
            XCTAssertNil(Self.state("reload", fixture))
        }
    }
}
