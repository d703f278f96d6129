import FoundationEssentials
import Testing
import WebImageCoding
import WebImageCore
import WebImageTestSupport

@testable import WebImageIsolation

/// A process keeps its memory for the next image, and gives it back when it has no work.
@Suite(.timeLimit(.minutes(3))) struct KeptMemoryTests {
    private let isolation = IsolatedDecoding(
        configuration: .init(decoder: "webimage-decoder") { $0.processCount = 1 })
    private let local = CodecRegistry()
    private var registry: CodecRegistry { local.isolated(by: .allFormats, in: isolation) }

    private func png(_ size: PixelSize, shift: Int = 0) throws -> Data {
        try local.encode(IsolatedDecodingTests.image(size, shift: shift), as: .png)
    }

    @Test func imagesOfAllSizesFollowEachOther() throws {
        let sizes = [(3000, 2000), (1, 1), (5000, 4000), (64, 64), (4999, 4001), (4999, 3), (3000, 2000)]
        for (index, (width, height)) in sizes.enumerated() {
            let data = try png(PixelSize(width: width, height: height), shift: index * 77)
            let expected = try local.decode(data)
            #expect(try registry.decode(data).pixels.isEqual(to: expected.pixels))
        }
        #expect(isolation.pool.counters.startedProcessCount == 1)
    }

    @Test func limitsOfAllSizesFollowEachOther() throws {
        let data = try png(PixelSize(width: 900, height: 700))
        let expected = try local.decode(data)
        for mebibytes in [64, 1024, 100, 2048, 64, 4096, Int.max >> 20] {
            var options = DecodingOptions()
            options.limits.memoryByteCount = mebibytes << 20
            #expect(try registry.decode(data, options: options).pixels.isEqual(to: expected.pixels))
        }
        #expect(isolation.pool.counters.startedProcessCount == 1)
    }

    /// The memory for results is as large as the first limit, at first.
    @Test func anImageAfterASmallerLimitHasRoom() throws {
        let small = try png(PixelSize(width: 9, height: 7))
        var options = DecodingOptions()
        options.limits.memoryByteCount = 4 << 20
        _ = try registry.decode(small, options: options)
        let large = try png(PixelSize(width: 5000, height: 4000))
        #expect(try registry.decode(large).pixels.isEqual(to: local.decode(large).pixels))
        #expect(isolation.pool.counters.startedProcessCount == 1)
    }

    @Test func anImageStaysAsItIsWhenTheNextIsDecoded() throws {
        let size = PixelSize(width: 900, height: 700)
        let first = try registry.decode(png(size))
        let copy = try local.decode(png(size))
        for shift in 1..<4 { _ = try registry.decode(png(size, shift: shift * 1000)) }
        #expect(first.pixels.isEqual(to: copy.pixels))
    }

    /// Frames are composed on those before, which may be where results are.
    @Test(arguments: [ImageFormat.gif, .png, .webp])
    func framesAndImagesInTurnDoNotDisturbEachOther(format: ImageFormat) throws {
        let data = try local.encode(IsolatedDecodingTests.animation(), as: format)
        let animation = try #require(try registry.animation(of: data))
        let (reader, other) = (animation.makeFrameReader(), animation.makeFrameReader())
        let expected = try #require(try local.animation(of: data)).makeFrameReader()
        for index in [0, 1, 2, 3, 4, 0, 2] {
            let image = try png(PixelSize(width: 300 + index, height: 200), shift: index)
            #expect(try registry.decode(image).pixels.isEqual(to: local.decode(image).pixels))
            let frame = try expected.frame(at: index, cancellation: nil)
            #expect(try reader.frame(at: index, cancellation: nil).isEqual(to: frame))
            isolation.pool.restIdleProcesses()
            #expect(try other.frame(at: index, cancellation: nil).isEqual(to: frame))
        }
        #expect(isolation.pool.counters.startedProcessCount == 1)
    }

    @Test func metadataIsReadBesideOpenFiles() throws {
        let data = try local.encode(IsolatedDecodingTests.animation(), as: .gif)
        let reader = try #require(try registry.animation(of: data)).makeFrameReader()
        _ = try reader.frame(at: 1, cancellation: nil)
        var options = EncodingOptions()
        options.metadata = ImageMetadata(exif: nil, xmp: Data("<x:xmpmeta/>".utf8))
        let still = try local.encode(
            IsolatedDecodingTests.image(PixelSize(width: 8, height: 8)), as: .jpeg, options: options)
        #expect(try registry.metadata(of: still) == local.metadata(of: still))
        let expected = try #require(try local.animation(of: data)).makeFrameReader()
        let frame = try expected.frame(at: 2, cancellation: nil)
        #expect(try reader.frame(at: 2, cancellation: nil).isEqual(to: frame))
    }

    @Test func aProcessWithoutWorkGivesTheMemoryOfImagesBack() async throws {
        _ = try registry.decode(png(PixelSize(width: 4000, height: 3000)))
        func byteCount() -> Int {
            ChildProcesses.ofThisProcess.flatMap { [$0] + ChildProcesses.of($0) }
                .map { ProcessMemory(of: $0).allocatedByteCount }.max() ?? 0
        }
        try #require(byteCount() > 40 << 20)
        while byteCount() > 20 << 20, !Task.isCancelled { await Task.yield() }
        #expect(byteCount() <= 20 << 20)
        // And works on.
        let data = try png(PixelSize(width: 900, height: 700))
        #expect(try registry.decode(data).pixels.isEqual(to: local.decode(data).pixels))
        #expect(isolation.pool.counters.startedProcessCount == 1)
    }

    @Test func aProcessOutlivesCancellationsThatComeBeforeItsWork() throws {
        let data = try png(PixelSize(width: 2000, height: 2000))
        let cancellation = Cancellation()
        cancellation.cancel()
        for _ in 0..<50 {
            #expect(throws: DecoderProcess.Failure.self) {
                try isolation.pool.withProcess(within: .minute) { process in
                    try process.reply(
                        to: ProcessRequest(
                            .decode(.png, SentDecodingOptions(DecodingOptions())), input: .bytes(data),
                            outputByteCount: 64 << 20),
                        within: WaitLimit(deadline: Channel.Limit.now + 60, cancellation: cancellation))
                }
            }
        }
        // A process that a busy machine keeps from answering within milliseconds is ended; 51 would be one for each.
        #expect(isolation.pool.counters.startedProcessCount < 45)
    }
}
