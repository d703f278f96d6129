import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage
@testable import WebImageProcessing

/// A stored image and one that arrives, both shown before the end.
@Suite(.timeLimit(.minutes(1))) struct StoredPreviewTests {
    private let url: URL
    private let request: WebImageRequest
    private let stored = SolidPicture(1)

    init() throws {
        url = try ManagerFixture.url("a")
        request = WebImageRequest(url, options: .progressive, cachePolicy: .refresh)
    }

    /// The disk has ``stored``, which may stand in for a server in trouble; nothing was decoded.
    private func fixture(_ decoder: ProbeDecoder? = nil) async throws -> ManagerFixture {
        let fixture = try ManagerFixture(decoder: decoder) { $0.previewInterval = .zero }
        async let answer = fixture.manager.dataResponse(for: WebImageRequest(url, cachePolicy: .http))
        try await fixture.nextLoad().answer(stored, "Cache-Control: max-age=60, stale-if-error=600\nETag: \"1\"")
        _ = try await answer
        fixture.time.advance(seconds: 60)
        return fixture
    }

    private static func arriving(side: Int = 96) throws -> Data {
        try CodecRegistry.shared.encode(
            NoisyPicture.image(side: side), as: .jpeg,
            options: EncodingOptions(isProgressive: true))
    }

    private static func trouble(_ url: URL) -> WebImageError {
        .invalidResponse(reason: .truncated(expected: 100, received: 50), url: url)
    }

    /// Sends the first half of `data`.
    private func sendHalf(of data: Data, by load: ScriptedLoad) {
        load.begin(expectedByteCount: Int64(data.count), contentType: "image/jpeg")
        load.send(data.prefix(data.count / 2))
    }

    @Test func aStoredImagePrecedesPreviewsAndTheyPrecedeTheResult() async throws {
        let fixture = try await fixture()
        let previews = Previews()
        let results = Results()
        fixture.manager.load(request, preview: previews.note, completion: results.note)
        try await previews.wait { !$0.isPartial }
        let (load, data) = (try await fixture.nextLoad(), try Self.arriving())
        sendHalf(of: data, by: load)
        try await previews.wait { $0.isPartial }
        load.send(data.dropFirst(data.count / 2))
        load.end(.success(()))
        let response = try await results.wait(for: 1)[0].get()
        #expect(!response.isUnchanged)
        #expect(response.image.width == 96)
        let images = previews.images
        #expect(stored.matches(images[0]))
        #expect(images.dropFirst().allSatisfy { $0.isPartial })
    }

    @Test func aResultThatWaitsForAStoredImageIsDeliveredDespitePreviews() async throws {
        let decoder = ProbeDecoder(holdsFirst: true)
        let fixture = try await fixture(decoder)
        let previews = Previews()
        let results = Results()
        fixture.manager.load(request, preview: previews.note, completion: results.note)
        for await _ in decoder.starts { break }
        let load = try await fixture.nextLoad()
        try sendHalf(of: Self.arriving(), by: load)
        load.end(.failure(Self.trouble(url)))
        decoder.release()
        let response = try await results.wait(for: 1)[0].get()
        #expect(stored.matches(response.image))
        #expect(response.isUnchanged)
        #expect(previews.images.allSatisfy { !$0.isPartial })
        #expect(decoder.decodeCount == 1)
    }

    @Test func theOrderIsTheSameForProcessedImages() async throws {
        let fixture = try await fixture()
        let processor = ProbeProcessor(name: "a", red: 2)
        processor.probe.isHeld.withLock { $0 = true }
        var processed = request
        processed.processors = [processor.erased]
        let (previews, seen) = (Previews(), Previews())
        let results = Results()
        fixture.manager.load(processed, preview: previews.note, completion: results.note)
        for await _ in processor.probe.starts { break }
        // Sees what arrives after the work for the other has.
        fixture.manager.load(request, preview: seen.note, completion: { _ in })
        let load = try await fixture.nextLoad()
        try sendHalf(of: Self.arriving(), by: load)
        try await seen.wait { $0.isPartial }
        load.end(.failure(Self.trouble(url)))
        processor.probe.isHeld.withLock { $0 = false }
        processor.probe.release()
        let response = try await results.wait(for: 1)[0].get()
        #expect(response.image.pixels[0, 0].x == 3)
        #expect(response.image.provenance != nil)
    }

    @Test func aStoredFallbackIsDeliveredAfterPreviews() async throws {
        let fixture = try await fixture()
        let previews = Previews()
        let results = Results()
        fixture.manager.load(request, preview: previews.note, completion: results.note)
        try await previews.wait { !$0.isPartial }
        let load = try await fixture.nextLoad()
        try sendHalf(of: Self.arriving(), by: load)
        try await previews.wait { $0.isPartial }
        load.end(.failure(Self.trouble(url)))
        let response = try await results.wait(for: 1)[0].get()
        #expect(stored.matches(response.image))
        #expect(!response.isUnchanged, "the last preview was another picture")
    }

    @Test func undecodedRequestsHaveNoPreview() async throws {
        let fixture = try await fixture()
        let previews = Previews()
        let results = Results()
        var request = request
        request.options = .ignoreDecoding
        fixture.manager.load(request, preview: previews.note, completion: results.note)
        try await fixture.nextLoad().confirm()
        let response = try await results.wait(for: 1)[0].get()
        #expect(response.info?.size == stored.size)
        #expect(!response.isUnchanged)
        #expect(previews.images.isEmpty)
    }

    @Test func anotherAttemptRestartsPreviews() async throws {
        let fixture = try ManagerFixture { $0.previewInterval = .zero }
        var request = WebImageRequest(url, options: .progressive)
        request.alternatives = [try ManagerFixture.url("b")]
        let previews = Previews()
        let results = Results()
        fixture.manager.load(request, preview: previews.note, completion: results.note)
        let first = try await fixture.nextLoad()
        try sendHalf(of: Self.arriving(side: 96), by: first)
        try await previews.wait { $0.width == 96 }
        first.end(.failure(Self.trouble(url)))
        let (second, data) = (try await fixture.nextLoad(), try Self.arriving(side: 64))
        sendHalf(of: data, by: second)
        try await previews.wait { $0.width == 64 }
        second.send(data.dropFirst(data.count / 2))
        second.end(.success(()))
        let response = try await results.wait(for: 1)[0].get()
        #expect(response.image.width == 64)
        #expect(response.attempts.count == 2)
    }
}

