import Foundation
import WebImageTestSupport
import XCTest

@testable import GTKTestSupport

/// The window where the desktop has a session bus, with which GIO registers applications.
final class SessionBusTests: GTKTestCase {
    func testWindowsOpenOneAfterTheOtherWithASessionBusAndLeaveNoFiles() throws {
        try XCTSkipUnless(
            FileManager.default.isExecutableFile(atPath: "/usr/bin/dbus-run-session"), "needs dbus-run-session")
        let folder = try TemporaryDirectory()
        let places = [folder.path("home"), folder.path("temporary")]
        for place in places {
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        }
        let run = try ProgramRun(
            nil, ["GalleryTests.GalleryActionTests"], hasBus: true,
            environment: ["HOME": places[0], "TMPDIR": places[1]])
        XCTAssertEqual(run.exitStatus, 0, run.errors + run.output)
        XCTAssertTrue(run.output.contains("Executed 2 tests"), run.output)
        for place in places { XCTAssertEqual(try FileManager.default.subpathsOfDirectory(atPath: place), [], place) }
    }
}
