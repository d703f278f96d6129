import Dispatch
import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage
@testable import WebImageLoading

/// The decoding of previews, step by step. The test sets the time, and is told when an attempt has ended.
@Suite(.timeLimit(.minutes(1))) struct PreviewDecodingTests {
    private static let interval = Duration.seconds(1)

    /// A pipeline whose previews are due when the test says so.
    private struct Fixture {
        let loader = ScriptedLoader()
        let url: URL
        let pipeline: Pipeline
        private let clock: LockBox<BootTime>
        private let delayed: LockBox<[@Sendable () -> Void]>
        private let clockReads: AsyncStream<Void>
        private let delays: AsyncStream<Void>
        private let shown = LockBox<[Image]>([])

        init(_ configure: (inout WebImageManager.Configuration) -> Void = { _ in }) throws {
            url = try ManagerFixture.url("a")
            var configuration = WebImageManager.Configuration(
                cache: ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil), loaders: [loader])
            configure(&configuration)
            let (clock, delayed) = (LockBox(BootTime.now), LockBox<[@Sendable () -> Void]>([]))
            let (stream, asked) = AsyncStream<Void>.makeStream()
            let (delays, wasDelayed) = AsyncStream<Void>.makeStream()
            pipeline = Pipeline(
                configuration,
                previewTiming: PreviewTiming(
                    interval: interval,
                    now: {
                        defer { asked.yield() }
                        return clock.withLock { $0 }
                    },
                    call: { _, body in
                        delayed.withLock { $0.append(body) }
                        wasDelayed.yield()
                    }))
            (self.clock, self.delayed, self.delays, clockReads) = (clock, delayed, delays, stream)
        }

        var previews: [Image] { shown.withLock { $0 } }
        /// How many previews wait for their time.
        var delayedCount: Int { delayed.withLock { $0.count } }

        /// Starts a load, and waits until the loader is asked.
        func start(_ options: WebImageOptions) async throws -> (load: ScriptedLoad, step: (any LoaderTask)?) {
            let context = LoadContext(request: WebImageRequest(url, options: options), loader: loader)
            let step = pipeline.join(context) { [shown] event in
                if case .provisional(let response, _) = event { shown.withLock { $0.append(response.image) } }
            }
            return (try await loader.loads.first(), step)
        }

        /// Waits for an attempt that bytes have begun: the time is asked for before it, at its beginning, at its end,
        /// and once it has let go of its turn.
        func attemptEnded() async throws {
            for _ in 1...4 { try await clockReads.first() }
        }

        /// Lets the previews begin that wait for their time.
        func passInterval() {
            clock.withLock { $0 = $0 + interval }
            let bodies = delayed.withLock { delayed in
                defer { delayed = [] }
                return delayed
            }
            for body in bodies { body() }
        }

        /// Waits until the next preview waits for its time; 10 s at most.
        func previewDelayed() async throws {
            let net = Countdown()
            let wait = Task { [delays] in
                for await _ in delays { break }
                net.signal()
            }
            defer { wait.cancel() }
            try await net.wait(atMost: .seconds(10))
        }

        /// Waits for the time to be asked for by bytes that begin no attempt.
        func bytesNoted() async throws { try await clockReads.first() }
    }

    private func progressiveJPEG(side: Int) throws -> Data {
        try CodecRegistry.shared.encode(
            NoisyPicture.image(side: side), as: .jpeg,
            options: EncodingOptions(isProgressive: true))
    }

    @Test func noPreviewIsDueOnceNearlyAllBytesHaveArrived() async throws {
        let fixture = try Fixture()
        let data = try progressiveJPEG(side: 96)
        let (load, step) = try await fixture.start(.progressive)
        load.begin(expectedByteCount: Int64(data.count))
        let (third, mostly, nearlyAll) = (data.count / 3, data.count * 9 / 10, data.count * 995 / 1000)
        load.send(data[..<third])
        try await fixture.attemptEnded()
        load.send(data[third..<mostly])
        try await fixture.bytesNoted()
        // The next waits for its time.
        try await fixture.previewDelayed()
        fixture.passInterval()
        try await fixture.attemptEnded()
        try #require(fixture.previews.count == 2)
        load.send(data[mostly..<nearlyAll])
        try await fixture.bytesNoted()
        #expect(fixture.delayedCount == 0, "the image itself is due before")
        step?.cancel()
    }

    @Test func noBlurredPreviewIsShownBeforeTheFirstPassIsComplete() async throws {
        let fixture = try Fixture()
        let data = try Self.interlacedPNG()
        let (partly, wholly) = try #require(Self.partsOfFirstPass(of: data), "the first pass shows at once")
        let (load, step) = try await fixture.start(.progressiveBlur)
        load.begin(expectedByteCount: nil)
        load.send(data[..<partly])
        try await fixture.attemptEnded()
        #expect(fixture.previews.isEmpty)
        // Twice as long for blurred ones: whatever was shown, the next is due.
        for _ in 1...2 { fixture.passInterval() }
        load.send(data[partly..<wholly])
        try await fixture.attemptEnded()
        #expect(fixture.previews.count == 1)
        #expect(fixture.previews.allSatisfy { $0.pixels[$0.width - 1, $0.height - 1].w == 255 })
        step?.cancel()
    }

    /// How many bytes of the file make a preview that lacks its last pixel, and how many one that has it.
    private static func partsOfFirstPass(of data: Data) -> (partly: Int, wholly: Int)? {
        var partly: Int?
        for count in 64..<data.count {
            guard
                let decoder = try? CodecRegistry.shared.makeIncrementalDecoder(
                    startingWith: data[..<count], options: DecodingOptions()),
                let image = try? decoder.preview()
            else { continue }
            let hasLast = image.pixels[image.width - 1, image.height - 1].w > 0
            if hasLast { return partly.map { ($0, count) } }
            partly = count
        }
        return nil
    }

    private static func interlacedPNG() throws -> Data {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try Data(contentsOf: tests.appending(path: "Fixtures/images/grey-8-adam7.png"))
    }

    @Test func aBodyMovedToAFilePassesEachByteToTheDecoderOnce() async throws {
        let data = try progressiveJPEG(side: 96)
        let decoder = RecordingDecoder()
        let codecs = CodecRegistry()
        codecs.register(decoder)
        let fixture = try Fixture {
            $0.bodyStorage.memoryByteLimit = data.count / 2
            $0.codecs = codecs
        }
        let (load, step) = try await fixture.start(.progressive)
        load.begin(expectedByteCount: nil)
        let (third, most) = (data.count / 3, data.count * 9 / 10)
        load.send(data[..<third])
        try await fixture.attemptEnded()
        #expect(decoder.taken == data[..<third])

        // Nothing reaches the file for now.
        let spool = try await HeldQueue(BodyCollector.queue, threadCount: 2)
        load.send(data[third..<most])
        try await fixture.bytesNoted()
        try await fixture.previewDelayed()
        fixture.passInterval()
        try await fixture.attemptEnded()
        #expect(decoder.taken == data[..<third])
        await spool.release()
        // The transfer stalls: what was missing is looked for all the same.
        try await fixture.previewDelayed()
        fixture.passInterval()
        try await fixture.attemptEnded()
        #expect(decoder.taken == data[..<most])
        #expect(fixture.previews.count == 2)
        step?.cancel()
    }
}

