import Foundation
import Testing
import WebImageCore
import WebImageLoading

/// What the WHATWG Fetch Standard's "data: URL processor" returns, rule by rule.
@Suite(.timeLimit(.minutes(3))) struct DataURLTests {
    private let loader = DataURLLoader()

    struct Case: Sendable {
        let text: String
        /// `nil` for a URL that browsers refuse.
        let mediaType: String?
        var body: [UInt8] = []
    }

    private static func row(_ text: String, _ mediaType: String?, _ body: String = "X") -> Case {
        Case(text: text, mediaType: mediaType, body: Array(body.utf8))
    }

    private static let standard = "text/plain;charset=US-ASCII"

    private static let types: [Case] = [
        // Without a valid type the standard one applies.
        row("data:,X", standard), row("data:X,X", standard), row("data:x/,X", standard), row("data:/x,X", standard),
        row("data:a b/c,X", standard), row("data:a/b c,X", standard), row("data:†,X", standard),
        row("data://h/,X", standard), row("data:\u{0},X", standard), row("data:%00,X", standard),
        // Names are in lower case, values are not.
        row("data:IMAGE/Png,X", "image/png"), row("data:a/b;C=D,X", "a/b;c=D"), row("DATA:a/b,X", "a/b"),
        row("data:%E2/b,X", "%e2/b"), row("data:ä/b,X", "%c3%a4/b"), row("data:a/b\u{C},X", "a/b%0c"),
        // Spaces around the type and its parts.
        row("data: a/b ,X", "a/b"), row("data:a/b ;c=d,X", "a/b;c=d"), row("data:a/b; c=d,X", "a/b;c=d"),
        row("data:a/b;c=d ,X", "a/b;c=d"), row("data:a/b;c= d,X", "a/b;c=\" d\""), row("data:a/b;c =d,X", "a/b"),
        row("data:a\t/\nb\r,X", "a/b"), row(" \u{C}data:a/b,X\u{1} \n", "a/b"),
        // Parameters that are left out.
        row("data:a/b;,X", "a/b"), row("data:a/b;c,X", "a/b"), row("data:a/b;c=,X", "a/b"),
        row("data:a/b;=d,X", "a/b"), row("data:a/b;c=d;C=e,X", "a/b;c=d"), row("data:a/b;c;d=e,X", "a/b;d=e"),
        row("data:a/b;;c=d,X", "a/b;c=d"), row("data:;c=d,X", "text/plain;c=d"),
        // Quoted values.
        row("data:a/b;c=\"d\",X", "a/b;c=d"), row("data:a/b;c=\"d e\",X", "a/b;c=\"d e\""),
        row("data:a/b;c=\"\",X", "a/b;c=\"\""), row("data:a/b;c=\"d,X", "a/b;c=d"),
        row("data:a/b;c=\"\\d\\\"\\\\\",X", "a/b;c=\"d\\\"\\\\\""), row("data:a/b;c=\"d\"e;f=g,X", "a/b;c=d;f=g"),
        row("data:a/b;c=\"\\,X", "a/b;c=\"\\\\\""), row("data:a/b;c=d\"e,X", "a/b;c=\"d\\\"e\""),
        row("data:a/b;c=\",\",X", "a/b;c=\"\"", "\",X"), row("data:a/b;c=%2C,X", "a/b;c=%2C"),
        // No comma, no data; an authority must be valid.
        row("data:", nil), row("data:a/b", nil), row("data:a/b;base64", nil), row("data:a/b#,X", nil),
        row("data://h:port/,X", nil),
        row("data:" + String(repeating: "a", count: 8001) + ",X", nil),
    ]

    private static let bodies: [Case] = [
        row("data:,a b", standard, "a b"), row("data:,a%20b", standard, "a b"),
        row("data:,a,b?c=d", standard, "a,b?c=d"),
        row("data:,a#b", standard, "a"), row("data:,a%23b", standard, "a#b"), row("data:,ä", standard, "ä"),
        row("data:,a\tb\r\nc", standard, "abc"), row("data:,a%0Ab", standard, "a\nb"),
        row("data:,<a b='c'>%23|{}", standard, "<a b='c'>#|{}"), row("data:,%3ca b='%23'%3e", standard, "<a b='#'>"),
        row("data:,%", standard, "%"), row("data:,%4", standard, "%4"), row("data:,%4g b", standard, "%4g b"),
        row("data:,%41%", standard, "A%"), row("data:,%41 %2541", standard, "A %41"),
        row("data:,%41?%41 b", standard, "A?A b"), row("data:,a:b %41", standard, "a:b A"),
        row("data:,%41 b#%41 c", standard, "A b"), row("data:,a%20", standard, "a "),
        row("data:a b,%41", standard, "A"),
        Case(text: "data:,%FF", mediaType: standard, body: [0xFF]),
        Case(text: "data: ,%FF", mediaType: standard, body: [0xFF]),
        Case(text: "data:,%00", mediaType: standard, body: [0]),
    ]

    private static let base64: [Case] = [
        row("data:;base64,WA", standard), row("data:;BASE64,WA", standard), row("data:;  base64 ,WA", standard),
        row("data: ; base64 ,WA", standard), row("data:a/b;base64,WA==", "a/b"), row("data:a/b ;base64,WA", "a/b"),
        row("data:a/b;c=d;base64,WA", "a/b;c=d"), row("data:a/b;base64;base64,WA", "a/b"),
        // The word is something else.
        row("data:base64,WA", standard, "WA"), row("data:a/b;base64;c=d,WA", "a/b;c=d", "WA"),
        row("data:;base64;,WA", "text/plain", "WA"), row("data:;base 64,WA", "text/plain", "WA"),
        row("data:;xbase64,WA", "text/plain", "WA"), row("data:;%62ase64,WA", "text/plain", "WA"),
        row("data:%3Bbase64,WA", standard, "WA"), row("data:?; base64,WA", standard, "WA"),
        row("data:/; base64,WA", standard, "WA"), row("data:;base64=,WA", "text/plain", "WA"),
        // White space and escapes.
        row("data:;base64,W A", standard), row("data:;base64,%20W%0CA%0D%0A%09", standard),
        row("data:;base64,\nWA\t=\r=", standard), row("data:;base64,%57%41%3D%3d", standard),
        row("data:;base64,W%41 ", standard), row("data:;base64,WA#=", standard),
        // The bits after the last byte are ignored.
        row("data:;base64,WF", standard), row("data:;base64,WFj", standard, "XX"),
        Case(text: "data:;base64,AQID/+8=", mediaType: standard, body: [1, 2, 3, 255, 239]),
    ]

    private static let invalidBase64 = [
        "W", "WAAAW", "=", "==", "===", "====", "W=", "W==", "W===", "WA=", "WA===", "WA====", "WFg==", "WFg===",
        "WFhY=", "WFhY==", "WFhY====", "=W", "W=A=", "WA=A", "WA==WA==", "W-A_", "W\u{B}A", "W\u{A0}A", "W\u{0}A",
        "WA%00", "𐀀", "WA%", "%", "WA==%3D",
    ].map { Case(text: "data:;base64," + $0, mediaType: nil) }

    /// Loads the URL; `nil` if it is invalid.
    private func content(of url: URL) async throws -> (mediaType: String?, body: [UInt8])? {
        var request = LoaderRequest(url: url)
        request.acceptsAnyAnswer = true
        let recording = loader.record(request).recording
        if let error = try await recording.error() {
            guard case .invalidURL(_, _?) = error else { throw error }
            #expect(recording.response == nil)
            return nil
        }
        #expect(recording.isInOrder && recording.response?.expectedByteCount == Int64(recording.byteCount))
        return (recording.response?.headerValue("Content-Type"), Array(recording.bytes))
    }

    private func expect(_ row: Case) async throws {
        let content: (mediaType: String?, body: [UInt8])? =
            if let url = try? URL(address: row.text) { try await content(of: url) } else { nil }
        #expect(content?.mediaType == row.mediaType, "\(row.text.debugDescription)")
        #expect(content?.body == (row.mediaType == nil ? nil : row.body), "\(row.text.debugDescription)")
        // Foundation may have encoded the text, from which the type cannot always be told.
        guard let url = URL(string: row.text) else { return }
        let encoded = try await self.content(of: url)
        #expect(row.mediaType == nil ? encoded == nil : encoded != nil, "\(url)")
        if Self.isReadable(row.text) { #expect(encoded?.body == content?.body, "\(row.text.debugDescription) \(url)") }
    }

    /// Whether `URL(string:)` does not merge a line break, which browsers leave out, and an escaped one.
    private static func isReadable(_ text: String) -> Bool { !text.contains { "\t\n\r".contains($0) || $0 == "\r\n" } }

    @Test(arguments: types + bodies + base64 + invalidBase64)
    func readsAURLAsBrowsersDo(_ row: Case) async throws { try await expect(row) }

    private static let casesOfBrowsers = "/work/shared/reproductions/data-urls.json"

    /// The cases of the standard's own tests, where they are at hand.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: casesOfBrowsers), "needs the standard's tests"))
    func readsTheCasesOfBrowsers() async throws {
        let file = try #require(FileManager.default.contents(atPath: Self.casesOfBrowsers))
        let rows = try #require(try JSONSerialization.jsonObject(with: file) as? [[Any]])
        for row in rows {
            let body = row.count > 2 ? try #require(row[2] as? [Int]).map(UInt8.init) : []
            try await expect(
                Case(text: try #require(row[0] as? String), mediaType: row[1] as? String, body: body))
        }
        #expect(rows.count >= 78)
    }

    @Test func aURLThatFoundationKeepsIsKept() throws {
        for text in ["data:image/png;base64,iVBORw0KGgo=", "data:,a%23b", "http://127.0.0.1/a%20b", "file:///a"] {
            #expect(try URL(address: text).absoluteString == text)
        }
        #expect(try URL(address: " http://127.0.0.1/a\n").absoluteString == "http://127.0.0.1/a")
        #expect(throws: WebImageError.self) { try URL(address: "http://[") }
        // Foundation would encode the escapes, too.
        for text in ["http://h/%41 b%zz?%41|#%41#", "file:///%FF é"] {
            let encoded = text.replacing(" ", with: "%20").replacing("%zz", with: "%25zz").replacing("|", with: "%7C")
                .replacing("é", with: "%C3%A9")
            let end = encoded.hasSuffix("#") ? encoded.dropLast() + "%23" : encoded[...]
            #expect(try URL(address: text).absoluteString == end)
        }
    }

    /// The text of a URL that was encoded twice on purpose has an escape that Foundation would not write.
    @Test func keepsTheEscapesOfAnEscapedText() async throws {
        let url = try #require(URL(string: "data:,%3Ca%20href%3D%22x%2520y%22%3E"))
        #expect(try await loader.body(url) == Data("<a href=\"x%20y\">".utf8))
    }
}
