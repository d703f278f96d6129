import CWebImageGTK
import Foundation
import WebImageGTK
import XCTest

@testable import Gallery
@testable import WebImageGTKTests

final class MarkersPageTests: GTKTestCase {
    func testTheGalleryHasAPageOfMarkers() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("Markers-\(UUID().uuidString).png")
        defer { try? FileManager.default.removeItem(at: file) }
        let run = try GalleryRun(["--page", "markers", "--size", "900x700", "--screenshot", file.path])
        XCTAssertEqual(run.exitStatus, 0, run.errors)
        XCTAssertEqual(run.errors, "", "GTK and libshumate have nothing to complain of")
        let screenshot = try CodecRegistry.shared.decode(try Data(contentsOf: file))
        // The red edge of the one that is selected, and the map below.
        var colors: [SIMD4<UInt8>: Int] = [:]
        for y in 60..<screenshot.height {
            for x in 0..<screenshot.width { colors[screenshot.pixels[x, y], default: 0] += 1 }
        }
        XCTAssertGreaterThan(colors[SIMD4(0xe9, 0xe6, 0xda, 255)] ?? 0, 100_000)
        XCTAssertGreaterThan(colors[SIMD4(217, 51, 26, 255)] ?? 0, 100)
    }

    func testItsNameIsAmongThoseOfTheCommandLine() throws {
        let help = try GalleryRun(["--help"], hasDisplay: false)
        let refusal = try GalleryRun(["--page", "nonsense"], hasDisplay: false)
        for page in GalleryPageName.allCases {
            XCTAssertTrue(help.output.contains(page.rawValue), page.rawValue)
            XCTAssertTrue(refusal.errors.contains(page.rawValue), page.rawValue)
        }
        XCTAssertTrue(GalleryPageName.allCases.contains(.markers))
    }
}
