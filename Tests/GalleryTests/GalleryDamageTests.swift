import CWebImageAdwaita
import CWebImageGTK
import Foundation
import GTKObjects
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

/// Incomplete files, such as photographs that were not copied to their end.
final class GalleryDamageTests: GTKTestCase {
    @MainActor private static func photograph() throws -> Data {
        try CodecRegistry.shared.encode(
            try picture(800, 800) { x, y in SIMD4(200, UInt8(x / 4 % 40), UInt8(y / 4 % 40), 255) }, as: .jpeg)
    }

    @MainActor private static func subtitle(of viewer: PhotoViewer) -> String {
        adw_header_bar_get_title_widget(viewer.header.opaque).map { ObjectPointer($0).get("subtitle") } ?? ""
    }

    func testTheViewerShowsTheRowsThatAreThereAndSaysSo() throws {
        try ViewerFixture.with { fixture in
            let whole = try Self.photograph()
            let part = try fixture.write(whole.prefix(whole.count / 2), "part.jpg")
            let urls = [part, try fixture.write(whole, "whole.jpg")]
            fixture.open(urls)
            fixture.settle()
            XCTAssertNil(fixture.viewer.shownError)
            XCTAssertEqual(Self.subtitle(of: fixture.viewer), "1 of 2 · incomplete")
            XCTAssertGreaterThan(fixture.pixel(0.5, 0.2).x, 150, "rows at the top")
            fixture.run("next")
            fixture.settle()
            XCTAssertEqual(Self.subtitle(of: fixture.viewer), "2 of 2")
            XCTAssertEqual(fixture.toasts, [])
            let record = try XCTUnwrap(fixture.session.loads.record(of: part))
            XCTAssertTrue(LoadFacts.summary(of: record).hasSuffix(" · Incomplete"), LoadFacts.summary(of: record))
            let other = try XCTUnwrap(fixture.session.loads.record(of: urls[1]))
            XCTAssertFalse(LoadFacts.summary(of: other).contains("Incomplete"))
        }
    }

    func testTheGridShowsThem() throws {
        try WindowFixture.with(["a.png"]) { fixture in
            let whole = try Self.photograph()
            try whole.prefix(whole.count / 2).write(to: fixture.folder.appending(path: "part.jpg"))
            fixture.open()
            XCTAssertEqual(fixture.names, ["a.png", "part.jpg"])
            XCTAssertTrue(fixture.window.isComplete)
            XCTAssertEqual(fixture.window.photos.statusText, "2 images")
        }
    }

    func testWithoutARowTheReasonIsThatItIsIncomplete() throws {
        try MainActor.assumeIsolated {
            let file = URL(filePath: "/home/a.jpg")
            let error = WebImageError.decoding(format: .jpeg, reason: .truncated, url: file)
            XCTAssertEqual(error.shortReason, "Incomplete JPEG")
            XCTAssertEqual(error.galleryAdvice, "Copy the file again from where it came.")
            let server = try XCTUnwrap(URL(string: "https://host/a.jpg"))
            let other = WebImageError.decoding(format: .jpeg, reason: .truncated, url: server)
            XCTAssertEqual(other.galleryAdvice, "Load it again.")
            XCTAssertEqual(
                WebImageError.decoding(format: .heic, reason: .noDecoder).shortReason, "HEIC is not supported")
        }
    }
}
