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
    private static let layout = PixelLayout(offset: 0, size: size, bytesPerRow: 32, isOpaque: true)
    private static let animation = AnimationDescription(
        frameSize: size,
        frames: [
            AnimationFrame(duration: 0.1, isKeyframe: true), AnimationFrame(duration: 0.1, isKeyframe: true),
            AnimationFrame(duration: 0.2, isKeyframe: false),
        ], loopCount: 2, isComplete: true)
    private static let image = DecodedImage(
        pixels: layout, frameCount: 3, isPartial: false, isThumbnail: false, animation: animation)
    private static let probe = ImageProbe(format: .png, size: size, isAnimated: nil)
    private static let info: ImageInfo = {
        var info = ImageInfo(
            format: .png, size: size, frameCount: 2, loopCount: 1, frameDurations: [0.1, 0.2],
            colorProfileName: "Display P3")
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
