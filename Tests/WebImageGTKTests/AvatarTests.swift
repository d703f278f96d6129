import CWebImageAdwaita
import CWebImageGTK
import FoundationEssentials
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import WebImageGTK

final class InitialsTests: XCTestCase {
    func testAreTheFirstLettersOfTheFirstAndTheLastWord() {
        let expectations = [
            ("Ada Lovelace", "AL"), ("ada", "A"), ("Ada King, Countess of Lovelace", "AL"),
            ("  ada \n lovelace ", "AL"),
            ("élodie çelik", "ÉÇ"), ("e\u{301}lodie", "É"), ("ßeta", "S"), ("дарья жук", "ДЖ"), ("王 小明", "王小"),
            ("🦊 fox", "🦊F"), ("", ""), (" \t", ""),
        ]
        for (name, initials) in expectations { XCTAssertEqual(Initials(of: name).text, initials, name) }
    }

    func testTheColorIsTheSameInEachRunAndForEqualNames() {
        let color = Initials(of: "Ada Lovelace").color
        XCTAssertEqual([color.red, color.green, color.blue].map { Int(($0 * 255).rounded()) }, [33, 131, 66])
        XCTAssertEqual(Initials(of: " Ada  Lovelace").color, color)
        XCTAssertEqual(Initials(of: "é").color, Initials(of: "e\u{301}").color)
        let colors = (0..<300).map { Initials(of: "user\($0)").color }
        XCTAssertEqual(Set(colors).count, 18)
    }

    func testColorsContrastWithWhiteTextAndBothThemes() {
        func contrast(_ first: Double, _ second: Double) -> Double {
            (max(first, second) + 0.05) / (min(first, second) + 0.05)
        }
        let (light, dark) = (
            Initials.luminance(of: Color(red: 0.98, green: 0.98, blue: 0.98)),
            Initials.luminance(of: Color(red: 0.14, green: 0.14, blue: 0.14))
        )
        for number in 0..<300 {
            let luminance = Initials.luminance(of: Initials(of: "user\(number)").color)
            XCTAssertGreaterThan(contrast(luminance, 1), 4.5)
            XCTAssertGreaterThan(contrast(luminance, light), 3)
            XCTAssertGreaterThan(contrast(luminance, dark), 3)
        }
    }
}

final class WebAvatarTests: GTKTestCase {
    func testShowsInitialsUntilThereIsAPictureAndAfterAFailure() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), TestWindow())
            defer { window.close() }
            let avatar = WebAvatar(text: "Ada Lovelace")
            window.add(avatar.widget)
            window.present()
            pump("the layout") { gtk_widget_get_width(avatar.widget) == 48 }
            XCTAssertEqual(gtk_widget_get_height(avatar.widget), 48)
            checkInitials(avatar, "without a URL")
            let url = try fixture.url("ada")
            avatar.setImage(url, manager: fixture.manager)
            pump("the load") { fixture.loader.lastLoad(of: url) != nil }
            checkInitials(avatar, "while loading")
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the picture") { avatar.image != nil }
            let drawing = Rendering(of: avatar.widget)
            XCTAssertEqual(drawing[24, 24], Swatch.red.pixel)
            XCTAssertEqual(drawing[24, 1], Swatch.red.pixel, "a wide picture covers the circle")
            XCTAssertEqual(drawing[0, 0].w, 0)
            let missing = try fixture.url("missing")
            avatar.setImage(missing, manager: fixture.manager)
            checkInitials(avatar, "while another is loading")
            fixture.loader.lastLoad(of: missing)?.end(.failure(.httpStatus(code: 404, url: missing)))
            pump("the failure") { if case .failed = avatar.loadState { true } else { false } }
            checkInitials(avatar, "after a failure")
        }
    }

    func testTheInitialsFollowTheTextAndTheSize() {
        MainActor.assumeIsolated {
            let window = TestWindow()
            defer { window.close() }
            let avatar = WebAvatar(text: "Ada Lovelace", size: 20)
            window.add(avatar.widget)
            window.present()
            pump("the layout") { gtk_widget_get_width(avatar.widget) == 20 }
            (avatar.text, avatar.size) = ("Grace Hopper", 48)
            pump("the size") { gtk_widget_get_width(avatar.widget) == 48 }
            checkInitials(avatar, "another name")
            avatar.text = ""
            XCTAssertEqual(Rendering(of: avatar.widget)[24, 18], SIMD4(255, 255, 255, 255), "a figure's head")
            XCTAssertTrue(WebAvatar.attached(to: avatar.widget) === avatar)
        }
    }

    func testIsAnImageWithTheNameAsItsLabel() {
        MainActor.assumeIsolated {
            let avatar = WebAvatar(text: "Ada Lovelace")
            let widget = ObjectReference(retaining: ObjectPointer(avatar.widget))
            let pointer = widget.pointer.opaque
            XCTAssertEqual(gtk_accessible_get_accessible_role(pointer), GTK_ACCESSIBLE_ROLE_IMG)
            XCTAssertNotEqual(gtk_test_accessible_has_property(pointer, GTK_ACCESSIBLE_PROPERTY_LABEL), 0)
            avatar.text = ""
            XCTAssertEqual(gtk_test_accessible_has_property(pointer, GTK_ACCESSIBLE_PROPERTY_LABEL), 0)
        }
    }

    func testEndsWithItsWidget() {
        MainActor.assumeIsolated {
            let window = TestWindow()
            weak var avatar: WebAvatar?
            do {
                let new = WebAvatar(text: "Ada")
                window.add(new.widget)
                avatar = new
            }
            XCTAssertNotNil(avatar)
            window.close()
            pump("the end") { avatar == nil }
        }
    }
}

