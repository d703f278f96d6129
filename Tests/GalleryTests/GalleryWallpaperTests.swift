import CWebImageGTK
import Foundation
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// The image as the desktop's background.
final class GalleryWallpaperTests: GTKTestCase {
    private func withPortal(
        hasWallpapers: Bool? = true, _ body: @MainActor (ViewerFixture, PortalStub) throws -> Void
    ) throws {
        try ViewerFixture.with { fixture in
            let portal = try PortalStub(hasWallpapers: hasWallpapers)
            defer { portal.stop() }
            try body(fixture, portal)
        }
    }

    @MainActor private static func set(_ fixture: ViewerFixture, _ address: String) {
        var hasEnded = false
        Task {
            await fixture.viewer.setAsWallpaper(through: DesktopPortal(busAddress: address))
            hasEnded = true
        }
        pump("the answer") { hasEnded }
    }

    func testTheDesktopGetsTheFileAndAsksTheUser() throws {
        try withPortal { fixture, portal in
            let file = try fixture.write(try picture(30, 20) { _, _ in shade(7) }, "a.png")
            fixture.open([file])
            fixture.settle()
            Self.set(fixture, portal.address)
            XCTAssertEqual(portal.wallpapers, [try Data(contentsOf: file)])
            XCTAssertTrue(portal.options[0].contains("'show-preview': <true>"), portal.options[0])
            XCTAssertEqual(fixture.toasts, ["a.png is the wallpaper"])
        }
    }

    func testARotatedImageIsEncoded() throws {
        try withPortal { fixture, portal in
            fixture.open([try fixture.write(try picture(30, 20) { _, _ in shade(7) }, "a.png")])
            fixture.settle()
            fixture.run("rotate-right")
            Self.set(fixture, portal.address)
            let wallpaper = try XCTUnwrap(portal.wallpapers.first)
            XCTAssertEqual(try CodecRegistry.shared.info(of: wallpaper).size, PixelSize(width: 20, height: 30))
        }
    }

    func testTheUserMayCancel() throws {
        try withPortal { fixture, portal in
            portal.response = 1
            fixture.open([try fixture.write(try picture(30, 20) { _, _ in shade(7) }, "a.png")])
            fixture.settle()
            Self.set(fixture, portal.address)
            XCTAssertEqual(portal.wallpapers.count, 1)
            XCTAssertEqual(fixture.toasts, [])
        }
    }

    func testAPortalThatStopsEndsTheRequest() throws {
        for end in PortalStub.End.allCases {
            try withPortal { fixture, portal in
                portal.end = end
                fixture.open([try fixture.write(try picture(30, 20) { _, _ in shade(7) }, "a.png")])
                fixture.settle()
                Self.set(fixture, portal.address)
                XCTAssertEqual(
                    fixture.toasts, ["The wallpaper was not set: No desktop portal answers (it has stopped)"], "\(end)")
            }
        }
    }

    func testAMessageSaysThatNoPortalAnswers() throws {
        for (hasWallpapers, reason) in [(nil as Bool?, "No desktop portal answers"), (false, "does not support it")] {
            try withPortal(hasWallpapers: hasWallpapers) { fixture, portal in
                fixture.open([try fixture.write(try picture(30, 20) { _, _ in shade(7) }, "a.png")])
                fixture.settle()
                Self.set(fixture, portal.address)
                XCTAssertEqual(fixture.toasts.count, 1)
                XCTAssertTrue(fixture.toasts[0].contains(reason), fixture.toasts[0])
            }
        }
    }

    func testAMessageSaysThatThereIsNoBus() throws {
        try ViewerFixture.with { fixture in
            fixture.open([try fixture.write(try picture(30, 20) { _, _ in shade(7) }, "a.png")])
            fixture.settle()
            Self.set(fixture, "unix:path=/nowhere")
            XCTAssertTrue(fixture.toasts[0].hasPrefix("The wallpaper was not set: No desktop portal answers"))
        }
    }
}
