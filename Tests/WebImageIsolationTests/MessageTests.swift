import FoundationEssentials
import Testing
@testable import WebImageCoding
import WebImageCore

@testable import WebImageIsolation

/// What a program and a decoder process say to each other arrives as it was.
@Suite(.timeLimit(.minutes(1))) struct MessageTests {
    private func received<Value: Codable>(
        _ value: Value, from sender: MessageDecoder.Sender = .process
    ) throws -> Value {
        try MessageDecoder.value(of: MessageEncoder.bytes(of: value), from: sender)
    }

    private func received(_ numbers: [Int], as type: Duration.Type) throws -> Duration {
        let bytes = numbers.flatMap { number in withUnsafeBytes(of: Int64(number).littleEndian) { Array($0) } }
        return try MessageDecoder.value(of: bytes, from: .process)
    }

    private static let size = PixelSize(width: 70_000, height: 3)
    private static let rect = PixelRect(x: 1, y: -2, width: 3, height: 4)

    static let errors: [WebImageError] =
        ([.truncated, .corrupt("a"), .unsupported("b"), .page(3, count: 2), .noDecoder]
        as [WebImageError.DecodingFailure])
        .map { .decoding(format: .tiff, reason: $0) }
        + ([
            .pixels(size: size, limit: 1), .side(width: 70_000, height: 2), .frames(limit: 3),
            .animation(byteCount: 5, limit: 4), .scans(limit: 5), .metadata(byteCount: 7, limit: 6),
            .memory(byteCount: 1 << 40, limit: 7), .processorTime(limit: .milliseconds(500)),
        ] as [WebImageError.LimitFailure]).map { .limitExceeded(reason: $0) }
        + ([
            .memory(byteCount: 1), .thread, .temporaryFile(directory: "/var/tmp", errno: 28),
        ] as [WebImageError.ResourceFailure]).map { .outOfResources(reason: $0) }
        + ([
            .noEncoder, .tooLarge(size, maximumDimension: 65_535), .noAnimation, .frameNumber(3, frameCount: 2),
            .tooLong(byteCount: 9, limit: 8), .invalidMetadata, .metadataTooLong(byteCount: 7, limit: 6), .codec("c"),
        ] as [WebImageError.EncodingFailure]).map { .encoding(format: .jpegXL, reason: $0) }
        + ([
            .none, .durationCount(1, frameCount: 2), .duration(.seconds(-1), frame: 3),
            .size(size, frame: 1, expected: size),
            .outsideSheet(rect, frame: 2, sheet: size),
        ] as [WebImageError.FrameFailure]).map { .invalidFrames(reason: $0) }
        + [.cancelled, .unrecognizedFormat(contentType: nil, leadingBytes: [1, 2, 3])]

    @Test(arguments: errors) func eachErrorArrives(error: WebImageError) throws {
        guard case .failure(let failure) = try received(DecoderReply.failure(DecoderFailure(error))) else {
            Issue.record("no error")
            return
        }
        #expect(failure.error == error)
    }

    @Test func otherErrorsArriveAsTexts() throws {
        let error = WebImageError.notInCache(key: String(repeating: "k", count: 2000))
        let text = String(error.description.prefix(300))
        #expect(
            try received(DecoderFailure(error)).error
                == .processing(identifier: "webimage-decoder", reason: .failed(text)))
    }

    @Test func optionsArrive() throws {
        var options = DecodingOptions(
            thumbnail: Thumbnail(.pixels(width: 7, height: 0), mode: .aspectFill), scale: 2, firstFrameOnly: true,
            allowsDamage: false)
        (options.page, options.keepsColors) = (3, true)
        options.bypassesWebPFilter = true
        options.limits.memoryByteCount = .max
        options.limits.processorTime = .seconds(7.5)
        let result = try received(SentDecodingOptions(options), from: .program).options
        #expect(result.thumbnail == options.thumbnail && result.page == 3 && result.byteLimit == nil)
        #expect(result.keepsColors && DecodingOptions().keepsColors == false)
        #expect(result.bypassesWebPFilter && !DecodingOptions().bypassesWebPFilter)
        #expect(result.scale == 2 && result.firstFrameOnly && !result.allowsDamage && result.limits == options.limits)
        var encoding = EncodingOptions(quality: 0.3, background: .black, isProgressive: true)
        encoding.iconSides = [16, 32]
        encoding.metadata = ImageMetadata(exif: nil, xmp: Data("<x/>".utf8))
        (encoding.pngLevel, encoding.webPEffort, encoding.speed, encoding.colorLimit) = (9, 2, 3, 17)
        (encoding.chroma, encoding.pngFilter, encoding.dithering) = (.quartered, .paeth, .ordered)
        (encoding.palette, encoding.framing, encoding.alphaQuality) = (.global, .whole, 0.5)
        (encoding.writesColorProfile, encoding.optimizesHuffmanCodes, encoding.webPPreset) = (true, true, .drawing)
        (encoding.qualityScale, encoding.colorProfile) = (.library, ColorProfile(ImageMetadata.sRGBProfile))
        let sent = try received(SentEncodingOptions(encoding), from: .program).options
        #expect(
            try MessageEncoder.bytes(of: SentEncodingOptions(sent))
                == MessageEncoder.bytes(of: SentEncodingOptions(encoding)))
        #expect(sent.metadata == encoding.metadata && sent.iconSides == [16, 32] && sent.chroma == .quartered)
        #expect(sent.qualityScale == .library && sent.colorProfile == encoding.colorProfile && sent.colorProfile != nil)
        #expect(
            sent.colorLimit == 17 && sent.webPPreset == .drawing && sent.framing == .whole && sent.isProgressive
                && !sent.isLossless)
    }

    @Test func framesArriveInRuns() throws {
        let slow = AnimationFrame(duration: .milliseconds(500), isKeyframe: true),
            fast = AnimationFrame(duration: .milliseconds(100), isKeyframe: false)
        let frames = [slow] + Array(repeating: fast, count: 49_998) + [slow]
        let description = AnimationDescription(
            frameSize: PixelSize(width: 3, height: 2), frames: frames, loopCount: 4, isComplete: false)
        let result = try received(description)
        #expect(result.frames == frames && result.frameCount == frames.count && result.loopCount == 4)
        #expect(try MessageEncoder.bytes(of: description).count < 200)
    }

    @Test func storedPartsArriveUnlessTheyAreTooMany() throws {
        func frames(_ count: Int) -> [AnimationFrame] {
            (0..<count).map { index in
                let rect = PixelRect(x: index % 7, y: 1, width: 2, height: 3)
                return AnimationFrame(
                    duration: .milliseconds(100), isKeyframe: false,
                    part: AnimationFrame.Part(rect: rect, blend: .over, disposal: .restore))
            }
        }
        let some = frames(1 << 16)
        #expect(AnimationDescription.sent(some) == some)
        #expect(AnimationDescription.sent(frames(1 << 16 + 1)).allSatisfy { $0.part == nil })
        #expect(AnimationDescription.sent(some, hasParts: false).allSatisfy { $0.part == nil })
        let description = AnimationDescription(
            frameSize: PixelSize(width: 9, height: 9), frames: some, loopCount: 1, isComplete: true)
        let bytes = try MessageEncoder.bytes(of: description)
        #expect(bytes.count < Channel.decoderByteLimit / 4)
        #expect(try received(description).frames == some)
    }

    @Test(arguments: [.zero, .milliseconds(1_100), .seconds(1) / 3, .seconds(-2.5), .seconds(1 << 40)] as [Duration])
    func durationsArriveExactly(duration: Duration) throws {
        #expect(try received(duration) == duration)
    }

    @Test func aFractionIsShorterThanASecond() throws {
        #expect(throws: InvalidMessage.self) { try received([1, 1_000_000_000_000_000_000], as: Duration.self) }
    }

    @Test func sandboxesArrive() throws {
        let report = SandboxReport(layers: [.landlock, .systemCallFilter], errors: [.userNamespace: 1])
        #expect(try received(report) == report)
    }

    @Test func numbersOfProcessesAreClamped() throws {
        for number in [Int.min, -(1 << 53) - 1, .max, 1 << 53 + 1] {
            let expected = number < 0 ? -MessageDecoder.largestInteger : MessageDecoder.largestInteger
            #expect(try received(OutputPart(offset: number, byteCount: nil)).offset == expected)
            #expect(try received(OutputPart(offset: number, byteCount: nil), from: .program).offset == number)
        }
        for number in [Double.nan, .infinity, -.infinity] {
            #expect(throws: InvalidMessage.self) { try received(number) }
        }
    }

    @Test func aMessageEndsWithItsValue() throws {
        let bytes = try MessageEncoder.bytes(of: DecoderReply.needsFrame(3))
        #expect(throws: InvalidMessage("it is 1 bytes too long")) {
            let _: DecoderReply = try MessageDecoder.value(of: bytes + [0], from: .process)
        }
        for count in bytes.indices {
            #expect(throws: InvalidMessage.self) {
                let _: DecoderReply = try MessageDecoder.value(of: Array(bytes[..<count]), from: .process)
            }
        }
    }
}
