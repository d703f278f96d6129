import CodingTestSupport
import Dispatch
import Foundation
import Testing
@testable import WebImageCoding
import WebImageCore

/// Decoders that do not return at the time limit. One after the other: threads that are missing count for all.
@Suite(.timeLimit(.minutes(3)), .serialized) struct DecodingWatchdogTests {
    private let decoder = BlockedDecoder()
    private let registry: CodecRegistry
    private var options = DecodingOptions()

    init() {
        registry = CodecRegistry(decoders: CodecRegistry.builtInDecoders() + [decoder])
        options.limits.seconds = 0.05
    }

    private let limitExceeded = WebImageError.limitExceeded(reason: .processorTime(seconds: 0.05))

    @Test func aDecodeThatDoesNotReturnEndsAtTheLimit() {
        #expect(throws: limitExceeded) { try registry.decode(BlockedDecoder.file, options: options) }
        #expect(DecodingWatchdog.shared.missingCount == 1)
        decoder.release(1)
        // The result that comes too late is freed, and the thread no longer counts as missing.
        decoder.freed.wait()
        #expect(DecodingWatchdog.shared.missingCount == 0)
    }

    @Test func itsMemoryCountsUntilItReturns() {
        var options = options
        options.budget = DecodingBudget(byteCount: 5000)
        #expect(throws: limitExceeded) { try registry.decode(BlockedDecoder.file, options: options) }
        #expect(options.budget.heldByteCount == BlockedDecoder.byteCount)
        // A larger one is not kept waiting for it.
        #expect(options.budget.decodeCount == 0)
        #expect(throws: Never.self) { try options.withMemory(4500) { (_) in } }
        decoder.release(1)
        decoder.freed.wait()
        #expect(options.budget.heldByteCount == 0)
    }

    @Test func decodingThreadsAreFreeAgain() async throws {
        let png = try Fixture("rgb-8.png").data()
        let (registry, options) = (registry, options)
        // Each decoding thread gets one that does not return, within the number that may be missing.
        let count = min(DecodingQueue.shared.threadCount, DecodingWatchdog.shared.threadLimit)
        let errors = await withTaskGroup(of: WebImageError?.self) { group in
            for _ in 0..<count {
                group.addTask {
                    await DecodingQueue.run { () -> WebImageError? in
                        do throws(WebImageError) {
                            _ = try registry.decode(BlockedDecoder.file, options: options)
                            return nil
                        } catch { return error }
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors.allSatisfy { $0 == limitExceeded })
        let image = await DecodingQueue.run { try? registry.decode(png) }
        #expect(image != nil)
        decoder.release(count)
        for _ in 0..<count { decoder.freed.wait() }
    }

    @Test func aFormatIsRefusedWhileTooManyThreadsAreMissing() throws {
        let limit = DecodingWatchdog.shared.threadLimit
        for _ in 0..<limit {
            #expect(throws: limitExceeded) { try registry.decode(BlockedDecoder.file, options: options) }
        }
        let refusal = WebImageError.outOfResources(reason: .decodingThreads(format: decoder.format, count: limit))
        #expect(throws: refusal) { try registry.decode(BlockedDecoder.file, options: options) }
        #expect(decoder.callCount.withLock { $0 } == limit)
        // Another format of the same kind is not.
        let other = BlockedDecoder(name: "other")
        other.release(1)
        let both = CodecRegistry(decoders: [other])
        #expect(throws: Never.self) { try both.decode(BlockedDecoder.file) }
        decoder.release(1)
        decoder.freed.wait()
        // One has come back: the format is decoded again. Which of the decodes goes on first is open, so all do.
        decoder.release(limit)
        #expect(throws: Never.self) { try registry.decode(BlockedDecoder.file) }
        for _ in 0..<limit { decoder.freed.wait() }
        #expect(DecodingWatchdog.shared.missingCount == 0)
    }

    @Test func framesAreGivenUpToo() throws {
        decoder.release(1)
        let animation = try #require(try registry.decode(BlockedDecoder.file, options: options).animation)
        let reader = animation.makeFrameReader()
        #expect(throws: limitExceeded) { try reader.frame(at: 0, cancellation: nil) }
        decoder.release(2)
        // With a new reader, since the other one is still in use.
        #expect(throws: Never.self) { try reader.frame(at: 1, cancellation: nil) }
    }

    @Test func incrementalDecodersAreGivenUpToo() throws {
        let incremental = try #require(
            try registry.makeIncrementalDecoder(startingWith: BlockedDecoder.file, options: options))
        #expect(throws: limitExceeded) { try incremental.preview() }
        // It has used up the time of all its calls, and is still at work.
        #expect(throws: limitExceeded) { try incremental.finish() }
        #expect(decoder.callCount.withLock { $0 } == 1)
        decoder.release(1)
    }

    @Test func readingHeadersIsGivenUpToo() {
        #expect(throws: limitExceeded) { try registry.info(of: BlockedDecoder.file, limits: options.limits) }
        decoder.release(1)
    }

    @Test func waitingForMemoryTakesNoTime() async throws {
        var options = options
        options.budget = DecodingBudget(byteCount: 1000)
        let share = LockBox<DecodingShare?>(try options.budget.share(1000, cancellation: nil))
        decoder.release(1)
        let (registry, asked) = (registry, options)
        async let image = DecodingQueue.run { try? registry.decode(BlockedDecoder.file, options: asked) }
        while options.budget.waitingCount == 0, !Task.isCancelled { await Task.yield() }
        // Another decode, which began later, reaches the limit.
        let late = BlockedDecoder(name: "late")
        #expect(throws: limitExceeded) {
            try CodecRegistry(decoders: [late]).decode(BlockedDecoder.file, options: self.options)
        }
        late.release(1)
        late.freed.wait()
        share.withLock { $0 = nil }
        #expect(await image != nil)
    }

    @Test func errorsAndResultsPass() throws {
        decoder.release(1)
        #expect(try registry.decode(BlockedDecoder.file).format == decoder.format)
        decoder.error.withLock { $0 = .decoding(format: decoder.format, reason: .truncated) }
        decoder.release(1)
        #expect(throws: WebImageError.decoding(format: decoder.format, reason: .truncated)) {
            try registry.decode(BlockedDecoder.file)
        }
    }
}