/// The order of stored images and what arrives, event by event.
@Suite(.timeLimit(.minutes(3))) struct PreviewOrderTests {
    private final class Provenance: ImageProvenance { let marks = ProvenanceMarks() }

    private let provenance = Provenance()
    private let preview = Preview()
    private let begun = LockBox<[Int]>([])

    private func cover(_ number: Int) { preview.cover { [begun] in begun.withLock { $0.append(number) } } }

    private func response(_ provenance: Provenance) throws -> WebImageResponse {
        var image = try SolidPicture(1).image()
        image.provenance = provenance
        return WebImageResponse(image: image, url: URL(filePath: "/a"), origin: .diskCache)
    }

    @Test func newBytesWaitForThePreviewInProgress() throws {
        #expect(preview.begin(with: provenance, number: 1))
        cover(1)
        cover(2)
        #expect(begun.withLock { $0 } == [])
        #expect(try !preview.finishMaking(response(provenance)))
        cover(3)
        #expect(begun.withLock { $0 } == [], "the stored one was not told yet")
        preview.update()
        #expect(begun.withLock { $0 } == [3], "the newest alone")
        cover(4)
        #expect(begun.withLock { $0 } == [3, 4])
    }

    @Test func aFailedPreviewDelaysNothing() {
        #expect(preview.begin(with: provenance, number: 1))
        cover(1)
        #expect(!preview.failMaking())
        preview.update()
        #expect(begun.withLock { $0 } == [1])
        guard case .other = preview.end(with: provenance) else {
            Issue.record("there is no picture")
            return
        }
    }

    @Test func anAwaitedResultIsDeliveredByThePreviewInProgress() throws {
        #expect(preview.begin(with: provenance, number: 1))
        cover(1)
        guard case .awaited = preview.end(with: provenance) else {
            Issue.record("the picture is being made")
            return
        }
        // One that comes late takes nothing away from it.
        #expect(!preview.begin(with: Provenance(), number: 2))
        #expect(try preview.finishMaking(response(provenance)))
    }

    @Test func aCoveredStoredImageIsDeliveredAtTheEnd() throws {
        try preview.show(response(provenance))
        cover(1)
        #expect(!preview.begin(with: Provenance(), number: 2), "nothing old after something new")
        guard case .made(let end) = preview.end(with: provenance) else {
            Issue.record("the picture was made")
            return
        }
        #expect(!end.isUnchanged)
    }

    @Test func aDisplayedStoredImageIsNotDeliveredAgain() throws {
        try preview.show(response(provenance))
        #expect(!preview.begin(with: provenance, number: 1), "it is there already")
        guard case .made(let end) = preview.end(with: provenance) else {
            Issue.record("the picture was made")
            return
        }
        #expect(end.isUnchanged)
    }
}

/// Images that were shown before an end.
private final class Previews: Sendable {
    private let shown = LockBox<[Image]>([])
    private let news: AsyncStream<Image>
    private let told: AsyncStream<Image>.Continuation

    init() { (news, told) = AsyncStream.makeStream() }

    var images: [Image] { shown.withLock { $0 } }

    @Sendable func note(_ image: Image) {
        shown.withLock { $0.append(image) }
        told.yield(image)
    }

    /// Waits for the next one that `isWanted`.
    func wait(for isWanted: (Image) -> Bool) async throws {
        for await image in news where isWanted(image) { return }
        throw WebImageError.cancelled
    }
}
