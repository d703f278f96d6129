import Foundation
import Glibc
import Testing
import WebImage
import WebImageTestSupport

@testable import WebImageService

/// What clients get beside the pixels.
@Suite(.timeLimit(.minutes(1)))
struct AnswerTests {
    private static let origin = Result { try OriginServer() }

    private func fixture(_ change: (inout ImageService.Configuration) -> Void = { _ in }) async throws -> ServiceFixture
    {
        let fixture = try ServiceFixture(Self.origin.get(), change)
        try await fixture.serve(
            "/a.png", width: 80, height: 40, "Last-Modified: Tue, 15 Nov 1994 12:45:26 GMT\nCache-Control: max-age=600")
        return fixture
    }

    // MARK: Paths

    @Test(arguments: [("", "", true), ("", "/images", false), ("/images", "/images", true), ("/images", "", false)])
    func pathsBeginWithThePrefix(prefix: String, start: String, isFound: Bool) async throws {
        let fixture = try await fixture { $0.pathPrefix = prefix }
        let source = try fixture.origin.url("/a.png").absoluteString
        for target in ["\(start)/_/w:20/plain/\(source)", "\(start)/info/_/plain/\(source)"] {
            let answer = await fixture.service.answer(to: ServiceRequest(target: target))
            #expect((answer.status == 200) == isFound, "\(target): \(answer.status)")
        }
    }

