import Testing

@testable import WebImageLoading

@Suite struct TransferHeadParserTests {
    private var parser = TransferHeadParser()

    private mutating func append(_ line: String) -> TransferHeadParser.Outcome {
        Array(line.utf8).withUnsafeBytes { parser.append($0) }
    }

    @Test mutating func readsStatusAndFields() {
        #expect(append("HTTP/1.1 200 OK\r\n") == .incomplete)
        #expect(append("Content-Type: image/png \r\n") == .incomplete)
        #expect(append("X-Empty:\r\n") == .incomplete)
        #expect(append("X-Colon: a:b\r\n") == .incomplete)
        #expect(append("\r\n") == .complete)
        #expect(parser.head.statusCode == 200)
        #expect(
            parser.head.fields == [
                HTTPField(name: "Content-Type", value: "image/png"), HTTPField(name: "X-Empty", value: ""),
                HTTPField(name: "X-Colon", value: "a:b"),
            ])
    }

    @Test mutating func forgetsAnInterimAnswer() {
        for line in ["HTTP/1.1 103 Early Hints\r\n", "Link: </a>\r\n", "\r\n"] { #expect(append(line) == .incomplete) }
        #expect(append("HTTP/2 404\r\n") == .incomplete)
        #expect(append("\r\n") == .complete)
        #expect(parser.head.statusCode == 404)
        #expect(parser.head.fields.isEmpty)
    }

    @Test mutating func refusesMoreThanTwentyInformationalAnswers() {
        for _ in 0..<20 {
            #expect(append("HTTP/1.1 103 Early Hints\r\n") == .incomplete)
            #expect(parser.isInformational)
            #expect(append("\r\n") == .incomplete)
            #expect(parser.isInformational)
        }
        var last = parser
        #expect(Array("HTTP/1.1 100 Continue\r\n".utf8).withUnsafeBytes { last.append($0) } == .tooManyInformational)
        #expect(append("HTTP/1.1 200 OK\r\n") == .incomplete)
        #expect(!parser.isInformational)
        #expect(append("\r\n") == .complete)
    }

    @Test mutating func ignoresTrailers() {
        for line in ["HTTP/1.1 200 OK\r\n", "\r\n"] { _ = append(line) }
        #expect(append("X-Trailer: 1\r\n") == .incomplete)
        #expect(append("\r\n") == .incomplete)
        #expect(parser.head.fields.isEmpty)
    }

    @Test mutating func refusesTrailersThatNeverEnd() {
        for line in ["HTTP/1.1 200 OK\r\n", "\r\n"] { _ = append(line) }
        let line = "X-Trailer: " + String(repeating: "a", count: 10_000) + "\r\n"
        let outcomes = (0..<30).map { _ in append(line) }
        #expect(outcomes.first == .incomplete)
        #expect(outcomes.last == .tooLong)
    }

    @Test mutating func refusesAHeadThatNeverEnds() {
        _ = append("HTTP/1.1 200 OK\r\n")
        let line = "X-Long: " + String(repeating: "a", count: 10_000) + "\r\n"
        let outcomes = (0..<30).map { _ in append(line) }
        #expect(outcomes.first == .incomplete)
        #expect(outcomes.last == .tooLong)
    }

    @Test(
        arguments: [
            ([("Content-Length", "12")], 12), ([("content-length", "0")], 0), ([("Content-Length", "-1")], nil),
            ([("Content-Length", "9223372036854775808")], nil), ([], nil),
            ([("Content-Length", "12"), ("Transfer-Encoding", "chunked")], nil),
        ] as [([(String, String)], Int64?)])
    func knowsTheLengthOfTheBody(fields: [(String, String)], expected: Int64?) {
        let head = TransferHead(statusCode: 200, fields: fields.map { HTTPField(name: $0, value: $1) })
        #expect(head.contentLength == expected)
    }
}
