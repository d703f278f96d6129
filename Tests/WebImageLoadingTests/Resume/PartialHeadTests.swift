import FoundationEssentials
import Testing

@testable import WebImageLoading

/// The responses that are kept, and those that continue them.
@Suite(.timeLimit(.minutes(3))) struct PartialHeadTests {
    private static func response(
        _ statusCode: Int? = 200, _ fields: [(String, String)] = [], byteCount: Int64? = 1000, path: String = "a"
    ) throws -> LoaderResponse {
        LoaderResponse(
            url: try #require(URL(string: "http://host/\(path)")), statusCode: statusCode,
            headers: fields.map { HTTPHeader(name: $0.0, value: $0.1) }, expectedByteCount: byteCount)
    }

    private static func isKept(_ statusCode: Int?, _ fields: [(String, String)]) throws -> Bool {
        PartialHead(try response(statusCode, fields), key: "k") != nil
    }

    @Test(
        arguments: [
            [], [("Accept-Ranges", "bytes")], [("Content-Encoding", "identity")],
            [("Cache-Control", "private, max-age=0")],
            [("Vary", "Accept, Cookie")], [("Cache-Control", "no-cache")],
        ] as [[(String, String)]])
    func aCompleteResponseWithAValidatorIsStored(fields: [(String, String)]) throws {
        #expect(try Self.isKept(200, fields + [("ETag", "\"a\"")]))
        #expect(try !Self.isKept(200, fields), "without one it is not")
    }

    @Test(
        arguments: [
            [("Accept-Ranges", "none")], [("accept-ranges", "None")], [("Content-Encoding", "gzip")],
            [("Cache-Control", "max-age=60, no-store")], [("Vary", "*")],
        ] as [[(String, String)]])
    func someResponsesAreNotStored(fields: [(String, String)]) throws {
        #expect(try !Self.isKept(200, fields + [("ETag", "\"a\"")]))
    }

    @Test(arguments: [nil, 201, 203, 204, 206, 304, 404, 500] as [Int?]) func otherStatusesAreNotStored(status: Int?)
        throws
    {
        #expect(try !Self.isKept(status, [("ETag", "\"a\"")]))
    }

    @Test func fieldsOfASingleMessageAreDropped() throws {
        let fields = [
            ("ETag", "\"a\""), ("Set-Cookie", "secret"), ("Content-Length", "1000"), ("Connection", "close, X-Hop"),
            ("X-Hop", "1"), ("Content-Type", "image/png"),
        ]
        let head = try #require(PartialHead(try Self.response(200, fields), key: "k"))
        #expect(head.fields.map(\.name) == ["ETag", "Content-Type"])
        let text = String(decoding: try JSONEncoder().encode(head), as: UTF8.self)
        #expect(!text.contains("secret") && !text.contains("host"))
        #expect(try JSONDecoder().decode(PartialHead.self, from: Data(text.utf8)) == head)
    }

    // MARK: Continuing

    private func head(byteCount: Int64? = 1000) throws -> PartialHead {
        let fields = [("ETag", "\"a\""), ("Content-Type", "image/png"), ("X-Old", "1")]
        return try #require(PartialHead(try Self.response(200, fields, byteCount: byteCount), key: "k"))
    }

    @Test func theRemainderCompletesTheResponse() throws {
        let rest = try Self.response(
            206,
            [
                ("ETag", "\"a\""), ("Content-Range", "bytes 400-999/1000"), ("Content-Length", "600"),
                ("X-Old", "2"), ("Date", "today"),
            ], byteCount: 600)
        let whole = try #require(try head().wholeResponse(continuedBy: rest, from: 400))
        #expect(whole.statusCode == 200)
        #expect(whole.expectedByteCount == 1000)
        #expect(whole.headerValue("Content-Range") == nil)
        #expect(whole.headers.values(named: "Content-Length") == ["1000"])
        #expect(whole.headers.values(named: "X-Old") == ["2"])
        #expect(whole.headerValue("Content-Type") == "image/png", "a 206 need not repeat it")
    }

    @Test func anUnknownLengthIsTakenFromTheRange() throws {
        let rest = try Self.response(206, [("ETag", "\"a\""), ("Content-Range", "bytes 400-999/1000")], byteCount: nil)
        #expect(try head(byteCount: nil).wholeResponse(continuedBy: rest, from: 400)?.expectedByteCount == 1000)
    }

    @Test(
        arguments: [
            ("bytes 400-999/1000", true), ("BYTES 400-999/1000", true), ("  bytes   400-999/1000 ", true),
            ("", false), ("bytes", false), ("bytes */1000", false), ("bytes 400-999", false),
            ("bytes 999-400/1000", false), ("bytes 400-999/999", false), ("bytes 400-399/400", false),
            ("bytes -400-999/1000", false), ("bytes 400-+999/1000", false), ("items 400-999/1000", false),
            ("bytes 400-999/1000/1000", false), ("bytes 400-999-999/1000", false), ("bytes a-b/c", false),
            ("bytes 400-9223372036854775808/9223372036854775809", false),
        ], [1000, nil] as [Int64?])
    func onlyTheRangeOfTheRestContinuesTheBody(range: (text: String, isRest: Bool), byteCount: Int64?) throws {
        let rest = try Self.response(206, [("ETag", "\"a\""), ("Content-Range", range.text)], byteCount: nil)
        #expect((try head(byteCount: byteCount).wholeResponse(continuedBy: rest, from: 400) != nil) == range.isRest)
    }

    @Test(
        arguments: [
            (206, "\"a\"", "bytes 401-999/1000", "image/png", 599),
            (206, "\"a\"", "bytes 0-999/1000", "image/png", 1000),
            (206, "\"a\"", "bytes 400-998/1000", "image/png", 599), (206, "\"a\"", "bytes 400-999/*", "image/png", 600),
            (206, "\"a\"", "bytes 400-1000/1001", "image/png", 601),
            (206, "\"a\"", "bytes 400-999/1000", "image/png", 599),
            (206, "\"b\"", "bytes 400-999/1000", "image/png", 600),
            (206, "W/\"a\"", "bytes 400-999/1000", "image/png", 600),
            (206, "\"a\"", "nonsense", "image/png", 600), (200, "\"a\"", "bytes 400-999/1000", "image/png", 600),
            (206, "\"a\"", "bytes 400-999/1000", "Multipart/byteranges; boundary=x", 600),
        ] as [(Int, String, String, String, Int64)])
    func otherResponsesDoNotContinueTheBody(status: Int, tag: String, range: String, type: String, byteCount: Int64)
        throws
    {
        let fields = [("ETag", tag), ("Content-Range", range), ("Content-Type", type)]
        let rest = try Self.response(status, fields, byteCount: byteCount)
        #expect(try head().wholeResponse(continuedBy: rest, from: 400) == nil)
    }

    /// A server that keeps the tag of a file that has changed.
    @Test(
        arguments: [
            (nil, true), ("Sun, 06 Nov 1994 08:49:37 GMT", true), ("Sunday, 06-Nov-94 08:49:37 GMT", true),
            ("Sun, 06 Nov 1994 08:49:38 GMT", false), ("yesterday", false),
        ] as [(String?, Bool)])
    func aDifferentModificationDateMeansDifferentBytes(date: String?, goesOn: Bool) throws {
        let fields = [("ETag", "\"a\""), ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")]
        let head = try #require(PartialHead(try Self.response(200, fields), key: "k"))
        let rest = try Self.response(
            206,
            [("ETag", "\"a\""), ("Content-Range", "bytes 400-999/1000")] + (date.map { [("Last-Modified", $0)] } ?? []),
            byteCount: 600)
        #expect((head.wholeResponse(continuedBy: rest, from: 400) != nil) == goesOn)
    }

    @Test func codedResponsesAndOtherURLsDoNotContinueTheBody() throws {
        let fields = [("ETag", "\"a\""), ("Content-Range", "bytes 400-999/1000")]
        let elsewhere = try Self.response(206, fields, byteCount: 600, path: "b")
        #expect(try head().wholeResponse(continuedBy: elsewhere, from: 400) == nil)
        let coded = try Self.response(206, fields + [("Content-Encoding", "gzip")], byteCount: 600)
        #expect(try head().wholeResponse(continuedBy: coded, from: 400) == nil)
        let twice = try Self.response(206, fields + [("Content-Range", "bytes 400-999/1000")], byteCount: 600)
        #expect(try head().wholeResponse(continuedBy: twice, from: 400) == nil)
    }
}