    @Test(arguments: [true, false]) func encodedSourcesMayEndWithAFileName(hasFileNames: Bool) async throws {
        let fixture = try await fixture { $0.hasFileNames = hasFileNames }
        let source = try Data(fixture.origin.url("/a.png").absoluteString.utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_")
        #expect(try await fixture.get("/w:20/\(source)").status == 200)
        for target in ["/_/w:20/\(source)/photo.jpg", "/info/_/\(source)/photo.jpg"] {
            let answer = await fixture.service.answer(to: ServiceRequest(target: target))
            #expect((answer.status == 200) == hasFileNames, "\(target): \(answer.text)")
        }
    }

    // MARK: Formats

    @Test(arguments: [
        ("image/avif,image/webp,*/*", "", "image/avif"), ("image/webp;q=0.8, image/png", "", "image/webp"),
        ("image/avif;q=0, image/webp;q=0.0", "", "image/png"), ("*/*", "", "image/png"), ("image/*", "", "image/png"),
        ("image/jxl", "", "image/jxl"), ("", "", "image/png"), ("image/webp", "@jpg", "image/jpeg"),
        ("image/webp", "@gif", "image/gif"),
    ])
    func theClientChoosesTheFormatUnlessThePathDoes(accept: String, suffix: String, type: String) async throws {
        let fixture = try await self.fixture { configuration in
            configuration.offeredFormats = [.jpegXL, .avif, .webp]
        }
        let answer = try await fixture.get("/w:20/plain/{}/a.png\(suffix)", ["Accept": accept])
        #expect(answer.status == 200, "\(answer.text.prefix(100))")
        #expect(answer.header("Content-Type") == type)
        #expect(answer.header("Vary") == (suffix.isEmpty ? "Accept" : nil))
        #expect(ImageFormat(signatureOf: answer.bytes)?.mimeType == type)
    }

    @Test func aFormatInThePathIsOneResultForAllClients() async throws {
        let fixture = try await self.fixture()
        for accept in ["image/webp", "image/png", ""] {
            #expect(try await fixture.get("/w:20/plain/{}/a.png@jpg", ["Accept": accept]).status == 200)
        }
        #expect(fixture.service.counters.made == 1)
    }

    @Test func theBestFormatIsTheShortest() async throws {
        let fixture = try await self.fixture()
        let best = try await fixture.get("/f:best/plain/{}/a.png", ["Accept": "image/webp"])
        var counts: [Int] = []
        for format in ["webp", "png", "jpg"] {
            counts.append(try await fixture.get("/plain/{}/a.png@\(format)").body.count)
        }
        #expect(best.body.count == counts.min() && best.header("Vary") == "Accept")
    }

    @Test func withoutAnOfferResultsAreInAFormatLikeTheirSource() async throws {
        let fixture = try await self.fixture()
        let picture = try ServiceFixture.picture(width: 40, height: 40)
        var animation = EncodableAnimation()
        for frame in [picture, try picture.processed(by: [.inverted()], cancellation: nil)] { animation.append(frame) }
        for format in [ImageFormat.png, .gif, .jpeg, .bmp] {
            try await fixture.origin.answer(
                "/still.\(format.name)", body: CodecRegistry.shared.encode(picture, as: format))
        }
        for format in [ImageFormat.png, .gif] {
            let file = try CodecRegistry.shared.encode(animation, as: format)
            try await fixture.origin.answer("/moving.\(format.name)", body: file)
        }
        for (path, type, count) in [
            ("still.png", "image/png", 1), ("still.gif", "image/png", 1), ("still.jpeg", "image/jpeg", 1),
            ("still.bmp", "image/jpeg", 1), ("moving.png", "image/png", 2), ("moving.gif", "image/gif", 2),
        ] {
            let answer = try await fixture.get("/w:20/plain/{}/\(path)")
            #expect(answer.header("Content-Type") == type, "\(path)")
            #expect(try CodecRegistry.shared.info(of: answer.bytes).frameCount == count, "\(path)")
        }
    }

    @Test func animationsStayAnimated() async throws {
        let fixture = try await self.fixture()
        let frames = try (1...3).map { number in
            try ServiceFixture.picture(width: 20 * number, height: 20 * number)
                .processed(by: [.resize(to: .pixels(width: 40, height: 40), mode: .stretch)], cancellation: nil).pixels
        }
        var animation = EncodableAnimation()
        for frame in frames { animation.append(Image(pixels: frame)) }
        try await fixture.origin.answer("/a.gif", body: CodecRegistry.shared.encode(animation, as: .gif))
        for (path, accept, count) in [
            ("/w:20/plain/{}/a.gif", "image/webp", 3), ("/w:20/plain/{}/a.gif", "", 3),
            ("/c:10:10/rot:90/plain/{}/a.gif@webp", "", 3), ("/w:20/plain/{}/a.gif@jpg", "", 1),
        ] {
            let answer = try await fixture.get(path, ["Accept": accept])
            #expect(answer.status == 200, "\(answer.text.prefix(100))")
            #expect(try CodecRegistry.shared.info(of: answer.bytes).frameCount == count, "\(path)")
        }
        let small = try await self.fixture { $0.limits.decoding.animationByteCount = 4 * 40 * 40 * 3 }
        #expect(try await small.get("/w:40/plain/{}/a.gif@webp").status == 200)
        #expect(try await small.get("/w:80/el:1/plain/{}/a.gif@webp").status == 422)
        #expect(try await small.get("/w:80/el:1/plain/{}/a.gif@png").status == 422)
        #expect(try await small.get("/w:80/el:1/plain/{}/a.gif@jpg").status == 200)
        let short = try await self.fixture { $0.limits.frameCount = 2 }
        #expect(try await short.get("/w:20/plain/{}/a.gif").status == 413)
    }

    @Test func hintsCountWhereThePathNamesNoSize() async throws {
        let fixture = try await self.fixture { $0.usesClientHints = true }
        func size(_ options: String, _ headers: [String: String]) async throws -> [Int] {
            try await fixture.get(options + "plain/{}/a.png@png", headers).size
        }
        #expect(try await size("/w:20/", ["Sec-CH-DPR": "2"]) == [40, 20])
        #expect(try await size("/w:20/dpr:1/", ["Sec-CH-DPR": "2"]) == [20, 10])
        #expect(try await size("/", ["Sec-CH-Width": "64", "DPR": "2"]) == [64, 32])
        // The density is that of the path, also if the client names the width, and counts for the padding.
        #expect(try await size("/dpr:2/pd:1/", ["Sec-CH-Width": "64"]) == [68, 36])
        #expect(try await size("/dpr:2/pd:1/", ["Sec-CH-Width": "64", "DPR": "4"]) == [68, 36])
        #expect(try await size("/pd:1/", ["Width": "64", "DPR": "4"]) == [72, 40])
        for options in ["/h:10/", "/w:20/"] { #expect(try await size(options, ["Width": "64"]) == [20, 10]) }
        #expect(try await size("/", ["Sec-CH-Width": "-5", "DPR": "1e9"]) == [80, 40])
        let answer = try await fixture.get("/plain/{}/a.png")
        #expect(answer.header("Vary") == "Accept, Sec-CH-DPR, DPR, Sec-CH-Width, Width")
        #expect(answer.header("Accept-CH") == "Sec-CH-DPR, Sec-CH-Width")
        #expect(try await self.fixture().get("/plain/{}/a.png@png", ["Width": "40"]).size == [80, 40])
    }

    /// One signed path does not have a result for each number that clients can send.
    @Test func hintsMakeFewResults() throws {
        func preferences(_ name: String, _ value: String) -> ClientPreferences {
            ClientPreferences(
                request: ServiceRequest(target: "/", headers: [HTTPHeader(name: name, value: value)]))
        }
        for (text, density) in [
            ("1", 1), ("2", 2), ("1.5", 1.5), ("2.625", 2.75), ("1.1", 1), ("1.13", 1.25), ("0.1", 0.5), ("10", 4),
            ("0.01", nil), ("11", nil), ("nan", nil), ("x", nil),
        ] as [(String, Double?)] { #expect(preferences("Sec-CH-DPR", text).density == density, "\(text)") }
        for (text, width) in [
            ("1", 64), ("64", 64), ("65", 128), ("1000", 1024), ("65535", 8192), ("0", nil), ("65536", nil),
            ("1.5", nil), ("9999999999999999999999", nil),
        ] as [(String, Int?)] { #expect(preferences("Sec-CH-Width", text).width == width, "\(text)") }
    }

    @Test func filesAreSentAsTheyAreIfAsked() async throws {
        let fixture = try await self.fixture()
        let original = try CodecRegistry.shared.encode(ServiceFixture.picture(width: 80, height: 40), as: .png)
        for path in ["/raw:1/w:10/plain/{}/a.png", "/skp:png/w:10/plain/{}/a.png", "/skp:png/w:10/plain/{}/a.png@png"] {
            let answer = try await fixture.get(path, ["Accept": "image/webp"])
            #expect(answer.bytes == original && answer.header("Content-Type") == "image/png", "\(path)")
        }
        #expect(try await fixture.get("/skp:png/w:10/plain/{}/a.png@jpg").header("Content-Type") == "image/jpeg")
        // Only images.
        try await fixture.origin.answer(
            "/page", "Content-Type: image/png", body: Data("<script>alert(1)</script>".utf8))
        #expect(try await fixture.get("/raw:1/plain/{}/page").status == 415)
    }

    // MARK: Conditions and parts

    /// In September 2023.
    private static let start = Date(timeIntervalSince1970: 1_695_000_000)
    private static let startText = "Mon, 18 Sep 2023 01:20:00 GMT"

    @Test func aClientThatHasTheResultGets304() async throws {
        let fixture = try await self.fixture { $0.now = { Self.start } }
        let path = "/w:20/plain/{}/a.png"
        let first = try await fixture.get(path)
        let tag = try #require(first.header("ETag"))
        #expect(first.header("Last-Modified") == Self.startText)
        for headers in [
            ["If-None-Match": tag], ["If-None-Match": "\"x\", W/\(tag)"], ["If-None-Match": "*"],
            ["If-Modified-Since": Self.startText], ["If-Modified-Since": "Mon, 18 Sep 2023 01:20:01 GMT"],
        ] {
            let answer = try await fixture.get(path, headers)
            #expect(answer.status == 304 && answer.bytes.isEmpty && answer.header("ETag") == tag, "\(headers)")
            #expect(answer.header("Cache-Control") != nil && answer.header("Vary") == "Accept")
            #expect(answer.header("Content-Length") == nil)
        }
        for headers in [
            ["If-None-Match": "\"x\""],
            ["If-None-Match": "\"x\"", "If-Modified-Since": Self.startText],
            // The time of the source is not that of the result.
            ["If-Modified-Since": "Tue, 15 Nov 1994 12:45:26 GMT"], ["If-Modified-Since": "yesterday"],
        ] {
            #expect(try await fixture.get(path, headers).status == 200, "\(headers)")
        }
        // The format is part of the result.
        #expect(try await fixture.get(path, ["Accept": "image/webp", "If-None-Match": tag]).status == 200)
    }

    /// A client that has the result of other settings, and compares times only, gets the new one.
    @Test func aResultIsAsOldAsItsBytes() async throws {
        let clock = LockBox(Self.start)
        func get(quality: Int, _ headers: [String: String] = [:]) async throws -> ServiceAnswer {
            let fixture = try await self.fixture { configuration in
                configuration.quality = quality
                configuration.now = { clock.withLock { $0 } }
            }
            return try await fixture.get("/w:20/plain/{}/a.png@jpg", headers)
        }
        let old = try #require(try await get(quality: 80).header("Last-Modified"))
        clock.withLock { $0 += 60 }
        let answer = try await get(quality: 20, ["If-Modified-Since": old])
        #expect(answer.status == 200 && answer.header("Last-Modified") == "Mon, 18 Sep 2023 01:21:00 GMT")
    }

    @Test(arguments: ["GET", "HEAD"])
    func anotherResultThanTheClientMeansIs412(method: String) async throws {
        let fixture = try await self.fixture { $0.now = { Self.start } }
        let path = "/w:20/plain/{}/a.png"
        let tag = try #require(try await fixture.get(path).header("ETag"))
        let early = "Mon, 18 Sep 2023 01:19:59 GMT"
        for headers in [
            ["If-Match": "\"x\""], ["If-Match": "W/\(tag)"], ["If-Match": ""], ["If-Unmodified-Since": early],
            ["If-Match": "\"x\"", "If-Unmodified-Since": Self.startText],
            // It comes before the other conditions, and before the part.
            ["If-Match": "\"x\"", "If-None-Match": tag], ["If-Unmodified-Since": early, "If-None-Match": tag],
            ["If-Match": "\"x\"", "Range": "bytes=0-1"], ["If-Match": "\"x\"", "Range": "bytes=99999-"],
        ] {
            let answer = try await fixture.get(path, headers, method: method)
            #expect(answer.status == 412 && answer.bytes.isEmpty, "\(headers): \(answer.status)")
            #expect(answer.header("ETag") == tag && answer.header("Content-Length") == "0")
            #expect(answer.header("Cache-Control") == "no-store")
        }
        for (headers, status) in [
            (["If-Match": tag], 200), (["If-Match": "\"x\", \(tag)"], 200), (["If-Match": "*"], 200),
            (["If-Match": tag, "If-Unmodified-Since": early], 200), (["If-Unmodified-Since": Self.startText], 200),
            (["If-Unmodified-Since": "yesterday"], 200), (["If-Match": tag, "If-None-Match": tag], 304),
            (["If-Match": tag, "Range": "bytes=0-1"], method == "GET" ? 206 : 200),
        ] {
            #expect(try await fixture.get(path, headers, method: method).status == status, "\(headers)")
        }
    }

    @Test func partsOfResultsAreSent() async throws {
        let fixture = try await self.fixture()
        let path = "/w:20/plain/{}/a.png"
        let whole = try await fixture.get(path)
        let count = whole.body.count
        for (range, part) in [
            ("bytes=0-9", 0..<10), ("bytes=10-", 10..<count), ("bytes=-5", count - 5..<count),
            ("bytes=5-99999", 5..<count),
            ("bytes=-99999", 0..<count), ("bytes=0-9223372036854775807", 0..<count),
        ] {
            let answer = try await fixture.get(path, ["Range": range])
            #expect(answer.status == 206 && answer.bytes == whole.bytes[part], "\(range)")
            #expect(answer.header("Content-Range") == "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(count)")
            #expect(answer.header("Content-Length") == "\(part.count)")
        }
        for range in ["bytes=99999-", "bytes=\(count)-", "bytes=-0"] {
            let answer = try await fixture.get(path, ["Range": range])
            #expect(answer.status == 416 && answer.header("Content-Range") == "bytes */\(count)", "\(range)")
            #expect(answer.header("Cache-Control") == "no-store")
        }
        for range in [
            "bytes=9-0", "bytes=0-1,3-4", "bytes=a-b", "items=0-1", "bytes=-", "bytes=--1",
            "bytes=99999999999999999999-",
        ] {
            #expect(try await fixture.get(path, ["Range": range]).status == 200, "\(range)")
        }
        let tag = try #require(whole.header("ETag"))
        #expect(try await fixture.get(path, ["Range": "bytes=0-1", "If-Range": tag]).status == 206)
        #expect(try await fixture.get(path, ["Range": "bytes=0-1", "If-Range": "\"x\""]).status == 200)
        // Two results can be made in one second.
        let date = try #require(whole.header("Last-Modified"))
        #expect(try await fixture.get(path, ["Range": "bytes=0-1", "If-Range": date]).status == 200)
    }

    @Test func headHasTheFieldsOfGet() async throws {
        let fixture = try await self.fixture()
        let get = try await fixture.get("/w:20/plain/{}/a.png")
        let head = try await fixture.get("/w:20/plain/{}/a.png", method: "HEAD")
        #expect(head.status == 200 && head.bytes.isEmpty)
        #expect(head.header("Content-Length") == "\(get.body.count)" && head.header("ETag") == get.header("ETag"))
        let refused = try await fixture.get("/w:x/plain/{}/a.png", method: "HEAD")
        #expect(refused.status == 400 && refused.bytes.isEmpty)
        let post = try await fixture.get("/w:20/plain/{}/a.png", method: "POST")
        #expect(post.status == 405 && post.header("Allow") == "GET, HEAD")
    }

    /// An SVG is a document in a browser: what it contains must not run, load or send anything, also in a part of the answer.
    @Test(arguments: ["/raw:1", "/skp:svg", "/raw:1/att:1"])
    func documentsOfSourcesHaveNoRights(options: String) async throws {
        let fixture = try await self.fixture()
        let svg = "<svg xmlns='http://www.w3.org/2000/svg' width='8' height='8'><script>alert(1)</script></svg>"
        try await fixture.origin.answer("/a.svg", "Content-Type: image/svg+xml\n", body: Data(svg.utf8))
        for headers in [[:], ["Range": "bytes=0-9"]] {
            let answer = try await fixture.get("\(options)/plain/{}/a.svg", headers)
            #expect(answer.header("Content-Type") == "image/svg+xml" && answer.bytes.first == UInt8(ascii: "<"))
            #expect(
                answer.header("Content-Security-Policy") == "default-src 'none'; style-src 'unsafe-inline'; sandbox")
            #expect(answer.header("X-Content-Type-Options") == "nosniff")
        }
    }

    /// A result on disk is for clients that take the same formats.
    @Test func storedResultsAreInAFormatOfTheClient() async throws {
        let directory = try TemporaryDirectory()
        let disk = ServiceFixture.disk(in: directory)
        let types = ["image/webp", nil, "image/webp", nil]
        for (index, accepted) in types.enumerated() {
            // A service that has nothing in memory.
            let fixture = try await self.fixture { $0.disk = disk }
            let answer = try await fixture.get("/w:10/plain/{}/a.png", accepted.map { ["Accept": $0] } ?? [:])
            #expect(answer.header("Content-Type") == accepted ?? "image/png")
            #expect(answer.header("Cache-Status")?.contains("detail=disk") == (index >= 2))
            await disk.flush()
        }
    }

    /// The kernel ends a decoder for the memory of a machine, which says nothing about the image.
    @Test func aDecoderWithoutMemoryIsNoDamage() {
        let short = Refusal(WebImageError.isolation(format: .avif, reason: .crashed(signal: SIGKILL)))
        let answer = short.answer(hasBody: true)
        #expect(answer.status == 503 && answer.header("Retry-After") == "2" && answer.reason?.isEmpty == false)
        #expect(Refusal(WebImageError.isolation(format: .avif, reason: .crashed(signal: SIGSEGV))).status == 422)
        #expect(Refusal(WebImageError.cancelled).detail == nil)
    }

    // MARK: Lifetimes and names

    @Test func lifetimesAreStated() async throws {
        let clock = LockBox(Date(timeIntervalSince1970: 1_700_000_000))
        let fixture = try await self.fixture { configuration in
            configuration.lifetime = .seconds(1000)
            configuration.now = { clock.withLock { $0 } }
        }
        func control(_ path: String) async throws -> String? { try await fixture.get(path).header("Cache-Control") }
        #expect(try await control("/w:20/plain/{}/a.png") == "public, max-age=1000")
        #expect(try await control("/w:20/exp:1700000100/plain/{}/a.png") == "public, max-age=100")
        #expect(try await fixture.get("/w:20/exp:1700000000/plain/{}/a.png").status == 404)
        clock.withLock { $0 += 400 }
        #expect(try await control("/w:20/plain/{}/a.png") == "public, max-age=600")
        let follower = try await self.fixture { $0.usesSourceLifetime = true }
        let text = try #require(try await follower.get("/w:20/plain/{}/a.png").header("Cache-Control"))
        #expect(text == "public, max-age=600")
        try await follower.serve("/private.png", width: 8, height: 8, "Cache-Control: private")
        let personal = try await follower.get("/plain/{}/private.png")
        #expect(personal.header("Cache-Control") == "no-store")
        #expect(try await follower.get("/plain/{}/private.png").header("Cache-Status") == "webimage; fwd=uri-miss")
    }

    @Test(arguments: [
        ("", "inline; filename=\"a.png\""), ("/att:1", "attachment; filename=\"a.png\""),
        ("/fn:photo", "inline; filename=\"photo.png\""), ("/fn:cGhvdG8:1", "inline; filename=\"photo.png\""),
        ("/fn:a%22%0d%0aX%2F..", "inline; filename=\"a_X...png\""),
        ("/fn:%C3%A4", "inline; filename=\"_.png\"; filename*=UTF-8''%C3%A4.png"),
    ])
    func filesHaveNames(options: String, disposition: String) async throws {
        let answer = try await self.fixture().get("\(options)/plain/{}/a.png")
        #expect(answer.header("Content-Disposition") == disposition)
    }

    // MARK: Errors

    @Test func errorsOfSourcesHaveTheirStatuses() async throws {
        let fixture = try await self.fixture { $0.limits.sourceByteCount = 40_000 }
        let image = try CodecRegistry.shared.encode(ServiceFixture.picture(width: 800, height: 400), as: .png)
        try await fixture.origin.answer("/404", status: 404)
        try await fixture.origin.answer("/410", status: 410)
        try await fixture.origin.answer("/500", status: 500)
        try await fixture.origin.answer("/403", status: 403)
        try await fixture.origin.answer("/text", body: Data("hello".utf8))
        try await fixture.origin.answer("/half", body: image.prefix(image.count / 2))
        try await fixture.origin.answer("/empty", body: Data())
        try await fixture.origin.answer("/long", body: Data(repeating: 0, count: 40_001))
        for (path, status) in [
            ("404", 404), ("410", 404), ("500", 502), ("403", 502), ("text", 415), ("half", 422), ("empty", 502),
            ("long", 413),
        ] {
            let answer = try await fixture.get("/w:10/plain/{}/\(path)")
            #expect(answer.status == status, "\(path): \(answer.text)")
            #expect(answer.header("Cache-Control") == (status == 404 ? "public, max-age=60" : "no-store"))
            #expect(answer.header("Content-Type") == "text/plain; charset=utf-8")
        }
        let closed = try LoopbackRequest.unusedPort()
        #expect(try await fixture.get("/w:10/plain/http://127.0.0.1:\(closed)/a").status == 502)
    }

    @Test func aFallbackStandsForSourcesThatFail() async throws {
        let image = try CodecRegistry.shared.encode(ServiceFixture.picture(width: 100, height: 100), as: .png)
        let fixture = try await self.fixture { $0.fallback = image }
        try await fixture.origin.answer("/gone", status: 404)
        let answer = try await fixture.get("/w:10/plain/{}/gone")
        #expect(try answer.status == 200 && answer.size == [10, 10])
        #expect(answer.header("Cache-Control") == "public, max-age=60")
        #expect(try await fixture.get("/w:x/plain/{}/gone").status == 400)
        // There is nothing to describe.
        let target = try "/info/_/plain/" + fixture.origin.url("/gone").absoluteString
        #expect(await fixture.service.answer(to: ServiceRequest(target: target)).status == 404)
        let honest = try await self.fixture {
            $0.fallback = image
            $0.fallbackStatus = nil
        }
        #expect(try await honest.get("/w:10/plain/{}/gone").status == 404)
    }

    /// A fallback would hide that something is not allowed, or that the service has no time.
    @Test func aFallbackStandsForNoOtherErrors() async throws {
        let others: [Refusal] = [
            .forbiddenSource, .forbiddenSignature, .invalid(""), .expired, .timedOut, .overloaded,
            .stopping,
            .busy, .abandoned, Refusal(405, ""), Refusal(414, ""), Refusal(500, ""),
        ]
        for refusal in others { #expect(!refusal.isAboutSource, "\(refusal)") }
        for status in [404, 413, 415, 422, 502, 504] { #expect(Refusal(status, "").isAboutSource, "\(status)") }
        let image = try CodecRegistry.shared.encode(ServiceFixture.picture(width: 100, height: 100), as: .png)
        let address = try Self.origin.get().url("/photos/").absoluteString
        for status in [200, nil] {
            let fixture = try await self.fixture {
                $0.fallback = image
                $0.fallbackStatus = status
                $0.allowedSources = [address]
            }
            try await fixture.origin.answer("/photos/leaves", status: 302, "Location: /a.png")
            let answer = try await fixture.get("/w:10/plain/{}/photos/leaves")
            #expect(answer.status == 403 && answer.header("Content-Type") == "text/plain; charset=utf-8")
        }
    }

    @Test func aFallbackIsAnsweredAsOtherResults() async throws {
        let image = try CodecRegistry.shared.encode(ServiceFixture.picture(width: 100, height: 100), as: .png)
        let fixture = try await self.fixture { $0.fallback = image }
        try await fixture.origin.answer("/gone.jpg", status: 404)
        let path = "/w:10/plain/{}/gone.jpg"
        let answer = try await fixture.get(path)
        #expect(answer.header("Cache-Status") == "webimage; fwd=uri-miss; stored" && answer.header("Vary") == "Accept")
        #expect(try await fixture.get(path).header("Cache-Status") == "webimage; hit; ttl=60; detail=memory")
        #expect(answer.header("X-Content-Type-Options") == "nosniff")
        #expect(answer.header("Content-Disposition") == "inline; filename=\"gone.png\"")
        let tag = try #require(answer.header("ETag"))
        let same = try await fixture.get(path, ["If-None-Match": tag])
        #expect(same.status == 304 && same.header("Cache-Control") == "public, max-age=60")
        #expect(try await fixture.get(path, ["If-Match": "\"x\""]).status == 412)
        let part = try await fixture.get(path, ["Range": "bytes=0-9"])
        #expect(part.status == 206 && part.bytes == answer.bytes.prefix(10))
        // Errors have no conditions.
        let honest = try await self.fixture {
            $0.fallback = image
            $0.fallbackStatus = nil
        }
        for headers in [[:], ["If-None-Match": tag], ["If-Match": "\"x\""], ["Range": "bytes=0-9"]] {
            let error = try await honest.get(path, headers)
            #expect(error.status == 404 && error.bytes == answer.bytes, "\(headers)")
        }
    }

    @Test func sourcesAreDescribed() async throws {
        let fixture = try await self.fixture()
        let answer = await fixture.service.answer(
            to: ServiceRequest(
                target: "/info/_/bh:1/th:1/ph:1/dc:4/exif:1/plain/\(try fixture.origin.url("/a.png").absoluteString)"))
        #expect(answer.status == 200 && answer.header("Content-Type") == "application/json", "\(answer.text)")
        let object = try #require(try JSONSerialization.jsonObject(with: answer.bytes) as? [String: Any])
        #expect(object["width"] as? Int == 80 && object["height"] as? Int == 40 && object["format"] as? String == "png")
        #expect((object["dominantColors"] as? [String])?.count == 4)
        for name in ["blurHash", "thumbHash", "perceptualHash"] { #expect((object[name] as? String)?.isEmpty == false) }
        // Another cache buster makes another description.
        let source = try fixture.origin.url("/a.png").absoluteString
        for buster in ["1", "2"] {
            let answer = await fixture.service.answer(
                to: ServiceRequest(target: "/info/_/cb:\(buster)/plain/\(source)"))
            #expect(answer.header("Cache-Status")?.contains("stored") == true)
        }
        // There is no option of images, and no format.
        for path in ["w:1/plain/\(source)", "plain/\(source)@png"] {
            let refused = await fixture.service.answer(to: ServiceRequest(target: "/info/_/" + path))
            #expect(refused.status == 400, "\(path)")
        }
    }

    @Test func withOnlyPresetsDescriptionsHaveNoOptions() async throws {
        let fixture = try await self.fixture {
            $0.presets = ["small": "w:20"]
            $0.allowsOnlyPresets = true
        }
        let source = try fixture.origin.url("/a.png").absoluteString
        for (options, status) in [
            ("", 200), ("exif:1/", 400), ("dc:16/", 400), ("cb:1/", 400), ("small:small/", 400), ("nope:1/", 400),
        ] {
            let answer = await fixture.service.answer(to: ServiceRequest(target: "/info/_/\(options)plain/\(source)"))
            #expect(answer.status == status, "\(options): \(answer.text)")
        }
        #expect(try await fixture.get("/small/plain/{}/a.png").status == 200)
    }
}
