import FoundationEssentials
import Testing
import WebImage
import WebImageTestSupport
@testable import WebImageCoding

@Suite(.timeLimit(.minutes(1))) struct FailureTests {
    private let fixture: ManagerFixture
    private let url: URL

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("a")
    }

    private func failure(answering data: Data, contentType: String = "image/png") async throws -> WebImageError? {
        let results = Results()
        fixture.manager.load(WebImageRequest(url), completion: results.note)
        try await fixture.nextLoad().answer(data, contentType: contentType)
        _ = await results.wait(for: 1)
        #expect(results.all.count == 1)
        return results.errors.first
    }

    /// An image whose first half of bytes holds about half of its rows.
    private func noisePNG(_ size: PixelSize) throws -> Data {
        var random = SplitMix64(seed: 1)
        var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
        pixels.withUnsafeMutableBytes { bytes in bytes.copyBytes(from: random.opaquePixels(count: bytes.count / 4)) }
        return try PNGEncoder().encode(Image(pixels: pixels.freeze(isOpaque: true)), options: EncodingOptions())
    }

    private func expectNothingCached() async {
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) == nil)
        #expect(await fixture.cache.disk?.data(for: url.absoluteString) == nil)
    }

    @Test func doesNotCacheAWebPage() async throws {
        let page = Data("<!DOCTYPE html><title>Log in</title>".utf8)
        let error = try await failure(answering: page, contentType: "text/html")
        #expect(error == .unrecognizedFormat(contentType: "text/html", leadingBytes: Array(page.prefix(16)), url: url))
        await expectNothingCached()
    }

    @Test func theLoaderLearnsWhetherBytesAreAnImage() async throws {
        let png = try SolidPicture(1, size: PixelSize(width: 64, height: 64)).png()
        for (byteCount, expected) in [(png.count, BodyJudgment.Verdict.image), (png.count / 2, .noImage)] {
            let (verdicts, judged, results) = (LockBox<[BodyJudgment.Verdict]>([]), Countdown(), Results())
            fixture.manager.load(WebImageRequest(url, cachePolicy: .reload), completion: results.note)
            let load = try await fixture.nextLoad()
            load.begin(expectedByteCount: Int64(byteCount))
            load.ask(
                BodyJudgment(isFromSharedCache: false) { verdict in
                    verdicts.withLock { $0.append(verdict) }
                    judged.signal()
                })
            load.send(Data(png.prefix(byteCount)))
            load.end(.success(()))
            _ = await results.wait(for: 1)
            try await judged.wait()
            #expect(verdicts.withLock { $0 } == [expected])
        }
    }

    @Test func doesNotCacheATruncatedImage() async throws {
        let png = try SolidPicture(1, size: PixelSize(width: 64, height: 64)).png()
        let error = try await failure(answering: Data(png.prefix(png.count / 2)))
        #expect(error == .decoding(format: .png, reason: .truncated, url: url))
        await expectNothingCached()
    }

    @Test func showsTheValidPartOfADamagedImageIfRequested() async throws {
        let fixture = try ManagerFixture(allowsDamage: true)
        let png = try noisePNG(PixelSize(width: 64, height: 64))
        async let loaded = fixture.manager.image(at: url)
        try await fixture.nextLoad().answer(Data(png.prefix(png.count / 2)), contentType: "image/png")
        let image = try await loaded
        #expect(image.isPartial)
        #expect(image.pixels.size == PixelSize(width: 64, height: 64))
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) == nil)
        #expect(await fixture.cache.disk?.data(for: url.absoluteString) == nil)
    }

    @Test func replacesADamagedEntryEvenIfValidPartsAreShown() async throws {
        let fixture = try ManagerFixture(allowsDamage: true)
        let png = try noisePNG(PixelSize(width: 64, height: 64))
        fixture.cache.disk?.store(png.prefix(png.count / 2), for: url.absoluteString)
        let response = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(2))
        #expect(response.origin == .remote)
        #expect(!response.image.isPartial)
    }

    @Test func reportsTheLoadersError() async throws {
        let results = Results()
        fixture.manager.load(WebImageRequest(url), completion: results.note)
        try await fixture.nextLoad().end(.failure(.httpStatus(code: 404, url: url)))
        _ = await results.wait(for: 1)
        #expect(results.errors == [.httpStatus(code: 404, url: url)])
        await expectNothingCached()
    }

    @Test func triesAgainAfterAFailure() async throws {
        _ = try await failure(answering: Data("no picture".utf8))
        let response = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(1))
        #expect(response.origin == .remote)
    }

    @Test func replacesADamagedEntryOfTheDiskCache() async throws {
        let png = try SolidPicture(1, size: PixelSize(width: 64, height: 64)).png()
        fixture.cache.disk?.store(png.prefix(png.count / 2), for: url.absoluteString)
        let response = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(2))
        #expect(response.origin == .remote)
        #expect(await fixture.cache.disk?.data(for: url.absoluteString) == (try SolidPicture(2).png()))
    }

    @Test func reportsADamagedEntryForCacheOnly() async throws {
        fixture.cache.disk?.store(Data("damaged".utf8), for: url.absoluteString)
        await #expect(
            throws: WebImageError.unrecognizedFormat(contentType: nil, leadingBytes: Array("damaged".utf8), url: url)
        ) {
            try await fixture.manager.image(for: WebImageRequest(url, cachePolicy: .cacheOnly))
        }
        #expect(await fixture.cache.disk?.data(for: url.absoluteString) == nil)
    }

    @Test func refusesWhatNoLoaderHandles() async throws {
        let ftp = try #require(URL(string: "ftp://example.org/a.png"))
        await #expect(throws: WebImageError.invalidRequest(reason: .unsupportedScheme("ftp"), url: ftp)) {
            try await fixture.manager.image(at: ftp)
        }
        let relative = try #require(URL(string: "a.png"))
        await #expect(throws: WebImageError.invalidURL("a.png")) { try await fixture.manager.image(at: relative) }
    }

    @Test func loadsAnAnimationAsItsFirstFrame() async throws {
        // Two 1×1 frames, red then blue.
        let gif: [UInt8] =
            Array("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0, 255, 0, 0, 0, 0, 255]
            + [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]
            + [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x4C, 1, 0, 0x3B]
        async let response = fixture.manager.response(for: WebImageRequest(url))
        try await fixture.nextLoad().answer(Data(gif), contentType: "image/gif")
        let image = try await response.image
        #expect(image.format == .gif)
        #expect(image.frameCount == 2)
        #expect(image.pixels[0, 0] == SIMD4(255, 0, 0, 255))
    }
}
