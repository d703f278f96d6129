import Foundation
import Testing
import WebImage

@testable import WebImageCLI

@Suite(.timeLimit(.minutes(3))) struct ShellAdviceTests {
    private static let url = URL(string: "http://127.0.0.1/a.png") ?? URL(filePath: "/")

    private static let cases: [(WebImageError, String?)] = [
        (
            .invalidRequest(reason: .unsupportedScheme("ftp"), url: url),
            "Use an https, http, file or data URL, or a path."
        ),
        (
            .blocked(reason: .insecureRedirect(to: url), url: url),
            "If you trust the network, load the redirect's target."
        ),
        (.httpStatus(code: 401, url: url), "Use --user NAME:PASSWORD."),
        (.httpStatus(code: 407, url: url), "Write NAME:PASSWORD@ into the proxy's URL, such as in https_proxy."),
        (.httpStatus(code: 404, url: url), "Check the address."),
        (.timedOut(reason: .connecting, seconds: 1, url: url), "Try again, or with a longer --idle-timeout."),
        (.timedOut(reason: .idle, seconds: 1, url: url), "Try again, or with a longer --idle-timeout."),
        (.timedOut(reason: .slow(bytesPerSecond: 9), seconds: 1, url: url), "Try again."),
        (.timedOut(reason: .total, seconds: 1, url: url), "Use a longer --max-time."),
        (.certificate(reason: .selfSigned, url: url), "If you know its authority, use --cacert FILE."),
        (.certificate(reason: .unknownIssuer, url: url), "If you know its authority, use --cacert FILE."),
        (.invalidResponse(reason: .bodyTooLong(byteCount: 2, limit: 1), url: url), nil),
        (.invalidResponse(reason: .contentCoding("gzip"), url: url), "Use --header 'Accept-Encoding: gzip'."),
        (.decoding(format: .avif, reason: .noDecoder), "This program was built without that format."),
        (
            .limitExceeded(reason: .memory(byteCount: 2, limit: 1)),
            "Use --size to decode a smaller image; for a file you trust: --max-pixels N."
        ),
        (
            .limitExceeded(reason: .pixels(size: PixelSize(width: 20_000, height: 12_000), limit: 100_000_000)),
            ": 20,000 × 12,000 is 240 million pixels, more than the 100 million allowed. For a file you trust: --max-pixels 250M."
        ),
        (
            .limitExceeded(reason: .pixels(size: PixelSize(width: 64, height: 48), limit: 3_000)),
            ": 64 × 48 is 3,072 pixels, more than the 3,000 allowed. For a file you trust: --max-pixels 3072."
        ),
        (.limitExceeded(reason: .pixels(size: PixelSize(width: 65_536, height: 1), limit: 3_000)), nil),
        (.limitExceeded(reason: .frames(limit: 1)), nil), (.limitExceeded(reason: .scans(limit: 1)), nil),
        (.limitExceeded(reason: .processorTime(seconds: 1)), nil),
        (.diskCache(path: "/c", reason: .foreignDirectory(owner: 7)), "Use another directory with --cache-dir."),
        (.notInCache(key: "http://127.0.0.1/a.png#size"), "Use another --policy to load it."),
    ]

    @Test(arguments: cases) func namesOptionsOfTheTool(error: WebImageError, advice: String?) {
        let text = error.shellDescription(about: Self.url.absoluteString)
        #expect(text.hasPrefix(Self.url.absoluteString + ": "))
        #expect(advice.map(text.hasSuffix) ?? !text.contains(". "), "\(text)")
    }

    @MainActor @Test func eachOptionInAnAdviceIsAnOptionOfGet() {
        let options = Set(GetCommand.syntax.options.map { "--\($0.name)" })
        let named = Self.cases.compactMap(\.1).flatMap { $0.matches(of: /--[a-z-]+/).map { String($0.output) } }
        #expect(named.count >= 8 && options.isSuperset(of: named))
    }

    @Test(arguments: [(9, 1, "there is no image 9; the file has one."), (4, 3, "there is no image 4; there are 3.")])
    func countsPagesFrom1(page: Int, count: Int, sentence: String) {
        let error = WebImageError.decoding(format: .ico, reason: .page(page - 1, count: count))
        #expect(error.shellDescription(about: "a.ico") == "a.ico: \(sentence)")
    }

    @Test func namesTheURLThatARedirectLedTo() {
        let text = WebImageError.httpStatus(code: 404, url: Self.url).shellDescription(
            about: "http://user:secret@host/b")
        #expect(text.hasPrefix("http://host/b: \(Self.url.absoluteString): the server responded with status 404"))
    }
}