/// The recipe for an AdwAvatar in the guide Views.
final class AdwAvatarTests: GTKTestCase {
    func testDrawsInitialsUntilThereIsAPictureWhichCoversItAndAfter404() throws {
        try MainActor.assumeIsolated {
            let (fixture, window) = (PictureFixture(), TestWindow())
            defer { window.close() }
            guard let (avatar, image) = makeAvatar(in: window), let reference = makeReference(in: window) else {
                return XCTFail("no avatar")
            }
            window.present()
            pump("the layout") { gtk_widget_get_width(avatar) >= 48 && gtk_widget_get_width(reference) >= 48 }
            let (side, url) = (Int(gtk_widget_get_width(avatar)), try fixture.url("ada"))
            @MainActor func drawsInitials() -> Bool {
                let (drawing, expected) = (Rendering(of: avatar), Rendering(of: reference))
                let places = (0..<side * side).map { (x: $0 % side, y: $0 / side) }
                return places.allSatisfy { drawing[$0.x, $0.y] == expected[$0.x, $0.y] }
                    && Set(places.map { expected[$0.x, $0.y] }).count > 2
            }
            image.setImage(url, manager: fixture.manager)
            pump("the load") { fixture.loader.lastLoad(of: url) != nil }
            XCTAssertTrue(drawsInitials(), "while loading")
            fixture.loader.lastLoad(of: url)?.end(.failure(.httpStatus(code: 404, url: url)))
            pump("the failure") { if case .failed = image.loadState { true } else { false } }
            XCTAssertTrue(drawsInitials(), "at 404")
            XCTAssertNil(adw_avatar_get_custom_image(OpaquePointer(avatar)))

            image.setImage(url, manager: fixture.manager)
            fixture.loader.lastLoad(of: url)?.answer(.red)
            pump("the picture") { image.image != nil }
            let drawing = Rendering(of: avatar)
            // Twice as wide as high: the picture covers top and bottom too.
            for y in [2, 24, 45] { XCTAssertEqual(drawing[24, y], Swatch.red.pixel, "\(y)") }
            image.setImage(URL?.none, manager: fixture.manager)
            XCTAssertTrue(drawsInitials(), "without a URL")
        }
    }

    func testAFallbackIsDrawnInPlaceOfInitials() throws {
        try MainActor.assumeIsolated {
            let fixture = PictureFixture()
            let (paintable, url) = (WebPaintable(), try fixture.url("ada"))
            let initials = ObjectReference(owning: ObjectPointer(WebAvatar.makeInitials(of: "Ada Lovelace")))
            (paintable.pending, paintable.fallback) = (initials.pointer.opaque, initials.pointer.opaque)
            let expected = Rendering(of: initials.pointer.opaque, width: 48, height: 48)
            @MainActor func drawsInitials() -> Bool {
                let drawing = Rendering(of: paintable.paintable, width: 48, height: 48)
                return (0..<48 * 48).allSatisfy { drawing[$0 % 48, $0 / 48] == expected[$0 % 48, $0 / 48] }
            }
            XCTAssertTrue(drawsInitials())
            paintable.setImage(url, manager: fixture.manager)
            XCTAssertTrue(drawsInitials())
            pump("the load") { fixture.loader.lastLoad(of: url) != nil }
            fixture.loader.lastLoad(of: url)?.end(.failure(.httpStatus(code: 404, url: url)))
            pump("the failure") { if case .failed = paintable.loadState { true } else { false } }
            XCTAssertTrue(drawsInitials())
        }
    }
}

/// The color of the initials as pixels are.
private func pixel(of name: String) -> SIMD4<UInt8> {
    let color = Initials(of: name).color
    let parts = [color.red, color.green, color.blue].map { UInt8(($0 * 255).rounded()) }
    return SIMD4(parts[0], parts[1], parts[2], 255)
}

private func isSimilar(_ first: SIMD4<UInt8>, _ second: SIMD4<UInt8>) -> Bool {
    (0..<4).allSatisfy { abs(Int(first[$0]) - Int(second[$0])) <= 2 }
}

@MainActor private func checkInitials(
    _ avatar: WebAvatar, _ what: String, file: StaticString = #filePath, line: UInt = #line
) {
    let drawing = Rendering(of: avatar.widget)
    let background = pixel(of: avatar.text)
    XCTAssertEqual(drawing[0, 0].w, 0, "\(what): the corner", file: file, line: line)
    XCTAssertTrue(isSimilar(drawing[3, 24], background), "\(what): \(drawing[3, 24])", file: file, line: line)
    let brightest = (8..<40).flatMap { x in (16..<32).map { drawing[x, $0].x } }.max() ?? 0
    XCTAssertGreaterThan(brightest, 240, "\(what): the text", file: file, line: line)
}

@MainActor private func makeAvatar(in window: TestWindow) -> (UnsafeMutablePointer<GtkWidget>, WebPaintable)? {
    guard let avatar = adw_avatar_new(48, "Ada Lovelace", gboolean(1)) else { return nil }
    gtk_widget_set_halign(avatar, GTK_ALIGN_START)
    window.add(avatar)
    let image = WebPaintable(in: avatar)
    image.contentFit = GTK_CONTENT_FIT_COVER
    image.onLoadStateChange = { [weak image] _ in
        adw_avatar_set_custom_image(OpaquePointer(avatar), image?.image == nil ? nil : image?.paintable)
    }
    return (avatar, image)
}

/// A plain avatar, to compare with.
@MainActor private func makeReference(in window: TestWindow) -> UnsafeMutablePointer<GtkWidget>? {
    guard let avatar = adw_avatar_new(48, "Ada Lovelace", gboolean(1)) else { return nil }
    gtk_widget_set_halign(avatar, GTK_ALIGN_START)
    window.add(avatar)
    return avatar
}
