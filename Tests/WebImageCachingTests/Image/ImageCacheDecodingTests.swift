import FoundationEssentials
import Testing
import WebImageCoding
@testable import WebImageCore
import WebImageTestSupport

@testable import WebImageCaching

/// Decoding of the data on disk.
@Suite(.timeLimit(.minutes(3))) struct ImageCacheDecodingTests {
    private let fixture: ImageCacheFixture
    private let key: ImageCacheKey

    init() throws {
        fixture = try ImageCacheFixture()
        key = fixture.key
    }

    // MARK: Sharing

    @Test func decodesOnceForConcurrentLookUps() async throws {
        let gate = Gate()
        let decoder = ProbeDecoder { _ in gate.pass() }
        let cache = fixture.cache(decoder: decoder)
        await cache.store(nil, data: try solidPNG(), for: key, in: .disk)
        let widths = try await withThrowingTaskGroup(of: Int?.self) { group in
            for _ in 0..<20 { group.addTask { await cache.image(for: key)?.image?.width } }
            try await gate.reached.wait()
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(widths == Array(repeating: 8, count: 20))
        #expect(decoder.callCount == 1)
    }

    @Test func stopsDecodingWhenAllLookUpsAreCancelled() async throws {
        let gate = Gate()
        let seen = LockBox<Cancellation?>(nil)
        let decoder = ProbeDecoder { options in
            seen.withLock { $0 = options.cancellation }
            gate.pass()
        }
        let cache = fixture.cache(decoder: decoder)
        await cache.store(nil, data: try solidPNG(), for: key, in: .disk)
        let first = Task { await cache.image(for: key) }
        let second = Task { await cache.image(for: key) }
        try await gate.reached.wait()
        first.cancel()
        // It does not wait for the decoder, which is still blocked.
        #expect(await first.value == nil)
        second.cancel()
        #expect(await second.value == nil)
        // The look-ups may end a moment before the decoder is told.
        let limit = ContinuousClock.now + .seconds(10)
        while seen.withLock({ $0?.isCancelled }) != true, ContinuousClock.now < limit { await Task.yield() }
        #expect(seen.withLock { $0?.isCancelled } == true)
        gate.open()
        #expect(fixture.reports.codes == [])
        #expect(await cache.disk?.contains(key.source) == true)
    }

    @Test func aCancelledLookUpDoesNotCancelOthers() async throws {
        let gate = Gate()
        let cache = fixture.cache(decoder: ProbeDecoder { _ in gate.pass() })
        await cache.store(nil, data: try solidPNG(), for: key, in: .disk)
        let first = Task { await cache.image(for: key) }
        try await gate.reached.wait()
        let second = Task { await cache.image(for: key) }
        first.cancel()
        #expect(await first.value == nil)
        gate.open()
        #expect(await second.value?.image?.width == 8)
    }

    // MARK: Concurrent changes

    @Test func doesNotInsertOutdatedImagesIntoMemory() async throws {
        let gate = Gate()
        let cache = fixture.cache(decoder: ProbeDecoder { _ in gate.pass() })
        await cache.store(nil, data: try solidPNG(1, 1), for: key, in: .disk)
        let before = Task { await cache.image(for: key)?.image?.width }
        try await gate.reached.wait()
        await cache.store(nil, data: try solidPNG(2, 2), for: key, in: .disk)
        // It must not share the result of an earlier look-up.
        let after = Task { await cache.image(for: key)?.image?.width }
        gate.open()
        #expect(await before.value == 1)
        #expect(await after.value == 2)
        #expect(await cache.image(for: key)?.image?.width == 2)
    }

    @Test func doesNotRestoreRemovedImages() async throws {
        for clears in [false, true] {
            let gate = Gate()
            let cache = fixture.cache(decoder: ProbeDecoder { _ in gate.pass() })
            await cache.store(nil, data: try solidPNG(), for: key, in: .disk)
            let query = Task { await cache.image(for: key)?.image?.width }
            try await gate.reached.wait()
            if clears { await cache.clear() } else { await cache.remove(for: key) }
            gate.open()
            #expect(await query.value == 8)
            #expect(cache.memory.count == 0)
            #expect(await cache.tier(holding: key) == nil)
        }
    }

    @Test func findsImagesJustStoredDuringOtherLookUps() async throws {
        let cache = fixture.cache()
        let images = try (1...6).map { try solidPNG($0, 1) }
        let keys = (0..<3).map { ImageCacheKey(source: "\($0)") }
        await withTaskGroup { group in
            for (number, key) in keys.enumerated() {
                group.addTask {
                    for step in 0..<100 {
                        let width = 1 + (step + number) % images.count
                        await cache.store(nil, data: images[width - 1], for: key, in: .disk)
                        #expect(await cache.image(for: key, in: .disk)?.image?.width == width)
                    }
                }
                for _ in 0..<2 {
                    group.addTask { for _ in 0..<200 { _ = await cache.image(for: key, in: .disk) } }
                }
            }
        }
        #expect(fixture.reports.codes == [])
    }

    @Test func decodesOnceForLookUpsOfDifferentPriority() async throws {
        let gate = Gate()
        let decoder = ProbeDecoder { _ in gate.pass() }
        let cache = fixture.cache(decoder: decoder)
        await cache.store(nil, data: try solidPNG(), for: key, in: .disk)
        async let first = cache.image(for: key, in: .disk, options: ImageQueryOptions(priority: .low))
        try await gate.reached.wait()
        async let second = cache.image(for: key, in: .disk, options: ImageQueryOptions(priority: .veryHigh))
        while cache.queries.subscriberCount < 2, !Task.isCancelled { await Task.yield() }
        gate.open()
        #expect(await first != nil)
        #expect(await second != nil)
        #expect(decoder.callCount == 1)
    }

    // MARK: Damage

    @Test func removesDataThatCannotBeDecodedAndReportsItOnce() async throws {
        let gate = Gate()
        let cache = fixture.cache(decoder: ProbeDecoder { _ in gate.pass() })
        await cache.store(nil, data: try solidPNG().prefix(60), for: key, in: .disk)
        // Two look-ups in different tiers share no work, but read the same bytes.
        async let first = cache.image(for: key)
        async let second = cache.image(for: key, in: .disk)
        try await gate.reached.wait()
        gate.open()
        #expect(await first == nil)
        #expect(await second == nil)
        #expect(fixture.reports.codes == [403])
        #expect(fixture.reports.all.first?.description.contains(key.source) == true)
        #expect(await cache.disk?.contains(key.source) == false)
        #expect(await cache.image(for: key) == nil)
        #expect(fixture.reports.codes == [403])
    }

    @Test func keepsDataThatIsOnlyTooLargeToDecode() async throws {
        let cache = fixture.cache { $0.decodingLimits.pixelCount = 47 }
        await cache.store(nil, data: try solidPNG(8, 6), for: key, in: .disk)
        #expect(await cache.image(for: key) == nil)
        #expect(fixture.reports.codes == [303])
        #expect(await cache.disk?.contains(key.source) == true)
    }

    // MARK: Without pixels

    @Test func returnsDataOnlyWhenDecodingIsOff() async throws {
        let decoder = ProbeDecoder()
        for isOption in [true, false] {
            let cache = fixture.cache(decoder: decoder) { $0.decodesForDisplay = isOption }
            let data = try solidPNG()
            await cache.store(nil, data: data, for: key, in: .disk)
            let result = await cache.image(
                for: key, in: .all, options: ImageQueryOptions(decodesForDisplay: !isOption))
            #expect(result?.image == nil && result?.data == data)
            #expect(result?.info?.size == PixelSize(width: 8, height: 6))
            #expect(cache.memory.count == 0)
            #expect(decoder.callCount == 0)
            // Images in memory are returned.
            await cache.store(try solidImage(3, 2), for: key, in: .memory)
            #expect(await cache.image(for: key)?.image?.width == 3)
        }
    }

    @Test func removesDataWithoutAnImageHeader() async throws {
        let cache = fixture.cache { $0.decodesForDisplay = false }
        await cache.store(nil, data: Data("not an image".utf8), for: key, in: .disk)
        #expect(await cache.image(for: key) == nil)
        #expect(await cache.disk?.contains(key.source) == false)
        #expect(fixture.reports.codes == [403])
    }

    // MARK: Animation

    @Test func keepsTheBytesOfAnAnimation() async throws {
        let cache = fixture.cache()
        let data = try animatedGIF()
        await cache.store(nil, data: data, for: key, in: .disk)
        let image = try #require(await cache.image(for: key)?.image)
        #expect(image.frameCount > 1 && image.data == data)
        #expect(cache.memory.totalCost == image.pixels.byteCount + data.count)
        // A still image does not retain its data.
        let still = ImageCacheKey(source: "still")
        await cache.store(nil, data: try solidPNG(), for: still, in: .disk)
        #expect(await cache.image(for: still)?.image?.data == nil)
    }

    @Test func returnsTheFirstFrameWhenAnimationIsOff() async throws {
        let cache = fixture.cache()
        await cache.store(nil, data: try animatedGIF(), for: key, in: .disk)
        let options = ImageQueryOptions(allowsAnimated: false)
        let fromDisk = await cache.image(for: key, in: .all, options: options)
        #expect(fromDisk?.image?.frameCount == 1 && fromDisk?.image?.data == nil && fromDisk?.tier == .disk)
        // It has not replaced the animation.
        #expect(!cache.memory.contains(key))
        #expect(await cache.image(for: key, in: .all, options: options)?.tier == .memory)
        #expect(await cache.image(for: key, in: .memory) == nil)
        let animated = await cache.image(for: key)
        #expect(animated?.tier == .disk && animated?.image?.frameCount ?? 0 > 1)
        // Nor does the animation replace it.
        let fromMemory = await cache.image(for: key, in: .all, options: options)
        #expect(fromMemory?.tier == .memory && fromMemory?.image?.frameCount == 1 && fromMemory?.image?.data == nil)
    }

    @Test func recognizesAnAnimationWithoutAFrameCount() async throws {
        let decoded = try CodecRegistry.builtIn.decode(try animatedGIF())
        let image = Image(pixels: decoded.pixels, animation: decoded.animation)
        let cache = fixture.cache()
        await cache.store(image, for: key, in: .memory)
        #expect(await cache.image(for: key)?.image?.animation != nil)
        let options = ImageQueryOptions(allowsAnimated: false)
        #expect(await cache.image(for: key, in: .all, options: options)?.image?.animation == nil)
        let still = fixture.cache { $0.allowsAnimated = false }
        await still.store(image, for: key, in: .memory)
        #expect(still.image(inMemoryFor: key)?.animation == nil)
        #expect(still.memory.totalCost == image.pixels.byteCount)
    }

    @Test func decodesOnlyTheFirstFrameWhenAnimationIsOff() async throws {
        let seen = LockBox<[Bool]>([])
        let cache = fixture.cache(
            decoder: ProbeDecoder { options in seen.withLock { $0.append(options.firstFrameOnly) } })
        await cache.store(nil, data: try solidPNG(), for: key, in: .disk)
        for allowsAnimated in [true, false] {
            let options = ImageQueryOptions(allowsAnimated: allowsAnimated)
            #expect(await cache.image(for: key, in: .disk, options: options) != nil)
        }
        #expect(seen.withLock { $0 } == [false, true])
    }

    @Test func storesOnlyFirstFramesInACacheWithoutAnimation() async throws {
        let gif = try animatedGIF()
        let cache = fixture.cache { $0.allowsAnimated = false }
        let animated = try CodecRegistry.builtIn.decode(gif)
        await cache.store(animated, data: gif, for: key)
        #expect(cache.image(inMemoryFor: key)?.frameCount == 1)
        #expect(await cache.tier(holding: key, in: .memory) == .memory)
        #expect(cache.memory.value(for: key) == nil)
        #expect(cache.memory.totalCost == animated.pixels.byteCount)
        #expect(await cache.disk?.data(for: key.source) == gif)
        // Storing and removing affect it under its other key.
        await cache.store(try solidImage(3, 2), data: try solidPNG(), for: key)
        #expect(cache.image(inMemoryFor: key)?.width == 3)
        await cache.store(animated, data: gif, for: key)
        await cache.remove(for: key)
        #expect(cache.memory.count == 0)
    }
}