/// Keeps the threads of a queue busy until it is released.
private struct HeldQueue {
    private let gate = DispatchSemaphore(value: 0)
    private let ended: Countdown
    private let queue: WorkQueue
    private let threadCount: Int

    init(_ queue: WorkQueue, threadCount: Int) async throws {
        let started = Countdown(threadCount)
        ended = Countdown(threadCount)
        (self.queue, self.threadCount) = (queue, threadCount)
        for _ in 0..<threadCount {
            queue.submit(priority: .veryHigh) { [gate] in
                started.signal()
                // The limit is a safety net.
                _ = gate.wait(timeout: .now() + .seconds(20))
            }
        }
        try await started.wait()
    }

    /// Returns once everything that waited has run.
    func release() async {
        for _ in 0..<threadCount { gate.signal() }
        // All threads at once: none is busy with anything else then.
        let (arrived, barrier) = (Countdown(threadCount), DispatchSemaphore(value: 0))
        for _ in 0..<threadCount {
            queue.submit(priority: .veryLow) {
                arrived.signal()
                _ = barrier.wait(timeout: .now() + .seconds(20))
            }
        }
        try? await arrived.wait()
        for _ in 0..<threadCount { barrier.signal() }
    }
}

/// Notes the bytes that its incremental decoders take; each preview is an image of one color.
private final class RecordingDecoder: ImageDecoder {
    let format = ImageFormat.jpeg
    private let bytes = LockBox(Data())

    var taken: Data { bytes.withLock { $0 } }

    func info(of data: Data) throws(WebImageError) -> ImageInfo { try CodecRegistry().info(of: data) }

    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        try CodecRegistry().decode(data, options: options)
    }

    func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)? { Incremental(self) }

    private final class Incremental: IncrementalImageDecoder {
        let decoder: RecordingDecoder
        let animation: (any AnimationSource)? = nil

        init(_ decoder: RecordingDecoder) { self.decoder = decoder }

        func append(_ bytes: Data) throws(WebImageError) { decoder.bytes.withLock { $0 += bytes } }

        func preview() throws(WebImageError) -> Image? {
            var image = NoisyPicture.image(side: 4)
            image.isPartial = true
            return image
        }

        func finish() throws(WebImageError) -> Image { NoisyPicture.image(side: 4) }
    }
}
