import FoundationEssentials
import Testing
import WebImageTestSupport

@testable import WebImage
@testable import WebImageProcessing

/// The previews of a file that is arriving.
@Suite(.timeLimit(.minutes(1))) struct PreviewTests {
    private let fixture: ManagerFixture
    private let url: URL

    init() throws {
        fixture = try ManagerFixture { $0.previewInterval = .zero }
        url = try ManagerFixture.url("a")
    }

    /// A pipeline whose time for previews the test sets.
    private func pipeline(
        _ loader: ScriptedLoader, interval: Duration = .zero,
        now: @escaping @Sendable () -> BootTime,
        call: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void = { _, _ in }
    ) -> Pipeline {
        var configuration = WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil), loaders: [loader])
        configuration.log = nil
        return Pipeline(configuration, previewTiming: PreviewTiming(interval: interval, now: now, call: call))
    }

    private func noise(progressive: Bool) throws -> Data {
        try CodecRegistry.shared.encode(
            NoisyPicture.image(side: 96), as: .jpeg,
            options: EncodingOptions(isProgressive: progressive))
    }

    @Test func progressiveShowsWhatHasArrived() async throws {
        let request = WebImageRequest(url, options: .progressive)
        let (previews, result) = try await fixture.previews(
            of: noise(progressive: true), parts: [0.3, 0.6], request)
        #expect(previews.allSatisfy { $0.isPartial && $0.pixels.size == PixelSize(width: 96, height: 96) })
        #expect(previews.count >= 2)
        #expect(!result.image.isPartial)
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url))?.isPartial == false)
        #expect(fixture.manager.counters.previews >= 2)
    }

    @Test func anOperationShowsNoOlderPreviewAndNoneAfterItsCancellation() async throws {
        let (queue, shown) = (ManualCallbackQueue(), LockBox<[Int]>([]))
        let operation = fixture.manager.load(
            WebImageRequest(url, options: .progressive), callbackQueue: queue,
            preview: { image in shown.withLock { $0.append(image.width) } }, completion: { _ in })
        func report(_ number: Int) throws {
            operation.report(try SolidPicture(1, size: PixelSize(width: number, height: 1)).image(), number: number)
        }
        try report(2)
        queue.runAll()
        for number in [1, 2] { try report(number) }
        queue.runAll()
        #expect(shown.withLock { $0 } == [2])
        // Two that wait are one, the latest.
        for number in [3, 5, 4] { try report(number) }
        queue.runAll()
        #expect(shown.withLock { $0 } == [2, 5])
        try report(6)
        operation.cancel()
        queue.runAll()
        #expect(shown.withLock { $0 } == [2, 5])
    }

    @Test func requestsWithoutTheOptionGetNoPreviews() async throws {
        let data = try noise(progressive: true)
        let (shown, results) = (LockBox(0), Results())
        fixture.manager.load(
            WebImageRequest(url), preview: { _ in shown.withLock { $0 += 1 } }, completion: results.note)
        // One that joins the transfer has them all the same.
        let seen = Countdown()
        fixture.manager.load(
            WebImageRequest(url, options: .progressive), preview: { _ in seen.signal() }, completion: results.note)
        let load = try await fixture.nextLoad()
        load.begin(expectedByteCount: Int64(data.count))
        load.send(data.prefix(data.count / 2))
        try await seen.wait()
        load.send(data.dropFirst(data.count / 2))
        load.end(.success(()))
        _ = await results.wait(for: 2)
        #expect(shown.withLock { $0 } == 0)
        #expect(fixture.loader.loadCount == 1)
    }

    @Test func previewsHaveTheRequestedSizeAndProcessors() async throws {
        let processor = ProbeProcessor(name: "a")
        let request = WebImageRequest(
            url, options: .progressive, thumbnail: Thumbnail(.pixels(width: 24, height: 24)),
            processors: [processor.erased])
        let (previews, _) = try await fixture.previews(of: noise(progressive: true), parts: [0.5], request)
        #expect(previews[0].pixels.size == PixelSize(width: 24, height: 24))
        #expect(previews[0].isTransformed)
        #expect(previews[0].isPartial)
    }

    @Test func previewsAreScaledDownLikeTheResult() async throws {
        let fixture = try ManagerFixture {
            $0.previewInterval = .zero
        }
        let request = WebImageRequest(url, options: .progressive).with { $0.decodedByteLimit = 48 * 48 * 4 }
        let (previews, result) = try await fixture.previews(of: noise(progressive: true), parts: [0.5], request)
        #expect(previews[0].isPartial)
        #expect(previews[0].pixels.size == PixelSize(width: 48, height: 48))
        #expect(result.image.pixels.size == previews[0].pixels.size)
    }

    @Test func progressiveBlurSmoothsCoarsePreviews() async throws {
        let data = try noise(progressive: true)
        let sharp = try await fixture.previews(of: data, parts: [0.5], WebImageRequest(url, options: .progressive))
        let other = try ManagerFixture { $0.previewInterval = .zero }
        let blurred = try await other.previews(
            of: data, parts: [0.5], WebImageRequest(url, options: .progressiveBlur))
        #expect(NoisyPicture.roughness(blurred.previews[0]) < NoisyPicture.roughness(sharp.previews[0]) / 2)
        #expect(NoisyPicture.roughness(blurred.result.image) == NoisyPicture.roughness(sharp.result.image))
    }

    @Test func theBlurHasItsRadiusInPoints() async throws {
        let data = try noise(progressive: true)
        let sharp = try await fixture.previews(of: data, parts: [0.5], WebImageRequest(url, options: .progressive))
        for scale in [1.0, 2, 3] {
            let other = try ManagerFixture { $0.previewInterval = .zero }
            let request = WebImageRequest(url, options: .progressiveBlur, scale: scale)
            let blurred = try await other.previews(of: data, parts: [0.5], request)
            let points = BlurRadius.points(
                received: Int64(data.count / 2), expected: Int64(data.count), number: 1)
            let expected = try sharp.previews[0].pixels.blurred(radius: points * scale)
            #expect(blurred.previews[0].scale == scale)
            #expect(Self.bytes(of: blurred.previews[0].pixels) == Self.bytes(of: expected))
        }
    }

    private static func bytes(of pixels: PixelBuffer) -> Data { pixels.withUnsafeBytes { Data($0) } }

    @Test func interlacedPNGsAreBlurredToo() async throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Fixtures/images/grey-8-adam7.png")
        let data = try Data(contentsOf: path)
        #expect(PassOrder(startOf: data) == .coarseToFine)
        let sharp = try await fixture.previews(
            of: data, parts: [0.8], WebImageRequest(url, options: .progressive))
        let other = try ManagerFixture { $0.previewInterval = .zero }
        let blurred = try await other.previews(
            of: data, parts: [0.8], WebImageRequest(url, options: .progressiveBlur))
        #expect(blurred.previews[0].isPartial)
        #expect(NoisyPicture.roughness(blurred.previews[0]) < NoisyPicture.roughness(sharp.previews[0]))
    }

    @Test func sequentialFilesAreNotBlurred() async throws {
        let data = try noise(progressive: false)
        let loader = ScriptedLoader()
        // The time is read when bytes have arrived, when an attempt at a preview begins, and after it has reported one.
        let attempt = Countdown(3)
        let pipeline = pipeline(
            loader,
            now: {
                attempt.signal()
                return BootTime.now
            })
        let (count, ended) = (LockBox(0), Countdown())
        let context = LoadContext(request: WebImageRequest(url, options: .progressiveBlur), loader: loader)
        let step = pipeline.join(context) { event in
            switch event {
            case .provisional: count.withLock { $0 += 1 }
            case .finished: ended.signal()
            default: break
            }
        }
        let load = try await loader.loads.first()
        load.begin(expectedByteCount: Int64(data.count))
        load.send(data.prefix(data.count * 6 / 10))
        try await attempt.wait()
        load.send(data.dropFirst(data.count * 6 / 10))
        load.end(.success(()))
        try await ended.wait()
        #expect(count.withLock { $0 } == 0)
        withExtendedLifetime(step) {}

        let both = WebImageRequest(try ManagerFixture.url("b"), options: [.progressive, .progressiveBlur])
        let (previews, result) = try await fixture.previews(of: data, parts: [0.6], both)
        let top = NoisyPicture.roughness(previews[0], rows: 0..<8)
        #expect(top == NoisyPicture.roughness(result.image, rows: 0..<8), "the rows that are there are sharp")
    }

    @Test func anAnimationPlaysWhileItArrives() async throws {
        let request = WebImageRequest(url, options: .progressive)
        let gif = try TestAnimation.gif([10, 20, 30, 40, 50, 60])
        let (previews, result) = try await fixture.previews(of: gif, parts: [0.7], request)
        let animation = try #require(previews[0].animation)
        #expect(!animation.isComplete)
        #expect(animation.frameCount < 6)
        #expect(result.image.frameCount == 6)
    }

    @Test func previewsOfADamagedFileDoNotHideItsError() async throws {
        var data = try noise(progressive: true)
        data.removeLast(data.count / 4)
        let results = Results()
        let seen = Countdown()
        fixture.manager.load(
            WebImageRequest(url, options: .progressive), preview: { _ in seen.signal() }, completion: results.note)
        let load = try await fixture.nextLoad()
        load.begin(expectedByteCount: nil)
        load.send(data)
        try await seen.wait()
        load.end(.success(()))
        let error = await results.wait(for: 1).first
        guard case .failure(.decoding)? = error else {
            Issue.record("ended with \(String(describing: error))")
            return
        }
        #expect(fixture.manager.cachedImage(for: WebImageRequest(url)) == nil)
    }

    @Test func aSlowProcessorIsNotStoppedByNewBytes() async throws {
        let processor = ProbeProcessor(name: "slow")
        processor.probe.isHeld.withLock { $0 = true }
        let (shown, results) = (LockBox(0), Results())
        let signals = [Countdown(), Countdown(2)]
        fixture.manager.load(
            WebImageRequest(url, options: .progressive, processors: [processor.erased]),
            preview: { _ in
                shown.withLock { $0 += 1 }
                for signal in signals { signal.signal() }
            }, completion: results.note)
        let data = try noise(progressive: true)
        let load = try await fixture.nextLoad()
        load.begin(expectedByteCount: Int64(data.count))
        load.send(data[..<(data.count * 3 / 10)])
        try await processor.probe.starts.first()
        load.send(data[(data.count * 3 / 10)..<(data.count * 6 / 10)])
        while fixture.manager.counters.previews < 2, !Task.isCancelled { await Task.yield() }
        processor.probe.release()
        try await signals[0].wait()
        processor.probe.release()
        try await signals[1].wait()
        #expect(processor.runCount == 2)
        processor.probe.isHeld.withLock { $0 = false }
        load.send(data[(data.count * 6 / 10)...])
        load.end(.success(()))
        _ = await results.wait(for: 1)
        #expect(shown.withLock { $0 } >= 2)
    }

    @Test func attemptsWithoutAPreviewCountTheirTimeToo() async throws {
        let loader = ScriptedLoader()
        let configuration = WebImageManager.Configuration(
            cache: ImageCache(memory: MemoryCache(costLimit: 1 << 20), disk: nil), loaders: [loader])
        let clock = LockBox(BootTime.now)
        let delays = LockBox<[Duration]>([])
        // The clock is asked before an attempt, at its beginning and at its end.
        let (attempted, delayed) = (Countdown(3), Countdown())
        let pipeline = Pipeline(
            configuration,
            previewTiming: PreviewTiming(
                interval: .milliseconds(200),
                now: {
                    attempted.signal()
                    return clock.withLock { now in
                        now = now + .milliseconds(10)
                        return now
                    }
                },
                call: { delay, _ in
                    delays.withLock { $0.append(delay) }
                    delayed.signal()
                }))
        let context = LoadContext(request: WebImageRequest(url, options: .progressive), loader: loader)
        let ended = Countdown()
        let step = pipeline.join(context) { event in if case .finished = event { ended.signal() } }
        let data = try noise(progressive: true)
        let load = try await loader.loads.first()
        load.begin(expectedByteCount: Int64(data.count))
        // Too few for an image, and then a little more.
        load.send(data[..<100])
        try await attempted.wait()
        load.send(data[100..<101])
        try await delayed.wait()
        // Less than the interval. The clock moves with each look, and another thread may look between.
        #expect(delays.withLock { $0.first.map { $0 > .zero && $0 <= .milliseconds(100) } } == true)
        load.send(data[101...])
        load.end(.success(()))
        try await ended.wait()
        _ = step
    }

    @Test func previewsRespectTheMinimumInterval() async throws {
        let loader = ScriptedLoader()
        let clock = LockBox(BootTime.now)
        let calls = LockBox<[@Sendable () -> Void]>([])
        let pipeline = pipeline(
            loader, interval: .seconds(1), now: { clock.withLock { $0 } },
            call: { _, body in calls.withLock { $0.append(body) } })
        let context = LoadContext(request: WebImageRequest(url, options: .progressive), loader: loader)
        let (count, ended) = (LockBox(0), Countdown())
        let signals = [Countdown(), Countdown(2)]
        let step = pipeline.join(context) { event in
            switch event {
            case .provisional:
                count.withLock { $0 += 1 }
                for signal in signals { signal.signal() }
            case .finished: ended.signal()
            default: break
            }
        }
        let data = try noise(progressive: true)
        let load = try await loader.loads.first()
        load.begin(expectedByteCount: Int64(data.count))
        load.send(data[..<(data.count / 3)])
        try await signals[0].wait()
        load.send(data[(data.count / 3)..<(data.count / 2)])
        load.send(data[(data.count / 2)..<(data.count * 3 / 4)])
        // The first may still be noting its end; then it looks itself, and asks to be called too.
        while calls.withLock({ $0.isEmpty }), !Task.isCancelled { await Task.yield() }
        #expect(count.withLock { $0 } == 1)
        #expect(calls.withLock { $0.count } == 1)
        clock.withLock { $0 = $0 + .seconds(1) }
        // The transfer stalls: nothing more arrives, and still there is the next.
        for body in calls.withLock({ $0 }) { body() }
        try await signals[1].wait()
        load.send(data[(data.count * 3 / 4)...])
        load.end(.success(()))
        try await ended.wait()
        #expect(count.withLock { $0 } == 2)
        _ = step
    }
}

