import CWebImageGTK
import XCTest

@testable import Gallery
@testable import WebImageGTK

final class ProgressivePageTests: GTKTestCase {
    func testTheSliderGoesFromNothingToMoreThanAll() throws {
        try MainActor.assumeIsolated {
            let page = try ProgressivePage()
            let widget = ObjectReference(retaining: ObjectPointer(page.widget))
            XCTAssertTrue(page.images.contains { $0.name == "progressive JPEG" })
            page.shownPart = 0
            XCTAssertTrue(page.images.allSatisfy { $0.image == nil })
            XCTAssertFalse(page.isComplete)
            // Not even a head.
            page.shownPart = 0.0005
            XCTAssertTrue(page.images.allSatisfy { $0.image == nil })
            page.shownPart = 0.5
            for (name, image) in page.images { XCTAssertEqual(image?.isPartial, true, name) }
            for part in [1, 1.05] {
                page.shownPart = part
                XCTAssertEqual(page.shownPart, part)
                for (name, image) in page.images { XCTAssertEqual(image?.isPartial, false, name) }
            }
            page.shownPart = 2
            XCTAssertEqual(page.shownPart, 1.05)
            page.shownPart = -1
            XCTAssertTrue(page.images.allSatisfy { $0.image == nil })
            withExtendedLifetime(widget) {}
        }
    }

    func testAProgressiveFileIsWholeAtOnceAndABaselineOneFromAbove() throws {
        try MainActor.assumeIsolated {
            let page = try ProgressivePage()
            let widget = ObjectReference(retaining: ObjectPointer(page.widget))
            page.shownPart = 0.5
            /// Whether the last row is there.
            @MainActor func reachesTheBottom(_ name: String) throws -> Bool {
                let image = try XCTUnwrap(page.images.first { $0.name == name }?.image)
                return image.pixels[image.width / 2, image.height - 1].w == 255
            }
            XCTAssertTrue(try reachesTheBottom("progressive JPEG"))
            XCTAssertFalse(try reachesTheBottom("PNG"))
            withExtendedLifetime(widget) {}
        }
    }
}
