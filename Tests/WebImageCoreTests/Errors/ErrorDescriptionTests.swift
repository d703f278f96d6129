import FoundationEssentials
import Testing
import WebImageCore

@Suite(.timeLimit(.minutes(3))) struct ErrorDescriptionTests {
    private static let url = URL(string: "https://user:p%40ss@host:8443/a.png?b=@c")

    /// One error of each case and reason that contains a URL, a key or a text of the user.
    private static func errors(_ url: URL) -> [WebImageError] {
        [
            .invalidURL(url.absoluteString), .notInCache(key: url.absoluteString), .httpStatus(code: 404, url: url),
            .transport(code: 6, message: "Could not resolve \(url.absoluteString)", url: url),
            .invalidRequest(reason: .unsupportedScheme("x"), url: url),
            .invalidRequest(reason: .unsupportedMethod("GET", hasBody: true), url: url),
            .invalidRequest(reason: .unsupportedMethod("POST", hasBody: false), url: url),
            .invalidRequest(reason: .invalidHeader(name: "X"), url: url),
            .invalidRequest(reason: .invalidProxy(variable: "http_proxy"), url: url),
            .blocked(reason: .hook, url: url), .blocked(reason: .redirect(to: url), url: url),
            .blocked(reason: .insecureRedirect(to: url), url: url), .blocked(reason: .host("host"), url: url),
            .timedOut(after: .seconds(1), url: url), .timedOut(reason: .total, after: .seconds(1), url: url),
            .timedOut(reason: .offline, after: .seconds(1), url: url), .certificate(reason: .expired, url: url),
            .invalidResponse(reason: .truncated(expected: 1, received: 0), url: url),
            .invalidResponse(reason: .truncated(expected: nil, received: 0), url: url),
            .invalidResponse(reason: .emptyBody, url: url),
            .invalidResponse(reason: .bodyTooLong(byteCount: 2, limit: 1), url: url),
            .invalidResponse(reason: .headersTooLong(limit: 20), url: url),
            .invalidResponse(reason: .tooManyRedirects(limit: 1), url: url),
            .invalidResponse(reason: .tooManyInformationalResponses(limit: 20), url: url),
            .invalidResponse(reason: .contentType("text/html"), url: url),
            .invalidResponse(reason: .contentCoding("br"), url: url),
            .invalidResponse(reason: .decryption, url: url), .invalidResponse(reason: .refused, url: url),
            .outOfResources(reason: .thread, url: url),
            .unrecognizedFormat(contentType: "text/html", leadingBytes: [], url: url),
            .decoding(format: .png, reason: .truncated, url: url),
            .decoding(format: .png, reason: .page(7, count: 3), url: url),
            .limitExceeded(reason: .frames(limit: 1), url: url),
            .processing(identifier: "blur", reason: .emptyResult, url: url),
        ]
    }

    @Test func neverShowsNameAndPasswordOfAURL() throws {
        for error in Self.errors(try #require(Self.url)) {
            for text in [error.description, error.errorDescription, error.recoverySuggestion].compactMap({ $0 }) {
                #expect(!text.contains("user") && !text.contains("p%40ss"), "\(text)")
            }
        }
    }

    @Test func beginsWithTheURLIfKnown() throws {
        let url = try #require(URL(string: "https://host:8443/a.png?b=@c"))
        for error in Self.errors(url).dropFirst() {
            #expect(error.description.hasPrefix("https://host:8443/a.png?b=@c: "), "\(error)")
            if case .notInCache = error { continue }
            #expect(error.url == url)
        }
        #expect(WebImageError.cancelled.url == nil)
    }

    /// Names of the library have a capital letter inside.
    @Test func advicesForUsersNameNoAPI() throws {
        let url = try #require(URL(string: "https://host/a.png"))
        let further: [WebImageError] = [
            .blocked(reason: .failedBefore(code: 7), url: url),
            .timedOut(reason: .connecting, after: .seconds(1), url: url),
            .timedOut(reason: .slow(bytesPerSecond: 1), after: .seconds(1), url: url),
            .outOfResources(reason: .memory(byteCount: 1), url: url),
            .unrecognizedFormat(contentType: nil, leadingBytes: [0], url: url),
            .decoding(format: .avif, reason: .noDecoder, url: url),
            .limitExceeded(reason: .memory(byteCount: 2, limit: 1), url: url),
            .limitExceeded(reason: .scans(limit: 1), url: url), .httpStatus(code: 401, url: url),
        ]
        for error in Self.errors(url) + further {
            let advice = error.userAdvice ?? ""
            #expect(
                advice.firstMatch(of: /[a-z][A-Z]|[Dd]ecoder|[Ll]imit|[Tt]humbnail|[Cc]redential/) == nil, "\(advice)")
        }
        #expect(WebImageError.httpStatus(code: 404, url: url).userAdvice == "Check the address.")
    }

    @Test func isALocalizedErrorWithDescriptionAndAdvice() throws {
        let url = try #require(URL(string: "https://host/a.png"))
        let error: any LocalizedError = WebImageError.httpStatus(code: 404, url: url)
        #expect(error.errorDescription == "https://host/a.png: the server responded with status 404 (not found).")
        #expect(error.recoverySuggestion == "Check the address.")
        #expect(error.localizedDescription == error.errorDescription)
        #expect(
            "\(error)" == "https://host/a.png: the server responded with status 404 (not found). Check the address.")
        #expect(WebImageError.cancelled.localizedDescription == "The load was cancelled.")
    }

    @Test(arguments: [
        ("", "No URL was given. Write it in full, such as https://example.org/image.jpg."),
        (
            "127.0.0.1:8091/a.jpg",
            "'127.0.0.1:8091/a.jpg' is not a valid URL. Did you mean http://127.0.0.1:8091/a.jpg?"
        ),
        ("example.org/a.jpg", "'example.org/a.jpg' is not a valid URL. Did you mean https://example.org/a.jpg?"),
        ("/home/me/a b.jpg", "'/home/me/a b.jpg' is not a valid URL. For a file, write file:///home/me/a%20b.jpg."),
        ("photo", "'photo' is not a valid URL. Write it in full, such as https://example.org/image.jpg."),
        ("http://", "'http://' is not a valid URL. Write it in full, such as https://example.org/image.jpg."),
    ])
    func suggestsAURLForAnInvalidOne(text: String, description: String) {
        #expect(WebImageError.invalidURL(text).description == description)
    }

    @Test func describesAnEmptyFileWithoutAServer() {
        let error = WebImageError.file(path: "/tmp/a.png", errno: 61)
        #expect(error.description == "/tmp/a.png: the file is empty.")
    }

    @Test func namesTheURLOfAWebPage() throws {
        let url = try #require(URL(string: "https://host/a.png"))
        let error = WebImageError.unrecognizedFormat(contentType: nil, leadingBytes: Array("<!DOCTYPE html>".utf8))
            .concerning(url)
        #expect(error.description.hasPrefix("https://host/a.png: this is a web page, not an image."))
        #expect(error.concerning(URL(filePath: "/other")) == error)
    }

    @Test func saysWhichTimeLimitWasReachedAndHowToChangeIt() throws {
        let url = try #require(URL(string: "https://host/a"))
        let reasons: [(WebImageError.TimeoutReason, String, String)] = [
            (.connecting, "no connection within 2 s", "connectTimeout"),
            (.idle, "nothing arrived for 2 s", "idleTimeout"),
            (.slow(bytesPerSecond: 100), "fewer than 100 bytes a second arrived during 2 s", "minimumBytesPerSecond"),
            (.total, "took longer than 2 s", "totalTimeout"),
        ]
        for (reason, fact, setting) in reasons {
            let error = WebImageError.timedOut(reason: reason, after: .seconds(2), url: url)
            #expect(error.description.contains(fact) && error.description.contains(setting), "\(error)")
            #expect(error.code == 202)
        }
    }

    @Test(arguments: [
        ("http://u:p/w@host/a", "'http://host/a'"), ("u:p@host", "'host'"), ("//u:p@host", "'//host'"),
        ("plain", "'plain'"),
    ])
    func hidesPasswordsInInvalidURLs(text: String, shown: String) {
        #expect(WebImageError.invalidURL(text).description.hasPrefix(shown))
    }

    @Test(arguments: ["https://host/@user/b@2x.png", "https://host?a@b", "a//b c@d"])
    func keepsOtherAtSigns(text: String) {
        #expect(WebImageError.notInCache(key: text).description.hasPrefix(text))
    }

    @Test func describesInvalidFramesOfAnAnimation() {
        let size = PixelSize(width: 3, height: 2)
        let rect = PixelRect(x: 1, y: 2, width: 4, height: 5)
        let faults: [(WebImageError.FrameFailure, String)] = [
            (.none, "Add at least one"), (.durationCount(2, frameCount: 3), "2 durations for 3 frames"),
            (.duration(.seconds(-1), frame: 7), "the duration of frame 8 is -1 s"),
            (
                .size(size, frame: 1, expected: PixelSize(width: 9, height: 9)),
                "frame 2 has 3×2 pixels, the first has 9×9"
            ),
            (.outsideSheet(rect, frame: 4, sheet: size), "frame 5, 4×5 at (1, 2)"),
        ]
        for (fault, text) in faults {
            let error = WebImageError.invalidFrames(reason: fault)
            #expect(error.description.contains(text), "\(error)")
            #expect(error.code == 311)
        }
    }

    @Test func suggestsRaisingALimitOnlyIfPossible() {
        let many = WebImageError.limitExceeded(
            reason: .pixels(size: PixelSize(width: 20_000, height: 10_000), limit: 100_000_000))
        #expect(many.description.contains("more than the 100000000 allowed"))
        #expect(many.description.contains("Raise the limit"))
        let long = WebImageError.limitExceeded(
            reason: .pixels(size: PixelSize(width: 70_000, height: 1), limit: 100_000_000))
        #expect(long.description.contains("a side has at most 65535"))
        #expect(!long.description.contains("Raise"))
    }

    @Test func suggestsWhatToDoAboutDrawings() {
        let emoji = WebImageError.processing(identifier: "drawing", reason: .noFont(emoji: "😀"))
        #expect(emoji.code == 322 && emoji.description.contains("fonts-noto-color-emoji"))
        let size = WebImageError.processing(
            identifier: "drawing",
            reason: .resultTooLarge(PixelSize(width: 40_000, height: 1), sideLimit: 32_767))
        #expect(size.description.contains("40000×1 exceeds the 32767 pixels"))
    }

    @Test(arguments: ["no such row", "no such row.", "no such row. ", "Is it there?"])
    func endsWithOneStop(message: String) throws {
        let stop = message.hasSuffix("?") ? "?" : "."
        let errors: [WebImageError] = [
            .custom(id: "cover", message: message), .processing(identifier: "blur", reason: .failed(message)),
            .diskCache(path: "/a", reason: .archiving(key: "k", message: message)),
            .diskCache(path: "/a", reason: .unarchiving(key: "k", message: message)),
        ]
        for error in errors {
            let fact = try #require(error.errorDescription)
            #expect(fact.hasSuffix(stop) && !fact.contains("..") && !fact.contains("?."), "\(fact)")
        }
    }

    /// What an app reads from an error: the case with its facts, a number for logs, and the URL.
    @Test func hasItsFactsANumberAndTheURL() throws {
        let url = try #require(URL(string: "https://host/a"))
        let numbers: [(WebImageError, Int, URL?)] = [
            (.invalidURL(""), 100, nil), (.cancelled, 102, nil), (.httpStatus(code: 404, url: url), 200, url),
            (.transport(code: 7, message: "refused", url: url), 201, url),
            (.timedOut(after: .seconds(1), url: url), 202, url),
            (.blocked(reason: .failedBefore(code: 200), url: url), 210, url),
            (.blocked(reason: .hook, url: url), 220, url),
            (.invalidResponse(reason: .truncated(expected: 9, received: 1), url: url), 204, url),
            (.custom(id: "cover", message: "gone"), 240, nil),
            (.unrecognizedFormat(contentType: "text/html", leadingBytes: [], url: url), 300, url),
            (.decoding(format: .png, reason: .truncated, url: url), 301, url), (.notInCache(key: "a"), 400, nil),
        ]
        for (error, number, subject) in numbers { #expect(error.code == number && error.url == subject, "\(error)") }
        guard case .httpStatus(code: 404, _) = numbers[2].0, case .transport(code: 7, _, _) = numbers[3].0,
            case .blocked(.failedBefore(code: 200), _) = numbers[5].0,
            case .invalidResponse(.truncated(expected: 9, received: 1), _) = numbers[7].0
        else {
            Issue.record("the facts are lost")
            return
        }
    }

    /// Processes that were taken over send such numbers.
    @Test func extremeNumbersHaveTexts() {
        let size = PixelSize(width: .max, height: .min)
        let rect = PixelRect(x: .min, y: .max, width: .max, height: .min)
        for number in [Int.min, .min + 1, -1, 0, .max] {
            let errors: [WebImageError] = [
                .decoding(format: .png, reason: .page(number, count: number)),
                .limitExceeded(reason: .pixels(size: size, limit: number)),
                .limitExceeded(reason: .side(width: number, height: number)),
                .limitExceeded(reason: .memory(byteCount: number, limit: number)),
                .outOfResources(reason: .memory(byteCount: number)),
                .encoding(format: .png, reason: .frameNumber(number, frameCount: number)),
                .invalidFrames(reason: .durationCount(number, frameCount: number)),
                .invalidFrames(reason: .duration(.seconds(number), frame: number)),
                .invalidFrames(reason: .size(size, frame: number, expected: size)),
                .invalidFrames(reason: .outsideSheet(rect, frame: number, sheet: size)),
            ]
            for error in errors { #expect(!error.description.isEmpty) }
        }
    }
}
