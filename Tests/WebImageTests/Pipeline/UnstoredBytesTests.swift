import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage

/// Bytes that have arrived and are not stored yet, because they are being decoded.
@Suite(.timeLimit(.minutes(1))) struct UnstoredBytesTests {
    private let decoder = ProbeDecoder(holdsFirst: true)
    private let fixture: ManagerFixture
    private let pipeline: Pipeline
    private let url: URL

    init() throws {
        // Without a disk, only the bytes in progress can spare a load.
        fixture = try ManagerFixture(decoder: decoder, hasDisk: false)
        pipeline = Pipeline(fixture.manager.configuration)
        url = try ManagerFixture.url("photograph")
    }

    /// Loads the image at a size, until its decoding begins.
    private func beginDecoding(width: Int) async throws -> (Countdown, (any LoaderTask)?) {
        let end = Countdown()
        let task = try load(WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: width, height: width))), end)
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        try await decoder.starts.first()
        return (end, task)
    }

    private func load(_ request: WebImageRequest, _ end: Countdown) throws -> (any LoaderTask)? {
        pipeline.join(try #require(pipeline.context(for: request))) { event in
            if case .finished = event { end.signal() }
        }
    }

    @Test func anotherSizeIsDecodedFromThem() async throws {
        let (first, task) = try await beginDecoding(width: 1)
        let second = Countdown()
        let other = try load(WebImageRequest(url, thumbnail: Thumbnail(.pixels(width: 2, height: 2))), second)
        decoder.release()
        try await first.wait()
        try await second.wait()
        #expect(fixture.loader.loadCount == 1)
        #expect(decoder.decodeCount == 2)
        withExtendedLifetime((task, other)) {}
    }

    @Test func aReloadAsksTheServer() async throws {
        let (first, task) = try await beginDecoding(width: 1)
        let second = Countdown()
        let other = try load(WebImageRequest(url, cachePolicy: .reload), second)
        try await fixture.nextLoad().answer(SolidPicture(2).png())
        decoder.release()
        try await first.wait()
        try await second.wait()
        #expect(fixture.loader.loadCount == 2)
        withExtendedLifetime((task, other)) {}
    }

    /// The first load still has its bytes while it reports its end.
    @Test(arguments: [false, true]) func aRetryAsksTheServerForDamagedBytes(allowsDamage: Bool) async throws {
        let fixture = try ManagerFixture(allowsDamage: allowsDamage, hasDisk: false)
        let pipeline = Pipeline(fixture.manager.configuration)
        let context = try #require(pipeline.context(for: WebImageRequest(url)))
        let (first, second) = (Results(), Results())
        let retry = LockBox<(any LoaderTask)?>(nil)
        let task = pipeline.join(context) { event in
            guard case .finished(let result) = event else { return }
            let other = pipeline.join(context) { event in
                if case .finished(let result) = event { second.note(result) }
            }
            retry.withLock { $0 = other }
            first.note(result)
        }
        let damaged = try SolidPicture(1, size: PixelSize(width: 64, height: 64)).png()
        try await fixture.nextLoad().answer(damaged.prefix(damaged.count / 2))
        #expect(await first.wait(for: 1).first.flatMap { try? $0.get().image.isPartial } == (allowsDamage ? true : nil))
        try await fixture.nextLoad().answer(SolidPicture(2).png())
        #expect(try await second.wait(for: 1).first?.get().image.isPartial == false)
        withExtendedLifetime((task, retry)) {}
    }

    @Test func storedBytesAreReadFromTheDisk() async throws {
        let decoder = ProbeDecoder(holdsFirst: true)
        let fixture = try ManagerFixture(decoder: decoder)
        let pipeline = Pipeline(fixture.manager.configuration)
        let context = try #require(pipeline.context(for: WebImageRequest(url)))
        let end = Countdown()
        let task = pipeline.join(context) { event in if case .finished = event { end.signal() } }
        try await fixture.nextLoad().answer(SolidPicture(1).png())
        try await decoder.starts.first()
        // Someone may hold them longer than the load.
        let bytes = try #require(pipeline.unstored[context.bytesKey(sources: context.byteSources)])
        decoder.release()
        try await end.wait()
        #expect(pipeline.unstored.count == 0)
        withExtendedLifetime((task, bytes)) {}
    }

    @Test func theyAreReleasedWithTheLoadThatDecodesThem() async throws {
        let (_, task) = try await beginDecoding(width: 1)
        #expect(pipeline.unstored.count == 1)
        task?.cancel()
        try await decoder.cancellations.first()
        // The decoding thread releases them after it has seen the cancellation.
        while pipeline.unstored.count > 0, !Task.isCancelled { await Task.yield() }
    }
}