/// When, and how much.
@Suite(.timeLimit(.minutes(3))) struct PreviewRuleTests {
    @Test func theNextIsDueAfterTheIntervalOrFourTimesTheCost() {
        let start = BootTime.now
        let timing = PreviewTiming(interval: .milliseconds(200))
        func next(_ milliseconds: Int, _ isBlurred: Bool = false) -> Duration {
            timing.next(begun: start, ended: start + .milliseconds(milliseconds), isBlurred: isBlurred) - start
        }
        #expect(next(1) == .milliseconds(200))
        #expect(next(1, true) == .milliseconds(400))
        #expect(next(100) == .milliseconds(500))
    }

    @Test func aResultThatArrivesLateStartsNoPreview() {
        let preview = Preview()
        #expect(preview.begin(with: nil, number: 2))
        preview.update()
        #expect(!preview.begin(with: nil, number: 1) && !preview.begin(with: nil, number: 2))
        #expect(preview.begin(with: nil, number: 3))
    }

    @Test func theBlurShrinksAsInYYWebImage() {
        func radius(_ part: Double) -> Double {
            BlurRadius.points(received: Int64(part * 1000), expected: 1000, number: 1)
        }
        for (part, expected) in [(0, 45.3), (0.1, 27.6), (0.25, 15.7), (0.5, 7.2), (0.75, 3.2), (0.9, 1.7), (1, 0.9)] {
            #expect(abs(radius(part) - expected) < 0.06)
        }
        #expect(radius(2) == radius(1), "more than was announced")
        #expect((1...3).map { BlurRadius.points(received: 5, expected: nil, number: $0) } == [32, 16, 32 / 3.0])
        #expect(BlurRadius.points(received: 5, expected: 0, number: 2) == 16)
    }

    @Test func theOrderOfPassesIsReadFromTheFirstBytes() throws {
        let image = NoisyPicture.image(side: 16)
        func jpeg(_ isProgressive: Bool) throws -> Data {
            try CodecRegistry.shared.encode(
                image, as: .jpeg, options: EncodingOptions(isProgressive: isProgressive))
        }
        #expect(try PassOrder(startOf: jpeg(true)) == .coarseToFine)
        #expect(try PassOrder(startOf: jpeg(false)) == .rows)
        #expect(try PassOrder(startOf: jpeg(true).prefix(20)) == nil)
        #expect(try PassOrder(startOf: CodecRegistry.shared.encode(image, as: .png)) == .rows)
        #expect(try PassOrder(startOf: CodecRegistry.shared.encode(image, as: .png).prefix(20)) == nil)
        #expect(try PassOrder(startOf: CodecRegistry.shared.encode(image, as: .webp)) == .rows)
        #expect(PassOrder(startOf: Data()) == nil)
        // It ends with any lengths in the file.
        #expect(PassOrder(startOf: Data([0xFF, 0xD8, 0xFF, 0xE0, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0])) == nil)
        #expect(PassOrder(startOf: Data([0xFF, 0xD8, 0xFF, 0xE0, 0, 0, 0, 0, 0, 0, 0, 0, 0])) == nil)
        // Nor do they hide the order, where libjpeg passes over them.
        for length in [0, 1, 2, 4] as [UInt8] {
            let comment = Data([0xFF, 0xFE, 0, length]) + Data("text".utf8)
            #expect(try PassOrder(startOf: jpeg(true).prefix(2) + comment + jpeg(true).dropFirst(2)) == .coarseToFine)
        }
    }
}
