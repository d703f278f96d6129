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
                error.userDescription, [error.sentence(in: texts), advice].compactMap(\.self).joined(separator: " "))
            let facts = LoadFacts.failure(error, attempts: [])?.facts ?? []
            XCTAssertEqual(facts.first { $0.title == "What to do" }?.value, advice)
        }
    }

    func testProblemsHaveTheAddressAndNoPassword() throws {
        let server = try XCTUnwrap(URL(string: "https://name:secret@host/a.png"))
        let cases: [(WebImageError, String)] = [
            (.httpStatus(code: 404, url: server), "the server responded with status 404 (not found)."),
            (.timedOut(reason: .idle, after: .seconds(30), url: server), "nothing arrived for 30 s."),
            (.certificate(reason: .expired, url: server), "the server's certificate has expired."),
            (
                .unrecognizedFormat(contentType: nil, leadingBytes: [71], url: server),
                "the data is not an image in a known format; it begins with 47."
            ),
            (
                .decoding(format: .png, reason: .corrupt("no header"), url: server),
                "the png data could not be decoded: it is damaged (no header)."
            ),
        ]
        for (error, problem) in cases { XCTAssertEqual(error.sentence(in: texts), "https://host/a.png: \(problem)") }
        XCTAssertEqual(WebImageError.cancelled.sentence(in: texts), "The load was cancelled.")
        let absent = WebImageError.file(path: "/photos/a.png", errno: ENOENT)
        XCTAssertEqual(absent.sentence(in: texts), absent.errorDescription)
    }
}
