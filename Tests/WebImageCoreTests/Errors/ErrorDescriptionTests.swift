import FoundationEssentials
import Testing
import WebImageCore

@Suite struct ErrorDescriptionTests {
    private static let url = URL(string: "https://user:p%40ss@host:8443/a.png?b=@c")

    @Test func neverShowsNameAndPasswordOfAURL() throws {
        let url = try #require(Self.url)
        let errors: [WebImageError] = [
            .unsupportedScheme("x", url: url), .httpStatus(code: 404, url: url),
            .transport(code: 6, message: "Could not resolve \(url.absoluteString)", url: url),
            .timedOut(seconds: 1, url: url), .timedOut(reason: .total, seconds: 1, url: url),
            .tooManyInformationalResponses(limit: 20, url: url), .tooManyRedirects(limit: 1, url: url),
            .truncated(expected: 1, received: 0, url: url), .truncated(expected: nil, received: 0, url: url),
            .emptyBody(url: url), .responseTooLarge(byteCount: 2, limit: 1, url: url), .requestRefused(url: url),
            .responseRefused(url: url), .unacceptableContentType("text/html", url: url),
            .unsupportedContentCoding("br", url: url), .decryptionFailed(url: url), .noThread(url: url),
            .invalidProxy(variable: "http_proxy", url: url),
            .offline(seconds: 1, url: url),
            .unsupportedMethod("GET", hasBody: true, url: url), .unsupportedMethod("POST", hasBody: false, url: url),
            .notInCache(key: url.absoluteString), .invalidURL(url.absoluteString),
        ]
        for error in errors {
            #expect(!error.description.contains("user") && !error.description.contains("p%40ss"), "\(error)")
        }
        #expect(errors[1].description.hasPrefix("https://host:8443/a.png?b=@c: "))
    }

    @Test func saysWhichTimeLimitWasReachedAndHowToChangeIt() throws {
        let url = try #require(URL(string: "https://host/a"))
        let reasons: [(WebImageError.TimeoutReason, String, String)] = [
            (.connecting, "no connection within 2.0 s", "connectTimeout"),
            (.idle, "nothing arrived for 2.0 s", "idleTimeout"),
            (.slow(bytesPerSecond: 100), "fewer than 100 bytes a second arrived during 2.0 s", "minimumBytesPerSecond"),
            (.total, "took longer than 2.0 s", "totalTimeout"),
        ]
        for (reason, fact, setting) in reasons {
            let error = WebImageError.timedOut(reason: reason, seconds: 2, url: url)
            #expect(error.description.contains(fact) && error.description.contains(setting), "\(error)")
            #expect(error.code == 202)
        }
    }

    @Test(arguments: [
        ("http://u:p/w@host/a", "'http://host/a'"), ("u:p@host", "'host'"), ("//u:p@host", "'//host'"),
        ("plain", "'plain'"),
    ])
    func showsNothingOfAPasswordInWhatIsNoURL(text: String, shown: String) {
        #expect(WebImageError.invalidURL(text).description.hasPrefix(shown))
    }

    @Test(arguments: ["https://host/@user/b@2x.png", "https://host?a@b", "a//b c@d"])
    func leavesOtherAtSignsAlone(text: String) {
        #expect(WebImageError.notInCache(key: text).description.hasPrefix(text))
    }

    @Test func saysWhatIsWrongWithTheFramesOfAnAnimation() {
        let size = PixelSize(width: 3, height: 2)
        let rect = PixelRect(x: 1, y: 2, width: 4, height: 5)
        let faults: [(WebImageError.AnimationFault, String)] = [
            (.noFrames, "Give one at least"), (.durationCount(2, frameCount: 3), "2 durations for 3 frames"),
            (.duration(-1, frame: 7), "frame 7 is to be shown for -1.0 s"),
            (.frameSize(size, frame: 1, expected: PixelSize(width: 9, height: 9)), "3×2 pixels, the first of 9×9"),
            (.outsideSheet(rect, frame: 4, sheet: size), "frame 4, 4×5 at (1, 2)"),
        ]
        for (fault, text) in faults {
            let error = WebImageError.invalidAnimation(reason: fault)
            #expect(error.description.contains(text), "\(error)")
            #expect(error.code == 311)
        }
    }
}
