import Foundation
import WebImageGTK
import XCTest

@testable import GTKTestSupport
@testable import Gallery

final class GalleryAdviceTests: XCTestCase {
    func testAdvicesAreForUsersOfTheProgram() throws {
        let file = URL(fileURLWithPath: "/photos/a.png")
        let server = try XCTUnwrap(URL(string: "https://host/a.png"))
        func unknown(_ url: URL, _ bytes: String = "GIMP") -> WebImageError {
            .unrecognizedFormat(contentType: nil, leadingBytes: Array(bytes.utf8), url: url)
        }
        let cases: [(WebImageError, String?)] = [
            (unknown(file), "Choose another image."),
            (unknown(server), "Choose another image, or check the address."),
            (unknown(server, "<html>"), "Check the address, and whether the page requires a login."),
            (.decoding(format: .png, reason: .corrupt("no header"), url: file), "Choose another image."),
            (.decoding(format: .heic, reason: .noDecoder, url: file), "This program was built without that format."),
            (.limitExceeded(reason: .memory(byteCount: 2, limit: 1), url: file), "Choose another image."),
            (.httpStatus(code: 401, url: server), "Write NAME:PASSWORD@ before the name of the server."),
            (.httpStatus(code: 404, url: server), "Check the address."),
            (.timedOut(reason: .idle, after: .seconds(30), url: server), "Try again."),
            (.file(path: file.path, errno: ENOENT), nil),
        ]
        for (error, advice) in cases {
            XCTAssertEqual(error.galleryAdvice, advice)
            XCTAssertEqual(
                error.userDescription, [error.errorDescription, advice].compactMap(\.self).joined(separator: " "))
            let facts = LoadFacts.failure(error, attempts: [])?.facts ?? []
            XCTAssertEqual(facts.first { $0.title == "What to do" }?.value, advice)
        }
    }
}
