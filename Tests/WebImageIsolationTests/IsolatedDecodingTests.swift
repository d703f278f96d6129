import CodingTestSupport
import Dispatch
import FoundationEssentials
import Glibc
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding
@testable import WebImageIsolation

#if WEBIMAGE_FORMATS
    import WebImageFormats
#endif

/// Images from another process are those of this process.
@Suite(.timeLimit(.minutes(5))) struct IsolatedDecodingTests {
    static let isolation = IsolatedDecoding(configuration: .init(decoder: "webimage-decoder"))
    #if WEBIMAGE_FORMATS
        static let local = FormatLibraries.registry()
    #else
        static let local = CodecRegistry()
    #endif
    static let isolated = local.isolated(by: .allFormats, in: isolation, encoders: true)

    /// An image with all kinds of pixels.
    static func image(_ size: PixelSize, alpha: Bool = false, shift: Int = 0) throws -> Image {
        var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
        // The pixels repeat.
        let period = 4096
        pixels.withUnsafeMutableBytes { bytes in
            for index in 0..<min(period, size.pixelCount) {
                let opacity = alpha ? UInt8(truncatingIfNeeded: index) : 255
                for channel in 0..<3 {
                    let value = UInt8(truncatingIfNeeded: (index &+ shift) &* (channel + 3) >> 4)
                    bytes[index * 4 + channel] = min(value, opacity)
                }
                bytes[index * 4 + 3] = opacity
            }
            guard let start = bytes.baseAddress else { return }
            for index in stride(from: period, to: size.pixelCount, by: period) {
                memcpy(start + index * 4, start, min(period, size.pixelCount - index) * 4)
            }
        }
        return Image(pixels: pixels.freeze(isOpaque: !alpha))
    }

    @Test func gainMapsAreTheSame() throws {
        var files = [try GainMapFiles.ultraHDR()]
        var options = EncodingOptions()
        let stored = try #require(try JPEGDecoder().gainMap(of: files[0]))
        options.gainMap = GainMap(
            pixels: try Self.image(PixelSize(width: 30, height: 20)).pixels, metadata: stored.metadata,
            colors: .codePoints(ColorCodePoints(primaries: 12, transfer: 16)),
            imageSize: PixelSize(width: 60, height: 40))
        for format in [ImageFormat.jpeg, .avif] where Self.local.canEncode(format) {
            files.append(
                try Self.isolated.encode(Self.image(PixelSize(width: 60, height: 40)), as: format, options: options))
        }
        for file in files {
            let map = try #require(try Self.isolated.gainMap(of: file))
            let own = try #require(try Self.local.gainMap(of: file))
            #expect(map.metadata == own.metadata && map.colors == own.colors && map.imageSize == own.imageSize)
            #expect(map.pixels.withUnsafeBytes { Array($0) } == own.pixels.withUnsafeBytes { Array($0) })
        }
        let plain = try Self.isolated.encode(Self.image(PixelSize(width: 60, height: 40)), as: .jpeg)
        var info = try Self.isolated.info(of: plain)
        info.hasGainMap = true
        #expect(try Self.isolated.gainMap(of: plain, info, options: DecodingOptions()) == nil)
    }

    static func animation() throws -> EncodableAnimation {
        var animation = EncodableAnimation(loopCount: 3)
        for index in 0..<5 {
            animation.append(
                try image(PixelSize(width: 40, height: 30), shift: index * 1000),
                duration: .milliseconds(100 * (index + 1)))
        }
        return animation
    }

    static let stillFormats = local.writableFormats
    static let animatedFormats = stillFormats.filter { local.canEncodeAnimation(as: $0) }

    private func compare(_ data: Data, _ options: DecodingOptions = DecodingOptions()) throws {
        let expected = try Self.local.decode(data, options: options)
        let image = try Self.isolated.decode(data, options: options)
        #expect(image.pixels.isEqual(to: expected.pixels))
        #expect(image.pixels.isOpaque == expected.pixels.isOpaque)
        #expect(image.format == expected.format)
        #expect(image.scale == expected.scale)
        #expect(image.frameCount == expected.frameCount)
        #expect(image.isPartial == expected.isPartial)
        #expect(image.isThumbnail == expected.isThumbnail)
        #expect((image.animation == nil) == (expected.animation == nil))
        #expect(image.data == expected.data)
    }

    /// The rows of the first are copied while others are decoded; those of the second are made of others.
    @Test func largePhotographsAreTheSame() throws {
        let file = try Self.local.encode(Self.image(PixelSize(width: 2400, height: 1800)), as: .jpeg)
        try compare(file)
        try compare(file, DecodingOptions(thumbnail: Thumbnail(.pixels(width: 1500, height: 1125))))
    }

    @Test(arguments: stillFormats)
    func decodesStills(format: ImageFormat) throws {
        for size in [PixelSize(width: 17, height: 5), PixelSize(width: 900, height: 700)] {
            for alpha in [false, true] {
                let data = try Self.local.encode(Self.image(size, alpha: alpha), as: format)
                try compare(data)
                try compare(data, DecodingOptions(thumbnail: Thumbnail(.pixels(width: 7, height: 7)), scale: 2))
                #expect(try Self.isolated.info(of: data) == Self.local.info(of: data))
                #expect(try Self.isolated.probe(data) == Self.local.probe(data))
            }
        }
    }

    @Test(arguments: animatedFormats)
    func decodesAnimations(format: ImageFormat) throws {
        let data = try Self.local.encode(Self.animation(), as: format)
        try compare(data)
        try compare(data, DecodingOptions(firstFrameOnly: true))
        let expected = try #require(try Self.local.animation(of: data))
        let animation = try #require(try Self.isolated.animation(of: data))
        #expect(animation.frames == expected.frames)
        #expect(animation.loopCount == expected.loopCount)
        #expect(animation.frameSize == expected.frameSize)
        // Encoders hold frames within it.
        for animation in [expected, animation] {
            #expect(
                (animation as? any LimitedAnimation)?.limits?.memoryByteCount == DecodingLimits.default.memoryByteCount)
        }
        let (reader, expectedReader) = (animation.makeFrameReader(), expected.makeFrameReader())
        for index in [0, 1, 2, 4, 1, 3] {
            let frame = try reader.frame(at: index, cancellation: nil)
            #expect(frame.isEqual(to: try expectedReader.frame(at: index, cancellation: nil)))
        }
    }

    @Test(arguments: animatedFormats)
    func animationsContinueInAnotherProcess(format: ImageFormat) throws {
        let isolation = IsolatedDecoding(configuration: .init(decoder: "webimage-decoder"))
        let data = try Self.local.encode(Self.animation(), as: format)
        let animation = try #require(try Self.local.isolated(by: .allFormats, in: isolation).animation(of: data))
        let expected = try #require(try Self.local.animation(of: data)).makeFrameReader()
        let reader = animation.makeFrameReader()
        for index in 0..<5 {
            let frame = try reader.frame(at: index, cancellation: nil)
            #expect(frame.isEqual(to: try expected.frame(at: index, cancellation: nil)))
            isolation.endIdleProcesses()
        }
        #expect(isolation.blockingStatus.counters.startedProcessCount >= 5)
    }

    @Test func manyAnimationsShareAProcess() throws {
        let isolation = IsolatedDecoding(configuration: .init(decoder: "webimage-decoder") { $0.processCount = 1 })
        let registry = Self.local.isolated(by: .allFormats, in: isolation)
        let data = try Self.local.encode(Self.animation(), as: .gif)
        let expected = try #require(try Self.local.animation(of: data)).makeFrameReader()
        // More than a process has open at once.
        let readers = try (0..<40).map { _ in try #require(try registry.animation(of: data)).makeFrameReader() }
        for index in 0..<5 {
            let frame = try expected.frame(at: index, cancellation: nil)
            for reader in readers {
                #expect(try reader.frame(at: index, cancellation: nil).isEqual(to: frame))
            }
        }
        #expect(isolation.blockingStatus.counters.startedProcessCount == 1)
    }

    @Test(arguments: [ImageFormat.png, .jpeg, .gif, .webp] + (stillFormats.contains(.jpegXL) ? [.jpegXL] : []))
    func decodesWhileBytesArrive(format: ImageFormat) throws {
        let options = EncodingOptions(isProgressive: true)
        let data = try Self.local.encode(
            Self.image(PixelSize(width: 300, height: 200)), as: format, options: options)
        let half = data.prefix(data.count * 3 / 4)
        let decoder = try #require(try Self.isolated.makeIncrementalDecoder(startingWith: half.prefix(2000)))
        let expected = try #require(try Self.local.makeIncrementalDecoder(startingWith: half.prefix(2000)))
        for decoder in [decoder, expected] { try decoder.append(half.dropFirst(2000)) }
        let (preview, expectedPreview) = (try decoder.preview(), try expected.preview())
        #expect((preview == nil) == (expectedPreview == nil))
        if let preview, let expectedPreview {
            #expect(preview.pixels.isEqual(to: expectedPreview.pixels))
            #expect(preview.isPartial)
        }
        for decoder in [decoder, expected] { try decoder.append(data.dropFirst(half.count)) }
        #expect(try decoder.finish().pixels.isEqual(to: try expected.finish().pixels))
    }

    @Test func anImageThatArrivesContinuesInAnotherProcess() throws {
        let isolation = IsolatedDecoding(configuration: .init(decoder: "webimage-decoder"))
        let registry = Self.local.isolated(by: .allFormats, in: isolation)
        let data = try Self.local.encode(Self.image(PixelSize(width: 300, height: 200)), as: .png)
        let decoder = try #require(try registry.makeIncrementalDecoder(startingWith: data.prefix(1000)))
        for start in stride(from: 1000, to: data.count, by: 10_000) {
            isolation.endIdleProcesses()
            try decoder.append(data[start..<min(start + 10_000, data.count)])
        }
        #expect(try decoder.finish().pixels.isEqual(to: try Self.local.decode(data).pixels))
    }

    @Test func anAnimationThatArrivesHasTheFramesSoFar() throws {
        let data = try Self.local.encode(Self.animation(), as: .gif)
        let half = data.prefix(data.count * 9 / 10)
        let decoder = try #require(try Self.isolated.makeIncrementalDecoder(startingWith: half))
        let expected = try #require(try Self.local.makeIncrementalDecoder(startingWith: half))
        let (animation, expectedAnimation) = (try #require(decoder.animation), try #require(expected.animation))
        // Without what a file stores of each, which would be sent again with each piece.
        #expect(
            animation.frames
                == expectedAnimation.frames.map { AnimationFrame(duration: $0.duration, isKeyframe: $0.isKeyframe) })
        #expect(!animation.isComplete)
        try decoder.append(data.dropFirst(half.count))
        let whole = try #require(try decoder.finish().animation)
        #expect(whole.identity == animation.identity)
        #expect(try whole.frames == Self.local.info(of: data).frames && whole.frames.allSatisfy { $0.part != nil })
    }

    @Test(arguments: stillFormats)
    func encodesStills(format: ImageFormat) throws {
        let image = try Self.image(PixelSize(width: 64, height: 48), alpha: true)
        let options = EncodingOptions(quality: 0.7)
        #expect(
            try Self.isolated.encode(image, as: format, options: options)
                == Self.local.encode(image, as: format, options: options))
    }

    @Test(arguments: animatedFormats)
    func encodesAnimations(format: ImageFormat) throws {
        var animation = try Self.animation()
        for alpha in [false, true] {
            if alpha {
                animation.append(
                    try Self.image(PixelSize(width: 40, height: 30), alpha: true), duration: .milliseconds(100))
            }
            // libavif writes the second in which it encodes.
            var (file, isolated) = (Data(), Data())
            repeat {
                file = try Self.local.encode(animation, as: format)
                isolated = try Self.isolated.encode(animation, as: format)
            } while try Self.local.encode(animation, as: format) != file && !Task.isCancelled
            #expect(isolated == file)
            if [.avif, .jpegXL].contains(format) { #expect(try Self.local.info(of: file).hasAlpha == alpha) }
        }
    }

    /// The process that encodes waits for frames that another must decode, even if there may be only one.
    @Test(arguments: [1, 2]) func encodesAnIsolatedAnimation(processCount: Int) throws {
        var configuration = IsolatedDecoding.Configuration(decoder: "webimage-decoder")
        configuration.processCount = processCount
        let isolation = IsolatedDecoding(configuration: configuration)
        let codecs = Self.local.isolated(by: .allFormats, in: isolation, encoders: true)
        let file = try Self.local.encode(Self.animation(), as: .gif)
        @Sendable func encoded(_ codecs: CodecRegistry) throws -> Data {
            let animation = try #require(try codecs.decode(file).animation)
            return try codecs.encode(EncodableAnimation(animation), as: .webp)
        }
        let expected = try encoded(Self.local)
        // More threads than processes, which all wait for frames at once.
        let files = LockBox<[Data?]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            let file = try? encoded(codecs)
            files.withLock { $0.append(file) }
        }
        #expect(files.withLock { $0 } == Array(repeating: expected, count: 4))
    }

    /// At the slowest settings, it may take many minutes.
    @Test func onlyDecodingHasALimitOfTime() throws {
        var configuration = IsolatedDecoding.Configuration(decoder: "webimage-decoder")
        configuration.timePerImage = .zero
        let codecs = Self.local.isolated(
            by: .allFormats, in: IsolatedDecoding(configuration: configuration), encoders: true)
        let image = try Self.image(PixelSize(width: 9, height: 9))
        let file = try codecs.encode(image, as: .png)
        #expect(try file == Self.local.encode(image, as: .png))
        #expect(throws: WebImageError.isolation(format: .png, reason: .timedOut(after: .seconds(0)))) {
            try codecs.decode(file)
        }
    }

    @Test func processesWithoutWorkEnd() async throws {
        var configuration = IsolatedDecoding.Configuration(decoder: "webimage-decoder")
        configuration.idlePeriod = .milliseconds(50)
        let isolation = IsolatedDecoding(configuration: configuration)
        let codecs = Self.local.isolated(by: .allFormats, in: isolation)
        let file = try Self.local.encode(Self.image(PixelSize(width: 9, height: 9)), as: .png)
        for count in 1...2 {
            _ = try codecs.decode(file)
            while isolation.pool.idleCount > 0, !Task.isCancelled { await Task.yield() }
            #expect(isolation.pool.idleCount == 0)
            #expect(isolation.pool.counters.startedProcessCount == count)
        }
    }

    @Test func damagedFilesHaveTheErrorsOfThisProcess() throws {
        for format in Self.stillFormats {
            let data = try Self.local.encode(Self.image(PixelSize(width: 60, height: 60)), as: format)
            for count in [data.count / 2, 40] {
                let options = DecodingOptions(allowsDamage: false)
                let part = Data(data.prefix(count))
                let expected = Result { () throws(WebImageError) in try Self.local.decode(part, options: options) }
                let result = Result { () throws(WebImageError) in try Self.isolated.decode(part, options: options) }
                switch (result, expected) {
                case (.failure(let error), .failure(let expected)): #expect(error == expected)
                case (.success(let image), .success(let expected)):
                    #expect(image.pixels.isEqual(to: expected.pixels))
                default: Issue.record("\(format.name): \(result) instead of \(expected)")
                }
            }
        }
    }

    @Test func limitsApply() throws {
        let data = try Self.local.encode(Self.image(PixelSize(width: 60, height: 60)), as: .png)
        var options = DecodingOptions()
        options.limits.pixelCount = 100
        #expect(throws: WebImageError.self) { try Self.isolated.decode(data, options: options) }
        options.limits = .default
        options.limits.memoryByteCount = 1000
        #expect(throws: WebImageError.self) { try Self.isolated.decode(data, options: options) }
    }

    /// The coefficients of a progressive JPEG go to a file, which the sandbox does not allow to create.
    @Test func whatDoesNotFitInMemoryGoesToAFileOfTheProgram() throws {
        let data = try Self.local.encode(
            Self.image(PixelSize(width: 2000, height: 1500)), as: .jpeg, options: EncodingOptions(isProgressive: true))
        let expected = try Self.local.decode(data)
        var options = DecodingOptions()
        options.limits.memoryByteCount = 1
        do throws(WebImageError) {
            _ = try Self.local.decode(data, options: options)
        } catch {
            guard case .limitExceeded(.memory(let byteCount, _), _) = error else { throw error }
            options.limits.memoryByteCount = byteCount
        }
        #expect(try Self.isolated.decode(data, options: options).pixels.isEqual(to: expected.pixels))
        let decoder = try #require(
            try Self.isolated.makeIncrementalDecoder(startingWith: data.prefix(100_000), options: options))
        try decoder.append(data.dropFirst(100_000))
        #expect(try decoder.finish().pixels.isEqual(to: expected.pixels))
    }

    #if WEBIMAGE_FORMATS
        @Test func drawsText() throws {
            let text = """
                <svg xmlns="http://www.w3.org/2000/svg" width="200" height="60"><text x="5" y="40" font-size="30"
                font-family="DejaVu Sans">Isolation</text></svg>
                """
            let data = Data(text.utf8)
            let expected = try Self.local.decode(data)
            #expect(expected.pixels.hasInk)
            #expect(try Self.isolated.decode(data).pixels.isEqual(to: expected.pixels))
        }

        @Test func metadataPasses() throws {
            var options = EncodingOptions()
            options.metadata = ImageMetadata(xmp: Data("<x:xmpmeta xmlns:x='adobe:ns:meta/'/>".utf8))
            let image = try Self.image(PixelSize(width: 8, height: 8))
            for format in [ImageFormat.jpeg, .png, .webp, .avif, .jpegXL, .tiff] {
                let data = try Self.isolated.encode(image, as: format, options: options)
                #expect(data == (try Self.local.encode(image, as: format, options: options)))
                #expect(try Self.isolated.metadata(of: data) == Self.local.metadata(of: data))
                #expect(try Self.isolated.colorProfile(of: data) == Self.local.colorProfile(of: data))
            }
        }
    #endif

    @Test func everyImageOfTheTestsIsTheSame() throws {
        let folders = [
            URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .appending(path: "Fixtures"),
            URL(filePath: #filePath).appending(path: "../../../../shared/fixtures").standardized,
        ]
        var count = 0
        for folder in folders {
            let files = (try? FileManager.default.subpathsOfDirectory(atPath: folder.path)) ?? []
            for file in files.sorted() {
                guard let data = try? Data(contentsOf: folder.appending(path: file)), data.count < 4 << 20,
                    let expected = try? Self.local.decode(data, options: DecodingOptions(firstFrameOnly: true))
                else { continue }
                let image = try Self.isolated.decode(data, options: DecodingOptions(firstFrameOnly: true))
                #expect(image.pixels.isEqual(to: expected.pixels), "\(file)")
                count += 1
            }
        }
        #expect(count > 50)
    }
}

extension PixelBuffer {
    func isEqual(to other: PixelBuffer) -> Bool {
        size == other.size
            && (0..<height).allSatisfy { memcmp(row($0), other.row($0), width * 4) == 0 }
    }

    /// Whether a pixel is not transparent.
    var hasInk: Bool {
        (0..<height).contains { y in (0..<width).contains { x in self[x, y].w > 0 } }
    }
}
