import Testing
import WebImageCore

@testable import WebImageIsolation

/// Errors of decoders and encoders pass from a decoder process to its program.
@Suite(.timeLimit(.minutes(1))) struct ErrorMessageTests {
    private static let size = PixelSize(width: 70_000, height: 3)
    private static let rect = PixelRect(x: 1, y: -2, width: 3, height: 4)

    private static let errors: [WebImageError] =
        ([.truncated, .corrupt("a"), .unsupported("b"), .page(3, count: 2), .noDecoder]
        as [WebImageError.DecodingFailure])
        .map { .decoding(format: .tiff, reason: $0) }
        + ([
            .pixels(size: size, limit: 1), .side(width: 70_000, height: 2), .frames(limit: 3),
            .animation(byteCount: 5, limit: 4), .scans(limit: 5), .metadata(byteCount: 7, limit: 6),
            .memory(byteCount: 1 << 40, limit: 7), .processorTime(seconds: 0.5), .complexity("300 levels"),
        ] as [WebImageError.LimitFailure]).map { .limitExceeded(reason: $0) }
        + ([
            .memory(byteCount: 1), .thread, .decodingThreads(format: .avif, count: 4),
            .temporaryFile(directory: "/var/tmp", errno: 28),
        ] as [WebImageError.ResourceFailure]).map { .outOfResources(reason: $0) }
        + ([
            .noEncoder, .tooLarge(size, maximumDimension: 65_535), .noAnimation, .frameNumber(3, frameCount: 2),
            .tooLong(byteCount: 9, limit: 8), .invalidMetadata, .metadataTooLong(byteCount: 7, limit: 6), .codec("c"),
        ] as [WebImageError.EncodingFailure]).map { .encoding(format: .jpegXL, reason: $0) }
        + ([
            .none, .durationCount(1, frameCount: 2), .duration(-1, frame: 3), .size(size, frame: 1, expected: size),
            .outsideSheet(rect, frame: 2, sheet: size),
        ] as [WebImageError.FrameFailure]).map { .invalidFrames(reason: $0) }
        + [.cancelled, .unrecognizedFormat(contentType: nil, leadingBytes: [1, 2, 3])]

    @Test(arguments: errors) func eachArrivesAsItWas(error: WebImageError) throws {
        var writer = MessageWriter()
        writer.write(DecoderReply.failure(error))
        var reader = MessageReader(writer.bytes)
        guard case .failure(let received) = try DecoderReply(from: &reader) else {
            Issue.record("no error")
            return
        }
        #expect(received == error)
    }
}
