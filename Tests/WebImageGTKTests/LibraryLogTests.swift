import CWebImageGTK
import XCTest

@testable import GTKTestSupport

/// What an assertion of GTK does to a test. Failures of these tests are expected where a test says so.
final class LibraryLogTests: GTKTestCase {
    private var failures: [String]?

    override func recordFailure(
        withDescription description: String, inFile filePath: String, atLine lineNumber: Int, expected: Bool
    ) {
        guard failures == nil else {
            failures?.append(description)
            return
        }
        super.recordFailure(withDescription: description, inFile: filePath, atLine: lineNumber, expected: expected)
    }

    func testAFailedAssertionFailsTheTest() {
        failures = []
        gtk_widget_set_visible(nil, 1)
        let noted = failures ?? []
        failures = nil
        XCTAssertEqual(noted.count, 1)
        XCTAssertEqual(noted.first?.contains("assertion 'GTK_IS_WIDGET (widget)' failed"), true, "\(noted)")
    }
}
