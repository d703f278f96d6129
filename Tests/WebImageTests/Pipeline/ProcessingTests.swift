import FoundationEssentials
import Testing
@testable import WebImage
@testable import WebImageProcessing

/// Processors of a request: what is shared, what is kept, and what becomes of failures.
@Suite(.timeLimit(.minutes(3))) struct ProcessingTests {
    private let fixture: ManagerFixture
    private let url: URL

    init() throws {
        fixture = try ManagerFixture()
        url = try ManagerFixture.url("picture")
    }

    private func redOfFirstPixel(_ image: Image) -> UInt8 { image.pixels[0, 0].x }

    @Test func processesInOrderAndKeepsTheResultInMemory() async throws {
        let (double, add) = (ProbeProcessor(name: "a", red: 10), ProbeProcessor(name: "b", red: 3))
        let request = WebImageRequest(url, processors: [double.erased, add.erased])
        let response = try await fixture.load(request, answeringWith: SolidPicture(5))
        #expect(redOfFirstPixel(response.image) == 18)
        #expect(response.image.isTransformed)
        #expect(response.origin == .remote)

        let again = try await fixture.manager.response(for: request)
        #expect(again.origin == .memoryCache)
        #expect(fixture.manager.cachedImage(for: request) != nil)
        #expect((double.runCount, add.runCount) == (1, 1))
    }

    /// Thirds of 90 × 60 pixels in red, green and blue.
    private func photo() throws -> Data {
        var pixels = try MutablePixelBuffer(width: 90, height: 60)
        pixels.withUnsafeMutableBytes { bytes in
            for index in 0..<90 * 60 {
                for channel in 0..<4 {
                    bytes[index * 4 + channel] = channel == 3 || channel == index % 90 / 30 ? 255 : 0
                }
            }
        }
        return try CodecRegistry.shared.encode(Image(pixels: pixels.freeze(isOpaque: true)), as: .png)
    }

    @Test(
        arguments: [
            (TargetSize.pixels(width: 30, height: 30), nil, PixelSize(width: 30, height: 30)),
            (.points(width: 10, height: 20), 2, PixelSize(width: 20, height: 40)),
            (.pixels(width: 45), nil, PixelSize(width: 45, height: 30)),
            (.pixels(width: 200, height: 30), nil, PixelSize(width: 90, height: 30)),
        ] as [(TargetSize, Double?, PixelSize)])
    func anImageFillsABox(box: TargetSize, scale: Double?, size: PixelSize) async throws {
        let request = WebImageRequest(url, filling: box, scale: scale)
        #expect(try WebImageRequest(url.absoluteString, filling: box, scale: scale).cacheKey == request.cacheKey)
        #expect(throws: WebImageError.self) { try WebImageRequest("photo.jpg", filling: box) }
        async let response = fixture.manager.response(for: request)
        try await fixture.nextLoad().answer(photo())
        let image = try await response.image
        #expect(image.pixels.size == size)
        #expect(image.scale == scale ?? 1)
        // The middle is in the middle, and equally much is cut off at both sides.
        #expect(image.pixels[size.width / 2, size.height / 2] == SIMD4(0, 255, 0, 255))
        let (left, right) = (image.pixels[0, 0], image.pixels[size.width - 1, 0])
        #expect((left.x, left.z) == (right.z, right.x))
    }

    @Test func storesTheUnchangedOriginalOnDisk() async throws {
        let request = WebImageRequest(url, processors: [ProbeProcessor(name: "a").erased])
        _ = try await fixture.load(request, answeringWith: SolidPicture(5))
        let disk = try #require(fixture.cache.disk)
        await disk.flush()
        #expect(await disk.data(for: request.cacheKey.description) == nil)
        #expect(try await disk.data(for: request.cacheKey.original.description) == SolidPicture(5).png())
    }

    @Test func doesNotCacheIntermediateResults() async throws {
        let (first, second) = (ProbeProcessor(name: "a"), ProbeProcessor(name: "b"))
        _ = try await fixture.load(
            WebImageRequest(url, processors: [first.erased, second.erased]), answeringWith: SolidPicture(5))
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url, processors: [first.erased])) == nil)
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) == nil)
    }

    @Test func continuesFromAnIntermediateResultInMemory() async throws {
        let (first, second) = (ProbeProcessor(name: "a"), ProbeProcessor(name: "b"))
        _ = try await fixture.load(WebImageRequest(url, processors: [first.erased]), answeringWith: SolidPicture(5))
        let response = try await fixture.manager.response(
            for: WebImageRequest(url, processors: [first.erased, second.erased]))
        #expect(redOfFirstPixel(response.image) == 7)
        #expect(first.runCount == 1)
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func sharesCommonLeadingProcessors() async throws {
        let (shared, one, two) = (ProbeProcessor(name: "a"), ProbeProcessor(name: "b"), ProbeProcessor(name: "c"))
        let (first, second) = (Results(), Results())
        fixture.manager.load(WebImageRequest(url, processors: [shared.erased, one.erased]), completion: first.note)
        fixture.manager.load(
            WebImageRequest(url, processors: [ProcessorChain([shared.erased, two.erased]).erased]),
            completion: second.note)
        try await fixture.nextLoad().answer(SolidPicture(5).png())
        #expect(try redOfFirstPixel(await first.wait(for: 1)[0].get().image) == 7)
        #expect(try redOfFirstPixel(await second.wait(for: 1)[0].get().image) == 7)
        #expect((shared.runCount, one.runCount, two.runCount) == (1, 1, 1))
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func cachesAnIntermediateResultRequestedMeanwhile() async throws {
        let (first, second) = (ProbeProcessor(name: "a"), ProbeProcessor(name: "b"))
        let (whole, step) = (Results(), Results())
        fixture.manager.load(WebImageRequest(url, processors: [first.erased, second.erased]), completion: whole.note)
        fixture.manager.load(WebImageRequest(url, processors: [first.erased]), completion: step.note)
        try await fixture.nextLoad().answer(SolidPicture(5).png())
        _ = try await whole.wait(for: 1)[0].get()
        _ = try await step.wait(for: 1)[0].get()
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url, processors: [first.erased])) != nil)
    }

    @Test func aFailureAffectsOneRequestAndCachesNothing() async throws {
        var failing = ProbeProcessor(name: "b")
        failing.failure = .failed("no luck")
        let good = ProbeProcessor(name: "a")
        let (bad, fine) = (
            WebImageRequest(url, processors: [good.erased, failing.erased]),
            WebImageRequest(url, processors: [good.erased])
        )
        let (badResults, fineResults) = (Results(), Results())
        fixture.manager.load(bad, completion: badResults.note)
        fixture.manager.load(fine, completion: fineResults.note)
        try await fixture.nextLoad().answer(SolidPicture(5).png())
        await #expect(
            throws: WebImageError.processing(identifier: "probe(name:b,red:1)", reason: .failed("no luck"), url: url)
        ) { _ = try await badResults.wait(for: 1)[0].get() }
        #expect(try redOfFirstPixel(await fineResults.wait(for: 1)[0].get().image) == 6)
        #expect(fixture.manager.cachedImage(for: bad) == nil)
        #expect(fixture.manager.cachedImage(for: fine) != nil)
    }

    @Test func stopsProcessingWhenNoRequestWaits() async throws {
        let held = ProbeProcessor(name: "held")
        held.probe.isHeld.withLock { $0 = true }
        let request = WebImageRequest(url, processors: [held.erased])
        let results = Results()
        let operation = fixture.manager.load(request, completion: results.note)
        try await fixture.nextLoad().answer(SolidPicture(5).png())
        try await held.probe.starts.first()
        operation.cancel()
        await #expect(throws: WebImageError.cancelled) { _ = try await results.wait(for: 1)[0].get() }
        #expect(fixture.manager.cachedImage(for: request) == nil)
    }

    @Test func doesNotCacheTheResultOfAnOriginalRemovedMeanwhile() async throws {
        _ = try await fixture.load(WebImageRequest(url), answeringWith: SolidPicture(5))
        let held = ProbeProcessor(name: "held")
        held.probe.isHeld.withLock { $0 = true }
        let request = WebImageRequest(url, processors: [held.erased])
        let results = Results()
        fixture.manager.load(request, completion: results.note)
        try await held.probe.starts.first()
        await fixture.cache.remove(for: request.cacheKey.original)
        held.probe.release()
        _ = try await results.wait(for: 1)[0].get()
        #expect(fixture.manager.cachedImage(for: request) == nil)
    }

    @Test func keysDistinguishProcessorsAndTheirOrder() {
        let (one, two) = (ProbeProcessor(name: "a"), ProbeProcessor(name: "b"))
        let keys: Set = [
            WebImageRequest(url).cacheKey, WebImageRequest(url, processors: [one.erased]).cacheKey,
            WebImageRequest(url, processors: [one.erased, two.erased]).cacheKey,
            WebImageRequest(url, processors: [two.erased, one.erased]).cacheKey,
            WebImageRequest(url, scale: 2, processors: [one.erased]).cacheKey,
        ]
        #expect(keys.count == 5)
        #expect(WebImageRequest(url, processors: [ProcessorChain([]).erased]).cacheKey == WebImageRequest(url).cacheKey)
    }

    @Test func aProcessorThatChangesNothingEndsToo() async throws {
        struct Nothing: Processor {
            let identifier = ProcessorIdentifier.identity
            func process(_ image: Image, cancellation: Cancellation?) throws(WebImageError) -> Image { image }
        }
        let fixture = try ManagerFixture()
        let url = try ManagerFixture.url("identity")
        let request = WebImageRequest(url, processors: [Nothing().erased])
        #expect(SolidPicture(1).matches(try await fixture.load(request, answeringWith: SolidPicture(1)).image))
        let after = WebImageRequest(url, processors: [ProbeProcessor(name: "a", red: 1).erased, Nothing().erased])
        #expect(SolidPicture(2).matches(try await fixture.manager.image(for: after)))
    }
}
