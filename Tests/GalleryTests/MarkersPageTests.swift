import Foundation
import XCTest

@testable import GTKTestSupport
@testable import Gallery
@testable import WebImageGTK

final class MarkersPageTests: GTKTestCase {
    func testTheGalleryHasAMarkerPage() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("Markers-\(UUID().uuidString).png")
        defer { try? FileManager.default.removeItem(at: file) }
        let run = try ProgramRun("Gallery", ["--page", "markers", "--size", "900x700", "--screenshot", file.path])
        XCTAssertEqual(run.exitStatus, 0, run.errors)
        XCTAssertEqual(run.errors, "", "GTK and libshumate have nothing to complain of")
        let screenshot = try CodecRegistry.shared.decode(try Data(contentsOf: file))
        // The red edge of the one that is selected, and the map below.
        var colors: [SIMD4<UInt8>: Int] = [:]
        for y in 60..<screenshot.height {
            for x in 0..<screenshot.width { colors[screenshot.pixels[x, y], default: 0] += 1 }
        }
        let ground = try XCTUnwrap(colors.max { $0.value < $1.value })
        XCTAssertGreaterThan(ground.value, 100_000)
        XCTAssertTrue(ground.key.y > ground.key.x && ground.key.y > ground.key.z, "the map is greenish: \(ground.key)")
        XCTAssertGreaterThan(colors[SIMD4(217, 51, 26, 255)] ?? 0, 100)
    }

    func testTheCommandLineListsTheMarkerPage() throws {
        let help = try ProgramRun("Gallery", ["--help"], hasDisplay: false)
        let refusal = try ProgramRun("Gallery", ["--page", "nonsense"], hasDisplay: false)
        for page in PageName.allCases {
            XCTAssertTrue(help.output.contains(page.rawValue), page.rawValue)
            XCTAssertTrue(refusal.errors.contains(page.rawValue), page.rawValue)
        }
        XCTAssertTrue(PageName.allCases.contains(.markers))
    }
}
