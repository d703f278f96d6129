import Testing

@testable import WebImageLoading

@Suite(.timeLimit(.minutes(3))) struct ContentRangeTests {
    @Test(
        arguments: [
            ("bytes 0-99/100", 0, 99, 100), ("bytes 5-5/6", 5, 5, 6),
            ("BYTES 1-2/9223372036854775807", 1, 2, Int64.max),
            ("  bytes   10-19/20 ", 10, 19, 20),
        ] as [(String, Int64, Int64, Int64?)])
    func rangesAreRead(text: String, first: Int64, last: Int64, total: Int64?) throws {
        let range = try #require(ContentRange(text))
        #expect(range.first == first && range.last == last && range.totalByteCount == total)
    }

    @Test func aLengthMayBeUnknown() throws {
        let range = try #require(ContentRange("bytes 10-19/*"))
        #expect(range.totalByteCount == nil)
    }

    @Test(arguments: [
        "", "bytes", "bytes */100", "bytes 0-99", "bytes 9-8/100", "bytes 0-100/100", "bytes -1-5/10", "bytes 0-+5/10",
        "items 0-1/2", "bytes 0-1/2/3", "bytes 0-1-2/3", "bytes 0-9223372036854775808/9223372036854775809",
        "bytes a-b/c",
    ])
    func invalidRangesAreRefused(text: String) { #expect(ContentRange(text) == nil) }
}