/// A decoder whose every call waits until the test lets it go on, as a library may that never returns.
private final class BlockedDecoder: ImageDecoder {
    static let file = Data("BLOCKED".utf8)
    static let byteCount = 1000

    let format: ImageFormat
    let callCount = LockBox(0)
    let error = LockBox<WebImageError?>(nil)
    /// Signalled when an image is released.
    let freed = DispatchSemaphore(value: 0)
    private let gate = DispatchSemaphore(value: 0)

    init(name: String = "blocked") {
        format = ImageFormat(name: name, mimeType: "image/\(name)", fileExtension: name)
    }

    func release(_ count: Int) { for _ in 0..<count { gate.signal() } }

    func canDecode(_ data: Data) -> Bool { data.starts(with: Self.file) }

    func pass() throws(WebImageError) {
        callCount.withLock { $0 += 1 }
        gate.wait()
        if let error = error.withLock({ $0 }) { throw error }
    }

    func info(of data: Data) throws(WebImageError) -> ImageInfo {
        try pass()
        return ImageInfo(format: format, size: PixelSize(width: 1, height: 1))
    }

    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        try options.withMemory(Self.byteCount) { (_) throws(WebImageError) in
            try pass()
            var image = Image(pixels: try Self.pixel(), format: format)
            image.animation = BlockedAnimation(self)
            return image
        }
    }

    func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)? { Incremental(self) }

    static func pixel() throws(WebImageError) -> PixelBuffer {
        try MutablePixelBuffer(width: 1, height: 1).freeze(isOpaque: false)
    }

    private final class Incremental: IncrementalImageDecoder {
        private let decoder: BlockedDecoder
        init(_ decoder: BlockedDecoder) { self.decoder = decoder }
        var animation: (any AnimationSource)? { nil }
        func append(_ bytes: Data) {}
        func preview() throws(WebImageError) -> Image? {
            try decoder.pass()
            return nil
        }
        func finish() throws(WebImageError) -> Image { try decoder.decode(Data(), options: DecodingOptions()) }
    }
}

private final class BlockedAnimation: AnimationSource {
    let identity = AnimationIdentity()
    let frameSize = PixelSize(width: 1, height: 1)
    let frames = Array(repeating: AnimationFrame(duration: 1, isKeyframe: true), count: 2)
    let (loopCount, isComplete, byteCount) = (0, true, 0)
    private let decoder: BlockedDecoder

    init(_ decoder: BlockedDecoder) { self.decoder = decoder }
    deinit { decoder.freed.signal() }

    func makeFrameReader() -> any AnimationFrameReader { Reader(decoder) }

    private final class Reader: AnimationFrameReader {
        private let decoder: BlockedDecoder
        init(_ decoder: BlockedDecoder) { self.decoder = decoder }
        func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
            try decoder.pass()
            return try BlockedDecoder.pixel()
        }
    }
}
