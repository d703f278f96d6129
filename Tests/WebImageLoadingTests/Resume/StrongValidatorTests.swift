import Testing

@testable import WebImageLoading

/// RFC 9110, 8.8 and 13.1.5.
@Suite(.timeLimit(.minutes(3))) struct StrongValidatorTests {
    private static let old = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let minuteLater = "Sun, 06 Nov 1994 08:50:37 GMT"
    private static let soonAfter = "Sun, 06 Nov 1994 08:50:36 GMT"

    private static func tag(_ value: String) -> StrongValidator? {
        StrongValidator([HTTPHeader(name: "ETag", value: value)])
    }

    private static func date(_ value: String) -> StrongValidator? {
        StrongValidator([HTTPHeader(name: "Last-Modified", value: value), HTTPHeader(name: "Date", value: minuteLater)])
    }

    private func validator(_ fields: [(String, String)]) -> StrongValidator? {
        StrongValidator(fields.map { HTTPHeader(name: $0.0, value: $0.1) })
    }

    @Test func aStrongTagIsAStrongValidator() {
        #expect(validator([("ETag", "\"a\"")])?.fieldValue == "\"a\"")
        #expect(validator([("etag", " \"\" ")])?.fieldValue == "\"\"")
    }

    @Test func aDateIsAStrongValidatorOnceItIsAMinuteOld() {
        let fields = [("Last-Modified", Self.old), ("Date", Self.minuteLater)]
        #expect(validator(fields)?.fieldValue == Self.old)
        #expect(validator([("Last-Modified", Self.old), ("Date", Self.soonAfter)]) == nil)
        #expect(validator([("Last-Modified", Self.minuteLater), ("Date", Self.old)]) == nil)
        #expect(validator([("Last-Modified", Self.old)]) == nil, "nobody knows how old it was")
        #expect(validator([("Last-Modified", "yesterday"), ("Date", Self.minuteLater)]) == nil)
    }

    @Test func theTagIsPreferredAndADateIsNotUsedBesideAWeakTag() {
        let dates = [("Last-Modified", Self.old), ("Date", Self.minuteLater)]
        #expect(validator(dates + [("ETag", "\"a\"")]) == Self.tag("\"a\""))
        #expect(validator(dates + [("ETag", "W/\"a\"")]) == nil)
        #expect(validator(dates + [("ETag", "a")]) == nil)
        #expect(validator([("ETag", "\"a\""), ("ETag", "\"b\"")]) == nil)
    }

    @Test func aResponseMatchesOnlyWithTheSameValidator() throws {
        func agrees(_ validator: StrongValidator, _ name: String, _ value: String) -> Bool {
            validator.agrees(with: [HTTPHeader(name: name, value: value)])
        }
        let (tag, date) = (try #require(Self.tag("\"a\"")), try #require(Self.date(Self.old)))
        #expect(agrees(tag, "ETag", "\"a\""))
        #expect(!agrees(tag, "ETag", "\"b\""))
        #expect(!agrees(tag, "ETag", "W/\"a\""))
        #expect(!agrees(tag, "Last-Modified", Self.old))
        #expect(agrees(date, "Last-Modified", Self.old))
        #expect(!agrees(date, "Last-Modified", Self.minuteLater))
        #expect(!date.agrees(with: []))
    }
}
