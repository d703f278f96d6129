import FoundationEssentials
import MisbehavingDecoder
import Testing
import WebImageCoding
import WebImageCore

@testable import WebImageIsolation

/// Every part of every reply, changed: a number to an extreme one, a length to another, a name to one that there is not. The program
/// says so, or uses what arrived, and goes on.
@Suite(.serialized, .timeLimit(.minutes(3))) struct HostileReplyTests {
    private static let size = PixelSize(width: 8, height: 8)
    private static let part = AnimationFrame.Part(
        rect: PixelRect(x: 1, y: 2, width: 3, height: 4), blend: .source, disposal: .restore)
    private static let layout = PixelLayout(offset: 0, size: size, bytesPerRow: 32, isOpaque: true)
    private static let animation = AnimationDescription(
        frameSize: size,
        frames: [
            AnimationFrame(duration: .milliseconds(100), isKeyframe: true),
            AnimationFrame(duration: .milliseconds(100), isKeyframe: true),
            AnimationFrame(duration: .milliseconds(200), isKeyframe: false, part: part),
        ], loopCount: 2, isComplete: true)
    private static let image = DecodedImage(
        pixels: layout, frameCount: 3, isPartial: false, isThumbnail: false, animation: animation)
    private static let probe = ImageProbe(format: .png, size: size, isAnimated: nil)
    private static let info: ImageInfo = {
        var info = ImageInfo(
            format: .png, size: size, frameCount: 2, loopCount: 1,
            frames: Array(animation.frames.suffix(2)), colorProfileName: "Display P3")
        info.pageCount = 2
        return info
    }()
    private static let still = DecodedImage(
        pixels: layout, frameCount: 1, isPartial: false, isThumbnail: false, animation: nil)

    /// Each reply, and the request that it is for.
    private static let replies: [(request: String, reply: DecoderReply)] = [
        ("info", .info(info)), ("probe", .probe(probe)), ("decode", .image(image)), ("finish", .image(still)),
        ("preview", .preview(still)), ("animation", .animation(animation)), ("append", .arrived(probe, animation)),
        ("frame", .image(still)), ("profile", .parts([OutputPart(offset: 0, byteCount: 4)])),
        ("metadata", .parts([OutputPart(offset: 0, byteCount: 4), OutputPart(offset: 4, byteCount: nil)])),
        ("encode", .parts([OutputPart(offset: 0, byteCount: 4)])), ("openFrames", .done),
        ("encodeAnimation", .needsFrame(1)), ("decode", .needsSpool(byteCount: 4096)), ("frame", .noSession),
        ("decode", .rows(layout, count: 3)),
        ("decode", .ready(version: "1", SandboxReport(layers: [.landlock], errors: [.emptyFileSystem: 3]))),
    ]

    private static let failures: [DecoderReply] = MessageTests.errors.map { .failure(DecoderFailure($0)) }

    /// All changes of one part of a message.
    private static func changes(of reply: DecoderReply) throws -> [[UInt8]] {
        let encoder = MessageEncoder()
        encoder.parts = []
        try encoder.write(reply)
        let bytes = encoder.bytes
        func replaced(_ range: Range<Int>, _ new: [UInt8]) -> [UInt8] {
            Array(bytes[..<range.lowerBound]) + new + Array(bytes[range.upperBound...])
        }
        func word(_ value: Int) -> [UInt8] { withUnsafeBytes(of: Int64(value).littleEndian) { Array($0) } }
        var changes = [Array(bytes.dropLast()), bytes + [0]]
        for part in encoder.parts ?? [] {
            let values: [[UInt8]] =
                switch part.kind {
                case .boolean: [[2], [255], [bytes[part.range.lowerBound] ^ 1]]
                case .byte: [[0], [255]]
                case .integer:
                    [.min, .max, -1, 0, 1 << 31, 1 << 40, .min + 1, .max - 1, 1 << 62].map(word)
                case .double:
                    [Double.nan, .infinity, -.infinity, -1, .greatestFiniteMagnitude, 1e-300, 1e300, 1e10].map {
                        word(Int(bitPattern: UInt($0.bitPattern)))
                    }
                case .length, .count, .name: [.min, .max, -1, 0, 1 << 40, 1, 255].map(word)
                }
            changes += values.map { replaced(part.range, $0) }
            // The bytes of a name follow its length.
            if part.kind == .name, part.range.upperBound < bytes.count {
                changes.append(replaced(part.range.upperBound..<part.range.upperBound + 1, [0xFF]))
            }
        }
        return changes.filter { $0 != bytes }
    }

    /// Reads the changed replies as a program does, and prints the errors as programs print them.
    @Test func eachChangeIsReadOrRefused() throws {
        var (count, refusedCount) = (0, 0)
        for reply in Self.replies.map(\.reply) + Self.failures {
            for bytes in try Self.changes(of: reply) {
                count += 1
                let number = [UInt8](repeating: 0, count: 7)
                let message = Channel.Message(bytes: [1] + number + bytes, memory: [])
                do {
                    guard case .failure(let failure) = try DecoderReply(message, to: 1) else { continue }
                    let error = failure.error
                    #expect(!error.description.isEmpty)
                    #expect(error.code > 0)
                    _ = (error.errorDescription, error.recoverySuggestion, "\(error)".utf8.count)
                } catch {
                    refusedCount += 1
                }
            }
        }
        #expect(count > 1500)
        #expect(refusedCount > count / 2)
    }

    // MARK: The bounds of each number

    private static func info(_ change: (inout ImageInfo) -> Void) -> DecoderReply {
        var info = info
        change(&info)
        return .info(info)
    }

    private static func info(_ size: PixelSize) -> DecoderReply {
        .info(ImageInfo(format: .png, size: size, frameCount: 1, loopCount: 1))
    }

    private static func info(frameCount: Int, loopCount: Int? = 1) -> DecoderReply {
        .info(ImageInfo(format: .png, size: size, frameCount: frameCount, loopCount: loopCount))
    }

    private static func image(
        offset: Int = 0, _ size: PixelSize = size, bytesPerRow: Int = 32, frameCount: Int = 1,
        finishedRowCount: Int = 0
    ) -> DecoderReply {
        .image(
            DecodedImage(
                pixels: PixelLayout(offset: offset, size: size, bytesPerRow: bytesPerRow, isOpaque: true),
                frameCount: frameCount, isPartial: false, isThumbnail: false, animation: nil,
                finishedRowCount: finishedRowCount))
    }

    private static func animation(_ size: PixelSize = size, loopCount: Int = 0) -> DecoderReply {
        .animation(
            AnimationDescription(
                frameSize: size, frames: [AnimationFrame(duration: .seconds(1), isKeyframe: true)],
                loopCount: loopCount,
                isComplete: true))
    }

    private static func frame(x: Int = 0, y: Int = 0, width: Int = 1, height: Int = 1) -> AnimationFrame {
        AnimationFrame(
            duration: .seconds(1), isKeyframe: true,
            part: AnimationFrame.Part(
                rect: PixelRect(x: x, y: y, width: width, height: height), blend: .over, disposal: .keep))
    }

    private static func animation(_ frame: AnimationFrame) -> DecoderReply {
        .animation(AnimationDescription(frameSize: size, frames: [frame], loopCount: 0, isComplete: true))
    }

    private static let largest = PixelSize.maximumDimension

    /// The last values that are taken, and the first that are not.
    private static let bounds: [(taken: DecoderReply, refused: DecoderReply)] = [
        (info(PixelSize(width: 1, height: 1)), info(PixelSize(width: 0, height: 1))),
        (info(PixelSize(width: 1 << 32 - 1, height: 1)), info(PixelSize(width: 1 << 32, height: 1))),
        (info(PixelSize(width: 1, height: 1 << 32 - 1)), info(PixelSize(width: 1, height: 1 << 32))),
        (info(PixelSize(width: 1, height: 1)), info(PixelSize(width: 1, height: 0))),
        (info(frameCount: 1), info(frameCount: 0)), (info(frameCount: 1 << 30), info(frameCount: 1 << 30 + 1)),
        (info(frameCount: 1, loopCount: 0), info(frameCount: 1, loopCount: -1)),
        (info { $0.pageCount = 1 }, info { $0.pageCount = 0 }),
        (info { $0.bitDepth = 0 }, info { $0.bitDepth = -1 }),
        (
            .probe(ImageProbe(format: .png, size: size)),
            .probe(ImageProbe(format: .png, size: PixelSize(width: 0, height: 1)))
        ),
        (
            .probe(ImageProbe(format: .png, size: PixelSize(width: 1 << 32 - 1, height: 1))),
            .probe(ImageProbe(format: .png, size: PixelSize(width: 1 << 32, height: 1)))
        ),
        (
            .arrived(ImageProbe(format: .png, size: PixelSize(width: 1 << 32 - 1, height: 1)), nil),
            .arrived(ImageProbe(format: .png, size: PixelSize(width: 1 << 32, height: 1)), nil)
        ),
        (.parts([OutputPart(offset: 0, byteCount: 0)]), .parts([OutputPart(offset: -1, byteCount: 0)])),
        (.parts([OutputPart(offset: 1 << 40, byteCount: 0)]), .parts([OutputPart(offset: 1 << 40 + 1, byteCount: 0)])),
        (.parts([OutputPart(offset: 0, byteCount: 1 << 40)]), .parts([OutputPart(offset: 0, byteCount: 1 << 40 + 1)])),
        (.parts([OutputPart(offset: 0, byteCount: 0)]), .parts([OutputPart(offset: 0, byteCount: -1)])),
        (image(offset: 0), image(offset: -4)), (image(offset: 4), image(offset: 2)),
        (image(offset: 1 << 40), image(offset: 1 << 40 + 4)),
        (image(bytesPerRow: 32), image(bytesPerRow: 28)), (image(bytesPerRow: 36), image(bytesPerRow: 34)),
        (image(bytesPerRow: largest * 4), image(bytesPerRow: largest * 4 + 4)),
        (image(frameCount: 1), image(frameCount: 0)),
        (image(finishedRowCount: 8), image(finishedRowCount: 9)),
        (image(finishedRowCount: 0), image(finishedRowCount: -1)),
        (.rows(layout, count: 1), .rows(layout, count: 0)), (.rows(layout, count: 8), .rows(layout, count: 9)),
        (
            image(PixelSize(width: 8, height: largest)), image(PixelSize(width: 8, height: largest + 1))
        ),
        (animation(PixelSize(width: largest, height: 1)), animation(PixelSize(width: largest + 1, height: 1))),
        (animation(loopCount: 0), animation(loopCount: -1)),
        (animation(frame(x: 1 << 32 - 1)), animation(frame(x: 1 << 32))), (animation(frame()), animation(frame(x: -1))),
        (animation(frame(y: 1 << 32 - 1)), animation(frame(y: 1 << 32))),
        (animation(frame(width: 0)), animation(frame(width: -1))),
        (animation(frame(height: 0)), animation(frame(height: -1))),
        (info { $0.frames = [frame()] }, info { $0.frames = [frame(x: -1)] }),
        (.needsFrame(0), .needsFrame(-1)), (.needsSpool(byteCount: 1), .needsSpool(byteCount: 0)),
        (.needsSpool(byteCount: 1 << 40), .needsSpool(byteCount: 1 << 40 + 1)),
    ]

    @Test func eachNumberHasBounds() throws {
        func read(_ reply: DecoderReply) throws {
            let bytes = try [1, 0, 0, 0, 0, 0, 0, 0] + MessageEncoder.bytes(of: reply)
            _ = try DecoderReply(Channel.Message(bytes: bytes, memory: []), to: 1)
        }
        for (taken, refused) in Self.bounds {
            #expect(throws: Never.self, "\(taken)") { try read(taken) }
            #expect(throws: InvalidMessage.self, "\(refused)") { try read(refused) }
        }
    }

    /// A reply that can be read, and is not what was requested.
    @Test func aReplyToSomethingElseIsOneError() throws {
        let process = HostileProcess(time: .seconds(20))
        let part = OutputPart(offset: 0, byteCount: 4)
        let replies: [(request: String, reply: DecoderReply)] = [
            ("profile", .parts([])), ("profile", .parts([part, part])), ("metadata", .parts([])),
            ("metadata", .parts([part])), ("encode", .parts([])),
            ("encode", .parts([OutputPart(offset: 0, byteCount: nil)])),
            ("encode", .parts([OutputPart(offset: 0, byteCount: 1 << 39)])),
            ("probe", .probe(ImageProbe(format: .gif, size: Self.size))),
            ("frame", Self.image(PixelSize(width: 4, height: 8))), ("decode", Self.image(offset: 1 << 39)),
            ("frame", .rows(Self.layout, count: 8)), ("encode", .rows(Self.layout, count: 8)),
        ]
        for (request, reply) in replies {
            let bytes = Data(try MessageEncoder.bytes(of: reply))
            let result = process.outcome(Script(at: request, [.replyOf(bytes)]))
            guard case .failure(WebImageError.isolation(.png, .invalidReply, _)) = result else {
                Issue.record("\(request), \(reply): \(result)")
                continue
            }
        }
    }

    @Test func moreThanTheProgramAllowsIsOneError() throws {
        let process = HostileProcess(time: .seconds(20))
        var options = DecodingOptions()
        options.limits.frameCount = 2
        let bytes = Data(try MessageEncoder.bytes(of: DecoderReply.animation(Self.animation)))
        let script = Script(at: "animation", [.replyOf(bytes)])
        #expect(throws: WebImageError.limitExceeded(reason: .frames(limit: 2))) {
            try process.perform(script, options: options)
        }
        options.limits.frameCount = 3
        #expect(throws: Never.self) { try process.perform(script, options: options) }

        options.firstFrameOnly = true
        let whole = Data(try MessageEncoder.bytes(of: DecoderReply.image(Self.image)))
        guard
            case .failure(WebImageError.isolation(.png, .invalidReply, _)) = Result(catching: {
                try process.perform(Script(at: "decode", [.replyOf(whole)]), options: options)
            })
        else {
            Issue.record("an animation where the first frame is wanted")
            return
        }
    }

    @Test(arguments: [.seconds(-1), .nanoseconds(-1), FrameDuration.longest + .nanoseconds(1)] as [Duration])
    func framesThatAreNegativeOrTooLongAreRefused(duration: Duration) throws {
        let animation = AnimationDescription(
            frameSize: PixelSize(width: 1, height: 1), frames: [AnimationFrame(duration: duration, isKeyframe: true)],
            loopCount: 0, isComplete: true)
        let bytes = try MessageEncoder.bytes(of: DecoderReply.animation(animation))
        let message = Channel.Message(bytes: [1] + [UInt8](repeating: 0, count: 7) + bytes, memory: [])
        #expect(throws: InvalidMessage.self) { try DecoderReply(message, to: 1) }
    }

    /// The same through a process, and through all that uses a reply.
    @Test func eachChangeThatAProcessReturnsIsOneError() async throws {
        let before = Footprint()
        let process = HostileProcess()
        #expect(process.isFine())
        var count = 0
        for (request, reply) in Self.replies {
            for (index, bytes) in try Self.changes(of: reply).enumerated() {
                // Those that cannot be read cost a process each.
                let message = Channel.Message(bytes: [1, 0, 0, 0, 0, 0, 0, 0] + bytes, memory: [])
                let isReadable = (try? DecoderReply(message, to: 1)) != nil
                guard isReadable || index % 5 == 0 else { continue }
                count += 1
                let result = process.outcome(Script(at: request, [.replyOf(Data(bytes))]))
                if case .failure(let error) = result, !(error is WebImageError) {
                    Issue.record("\(request): \(error)")
                }
            }
            #expect(process.isFine())
        }
        #expect(count >= 150)
        #expect(process.isolation.pool.waitingCount == 0 && process.isolation.pool.busyCount == 0)
        await process.end(before)
    }
}
