import Foundation
import Glibc
import XCTest

@testable import Gallery

final class RendererChoiceTests: XCTestCase {
    func testFindsDevicesOfGraphicsCards() throws {
        for (device, isCard) in [
            ("null", false), ("dri/card0", false), ("dri/renderD128", true), ("nvidiactl", true), ("dxg", true),
        ] {
            let folder = try TemporaryFolder()
            _ = try folder.write(device, Data())
            XCTAssertEqual(RendererChoice(folder: folder.path).hasGraphicsCard, isCard, device)
        }
        XCTAssertFalse(RendererChoice(folder: "/nonexistent").hasGraphicsCard)
    }

    /// Also those of GTK's tests, which run in this process.
    func testTheChoiceOfTheUserTakesPrecedence() throws {
        let former = getenv(RendererChoice.variable).map { String(cString: $0) }
        defer {
            if let former { setenv(RendererChoice.variable, former, 1) } else { unsetenv(RendererChoice.variable) }
        }
        func renderer() -> String? { getenv(RendererChoice.variable).map { String(cString: $0) } }
        try MainActor.assumeIsolated {
            setenv(RendererChoice.variable, "gl", 1)
            RendererChoice(folder: "/nonexistent").apply()
            XCTAssertEqual(renderer(), "gl")
            XCTAssertFalse(RendererChoice.isApplied)

            unsetenv(RendererChoice.variable)
            let folder = try TemporaryFolder()
            _ = try folder.write("dri/renderD128", Data())
            RendererChoice(folder: folder.path).apply()
            XCTAssertNil(renderer())

            RendererChoice(folder: "/nonexistent").apply()
            XCTAssertEqual(renderer(), "cairo")
            XCTAssertTrue(RendererChoice.isApplied)
        }
    }
}
