import Foundation
import XCTest

@testable import GTKTestSupport

/// The window where the desktop has a session bus, with which GIO registers applications.
final class SessionBusTests: GTKTestCase {
    func testWindowsOpenOneAfterTheOtherWithASessionBus() throws {
        try XCTSkipUnless(
            FileManager.default.isExecutableFile(atPath: "/usr/bin/dbus-run-session"), "needs dbus-run-session")
        let run = try ProgramRun(nil, ["GalleryTests.GalleryActionTests"], hasBus: true)
        XCTAssertEqual(run.exitStatus, 0, run.errors + run.output)
        XCTAssertTrue(run.output.contains("Executed 2 tests"), run.output)
    }
}
