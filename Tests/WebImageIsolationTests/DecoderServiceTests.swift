import CWebImageIsolation
import FoundationEssentials
import Glibc
import Testing
import WebImageCoding
import WebImageCore

@testable import WebImageIsolation

/// `webimage-decoder` at the other end of a channel, without what usually sends its requests.
@Suite(.timeLimit(.minutes(3))) struct DecoderServiceTests {
    private final class Connection {
        private var process = cwi_decoder_process()
        private let channel: Channel
        private var number = 0

        init() throws {
            let path = try #require(IsolatedDecoding.Configuration(decoder: "webimage-decoder").path)
            try #require(cwi_decoder_start(path, "", &process) == 0)
            channel = Channel(descriptor: process.channel)
            guard case .ready = try reply() else {
                Issue.record("no first message")
                return
            }
        }

        deinit { cwi_decoder_end(&process, 0) }

        /// - Parameter other: the number of a request; `nil` for the next, or with `isNew` false for the last.
        func send(
            _ content: DecoderRequest, _ memory: [SharedMemory] = [], isNew: Bool = true, number other: Int? = nil
        ) throws {
            if isNew, other == nil { number += 1 }
            let request = NumberedRequest(number: other ?? number, threadCount: 1, inputByteCount: 0, content: content)
            try channel.send(MessageEncoder.bytes(of: request), memory: memory, within: Channel.Limit())
        }

        func reply() throws -> DecoderReply {
            let message = try channel.receive(until: Channel.Limit.now + 100, within: Channel.Limit())
            return try DecoderReply(try #require(message), to: number)
        }
    }

    private let connection: Connection

    init() throws { connection = try Connection() }

    private func memory(_ file: Data) throws -> SharedMemory {
        try file.withUnsafeBytes { try SharedMemory(constant: $0) }
    }

    @Test func aLateCancellationDoesNotStopTheNextImage() throws {
        let file = try memory(
            CodecRegistry().encode(
                IsolatedDecodingTests.image(PixelSize(width: 6000, height: 6000)), as: .png,
                options: EncodingOptions().with { $0.pngLevel = 1 }))
        let output = try SharedMemory(byteCount: 256 << 20)
        try connection.send(.keepOutput, [output])
        try connection.send(.info(.png), [file])
        _ = try connection.reply()
        try connection.send(.decode(.png, Sent(DecodingOptions())), [file])
        // The image is in progress when it has pixels.
        let deadline = ContinuousClock.now + .seconds(60)
        while Self.allocatedByteCount(of: output) == 0, ContinuousClock.now < deadline { sched_yield() }
        try connection.send(.cancel, number: 2)
        guard case .image = try connection.reply() else {
            Issue.record("another image was cancelled")
            return
        }
    }

    @Test func aCancellationBeforeTheImageBeginsStopsIt() throws {
        let file = try memory(
            CodecRegistry().encode(IsolatedDecodingTests.image(PixelSize(width: 60, height: 40)), as: .png))
        try connection.send(.keepOutput, [SharedMemory(byteCount: 64 << 20)])
        try connection.send(.cancel, number: 2)
        try connection.send(.decode(.png, Sent(DecodingOptions())), [file])
        guard case .failure(.cancelled) = try connection.reply() else {
            Issue.record("the image was not cancelled")
            return
        }
    }

    private static func allocatedByteCount(of memory: SharedMemory) -> Int {
        var status = stat()
        return fstat(memory.descriptor, &status) == 0 ? Int(status.st_blocks) * 512 : -1
    }

    @Test func cancellingStopsTheImageInProgress() throws {
        let file = try CodecRegistry().encode(
            IsolatedDecodingTests.image(PixelSize(width: 6000, height: 6000)), as: .png,
            options: EncodingOptions().with { $0.pngLevel = 1 })
        try connection.send(.keepOutput, [SharedMemory(byteCount: 256 << 20)])
        try connection.send(.decode(.png, Sent(DecodingOptions())), [memory(file)])
        try connection.send(.cancel, isNew: false)
        guard case .failure(.cancelled) = try connection.reply() else {
            Issue.record("the image was not cancelled")
            return
        }
        // And the process goes on.
        try connection.send(.info(.png), [memory(file)])
        guard case .info(let info) = try connection.reply() else {
            Issue.record("no info")
            return
        }
        #expect(info.size == PixelSize(width: 6000, height: 6000))
    }

    #if WEBIMAGE_FORMATS
        /// As on a machine without it: this process can load no library any more.
        @Test(arguments: [ImageFormat.avif, .heic, .jpegXL, .tiff, .jpeg2000, .svg])
        func withoutALibraryItsFormatIsAnError(format: ImageFormat) throws {
            let local = IsolatedDecodingTests.local
            guard local.decoder(of: format) != nil else { return }
            let image = try IsolatedDecodingTests.image(PixelSize(width: 64, height: 48))
            let drawing = Bomb.svg(16, "<rect width='9' height='9'/>")
            try connection.send(
                .info(format), [memory(format == .svg ? drawing : local.encode(image, as: format))])
            guard case .failure(let failure) = try connection.reply(),
                case .isolation(format, .unavailable(let reason), _) = failure.error
            else {
                Issue.record("the library is not missing")
                return
            }
            #expect(reason.hasPrefix("lib") && reason.contains(".so.") && reason.contains("(install lib"))
            let layout = PixelLayout(offset: 0, size: image.pixels.size, bytesPerRow: 64 * 4, isOpaque: true)
            if format != .svg {
                let pixels = try image.pixels.withUnsafeBytes { try SharedMemory(constant: $0) }
                try connection.send(.encode(format, Sent(EncodingOptions()), layout), [pixels])
                guard case .failure(.unavailable(format, reason)) = try connection.reply() else {
                    Issue.record("the library is not missing")
                    return
                }
            }
            let file = try CodecRegistry().encode(image, as: .png)
            try connection.send(.info(.png), [memory(file)])
            guard case .info = try connection.reply() else {
                Issue.record("no info")
                return
            }
        }
    #endif

    /// Expects that the last request is an error, and that the process goes on.
    private func expectFailure(_ what: String, _ isExpected: (WebImageError) -> Bool) throws {
        guard case .failure(let failure) = try connection.reply() else {
            Issue.record("\(what) is no error")
            return
        }
        #expect(isExpected(failure.error), "\(what): \(failure.error)")
    }

    @Test func framesThatThereAreNotAreErrors() throws {
        let file = try memory(CodecRegistry().encode(IsolatedDecodingTests.animation(), as: .gif))
        try connection.send(.keepOutput, [SharedMemory(byteCount: 64 << 20)])
        try connection.send(.openFrames(session: 1, .gif, Sent(DecodingOptions())), [file])
        _ = try connection.reply()
        for index in [-1, 1000, .max, .min] {
            try connection.send(.frame(session: 1, index: index))
            try expectFailure("frame \(index)") { $0 == .decoding(format: .gif, reason: .corrupt("no such frame")) }
        }
    }

    @Test func pixelsOutsideTheirMemoryAreAnError() throws {
        let size = PixelSize(width: 640, height: 480)
        let short = try SharedMemory(byteCount: size.pixelByteCount - 4)
        let layout = PixelLayout(offset: 0, size: size, bytesPerRow: size.width * 4, isOpaque: true)
        try connection.send(.keepOutput, [SharedMemory(byteCount: 64 << 20)])
        try connection.send(.encode(.png, Sent(EncodingOptions()), layout), [short])
        try expectFailure("short memory") { error in
            if case .outOfResources(.memory, _) = error { true } else { false }
        }
    }

    @Test func anImageLargerThanTheMemoryForResultsIsAnError() throws {
        let file = try memory(
            CodecRegistry().encode(IsolatedDecodingTests.image(PixelSize(width: 1000, height: 1000)), as: .png))
        try connection.send(.keepOutput, [SharedMemory(byteCount: 1 << 20)])
        try connection.send(.decode(.png, Sent(DecodingOptions())), [file])
        try expectFailure("an image of 4 MB") { error in
            if case .outOfResources(.memory, _) = error { true } else { false }
        }
    }

    @Test func theFileOpenForLongestIsClosedForAnother() throws {
        let file = try memory(CodecRegistry().encode(IsolatedDecodingTests.animation(), as: .gif))
        try connection.send(.keepOutput, [SharedMemory(byteCount: 64 << 20)])
        for session in 0...16 {
            try connection.send(.openFrames(session: session, .gif, Sent(DecodingOptions())), [file])
            guard case .done = try connection.reply() else {
                Issue.record("not open")
                return
            }
        }
        for (session, isOpen) in [(0, false), (1, true), (16, true)] {
            try connection.send(.frame(session: session, index: 0))
            switch try connection.reply() {
            case .noSession: #expect(!isOpen, "\(session)")
            case .image: #expect(isOpen, "\(session)")
            default: Issue.record("no frame")
            }
        }
    }

    @Test func restingGivesTheMemoryOfResultsBack() throws {
        let size = PixelSize(width: 3000, height: 2000)
        let file = try memory(CodecRegistry().encode(IsolatedDecodingTests.image(size), as: .bmp))
        let output = try SharedMemory(byteCount: 256 << 20)
        func allocatedByteCount() -> Int { Self.allocatedByteCount(of: output) }
        try connection.send(.keepOutput, [output])
        try connection.send(.decode(.bmp, Sent(DecodingOptions())), [file])
        guard case .image = try connection.reply() else {
            Issue.record("no image")
            return
        }
        #expect(allocatedByteCount() >= size.pixelByteCount)
        try connection.send(.rest)
        // What follows it shows that it has been done.
        try connection.send(.info(.bmp), [file])
        _ = try connection.reply()
        #expect(allocatedByteCount() < 1 << 20)
    }
}
