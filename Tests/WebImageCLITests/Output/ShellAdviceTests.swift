import Foundation
import ProgramSupport
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
        (.timedOut(reason: .connecting, after: .seconds(1), url: url), "Try again, or with a longer --idle-timeout."),
        (.timedOut(reason: .idle, after: .seconds(1), url: url), "Try again, or with a longer --idle-timeout."),
        (.timedOut(reason: .slow(bytesPerSecond: 9), after: .seconds(1), url: url), "Try again."),
        (.timedOut(reason: .total, after: .seconds(1), url: url), "Use a longer --max-time."),
        (.certificate(reason: .selfSigned, url: url), "If you know its authority, use --cacert FILE."),
        (.certificate(reason: .unknownIssuer, url: url), "If you know its authority, use --cacert FILE."),
        (.invalidResponse(reason: .bodyTooLong(byteCount: 2, limit: 1), url: url), nil),
        (.invalidResponse(reason: .contentCoding("gzip"), url: url), "Use --header 'Accept-Encoding: gzip'."),
        (.decoding(format: .avif, reason: .noDecoder), "This program was built without that format."),
        (.limitExceeded(reason: .memory(byteCount: 2, limit: 1)), nil),
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
        (
            .limitExceeded(reason: .processorTime(limit: .seconds(1))),
            "For a file you trust: a longer --max-decode-time."
        ),
        (.diskCache(path: "/c", reason: .foreignDirectory(owner: 7)), "Use another directory with --cache-dir."),
        (.notInCache(key: "http://127.0.0.1/a.png#size"), "Use another --policy to load it."),
    ]

    @Test(arguments: cases) func namesOptionsOfTheTool(error: WebImageError, advice: String?) {
        let text = error.shellDescription(about: Self.url.absoluteString)
        #expect(text.hasPrefix(Self.url.absoluteString + ": "))
        #expect(advice.map(text.hasSuffix) ?? !text.contains(". "), "\(text)")
    }

    // MARK: Memory

    private static func settings(_ name: String, count: Int? = nil, canScale: Bool = true) throws -> DecodingSettings {
        DecodingSettings(
            input: try ImageInput(SystemString(name)), limits: InputLimits(count: count), codecs: .shared,
            canScale: canScale)
    }

    @Test func memoryIsReadableAndTheAdviceHasANumber() throws {
        let error = WebImageError.limitExceeded(reason: .memory(byteCount: 1_600_000_000, limit: 1 << 30))
        let problem = "https://a.example/a.png: decoding takes 1.5 GiB of memory; 1 GiB is allowed."
        for (canScale, advice) in [
            (true, "Use --size to decode a smaller image; for a file you trust: --max-pixels 150M."),
            (false, "For a file you trust: --max-pixels 150M."),
        ] {
            let settings = try Self.settings("https://a.example/a.png", canScale: canScale)
            #expect(
                error.shellDescription(about: "https://a.example/a.png", decoding: settings) == "\(problem) \(advice)")
        }
        let close = WebImageError.limitExceeded(reason: .memory(byteCount: 1 << 30 + 1, limit: 1 << 30))
        #expect(close.shellDescription() == "decoding takes a bit more than 1 GiB of memory; 1 GiB is allowed.")
    }

    /// The bytes that decoding takes, the limit that it exceeds, and the value of the option that is in force.
    @Test(
        arguments: [
            (1_600_000_000, 1 << 30, nil), (6 << 30, 1 << 30, nil), (1 << 30 + 1, 1 << 30, nil),
            (900 << 20, 512 << 20, nil), (5 << 30, 2_534_217_728, 200_000_000),
        ] as [(Int, Int, Int?)])
    func theNumberIsEnough(byteCount: Int, allowed: Int, count: Int?) throws {
        for size in [nil, PixelSize(width: 20_000, height: 20_000)] {
            let settings = try Self.settings("/a.png", count: count)
            let limit = try #require(settings.sufficientLimit(forMemory: byteCount, allowed: allowed, size: size))
            let value = try #require(PixelCount(limit.sufficientLimit)).value
            #expect(value <= PixelCount.largest)
            let limits = InputLimits(count: value).limits(for: settings.input)
            #expect(limits.pixelCount >= size?.pixelCount ?? count ?? byteCount / 4)
            // A decoder that allows half of the limit has half of the new one.
            let before = settings.limits.limits(for: settings.input).memoryByteCount
            #expect(Double(limits.memoryByteCount) * Double(allowed) / Double(before) >= Double(byteCount))
        }
    }

    @Test func noNumberIsNamedThatWouldNotHelp() throws {
        let settings = try Self.settings("/a.jp2")
        // A bound of a decoder, which no option raises, and more pixels than an image can have.
        #expect(settings.sufficientLimit(forMemory: 500 << 20, allowed: 448 << 20, size: nil) == nil)
        #expect(settings.sufficientLimit(forMemory: 1 << 40, allowed: 1 << 30, size: nil) == nil)
        // A decoder process that was taken over sends any number.
        for number in [Int.min, -1, 0, .max] {
            let size = PixelSize(width: number, height: .max)
            #expect(settings.sufficientLimit(forMemory: number, allowed: number, size: size) == nil)
            _ = settings.sufficientLimit(forMemory: number, allowed: 1 << 30, size: nil)?.sufficientLimit
        }
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
