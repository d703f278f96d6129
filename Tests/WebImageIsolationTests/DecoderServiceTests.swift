import CWebImageIsolation
import FoundationEssentials
import Glibc
import Testing
@testable import WebImageCoding
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

        /// - Parameter other: the number of a request; `nil` for the last.
        func reply(number other: Int? = nil) throws -> DecoderReply {
            let message = try channel.receive(until: Channel.Limit.now + 100, within: Channel.Limit())
            return try DecoderReply(try #require(message), to: other ?? number)
        }
    }

    private let connection: Connection

    init() throws { connection = try Connection() }

    private func memory(_ file: Data) throws -> SharedMemory {
        try file.withUnsafeBytes { try SharedMemory(constant: $0) }
    }

    /// Encodes an animation of two frames as request 2, until it waits for the first.
    private func startEncoding() throws {
        try connection.send(.keepOutput, [SharedMemory(byteCount: 64 << 20)])
        try connection.send(
            .encodeAnimation(
                .gif, SentEncodingOptions(EncodingOptions()), size: Self.frameSize, isOpaque: true, loopCount: 0,
                durations: [.milliseconds(100), .milliseconds(100)]))
        guard case .needsFrame = try connection.reply() else {
            Issue.record("no frame is needed")
            return
        }
    }

    /// Sends the frames that request 2 needs, and expects its file.
    private func finishEncoding() throws {
        let pixels = try IsolatedDecodingTests.image(Self.frameSize).pixels
        let layout = PixelLayout(
            offset: 0, size: Self.frameSize, bytesPerRow: Self.frameSize.width * 4, isOpaque: true)
        var reply = DecoderReply.needsFrame(0)
        while case .needsFrame = reply {
            let memory = try pixels.withUnsafeBytes { try SharedMemory(constant: $0) }
            try connection.send(.encodedFrame(layout), [memory], number: 2)
            reply = try connection.reply(number: 2)
        }
        guard case .parts = reply else {
            Issue.record("no file")
            return
        }
    }

    private static let frameSize = PixelSize(width: 64, height: 48)

    @Test func aLateCancellationDoesNotStopTheNextImage() throws {
        try startEncoding()
        try connection.send(.cancel, number: 1)
        try finishEncoding()
    }

    @Test func anImageThatWaitsCanBeCancelled() throws {
        let file = try memory(
            CodecRegistry().encode(IsolatedDecodingTests.image(PixelSize(width: 640, height: 480)), as: .png))
        try startEncoding()
        try connection.send(.decode(.png, SentDecodingOptions(DecodingOptions())), [file])
        try connection.send(.cancel, isNew: false)
        try finishEncoding()
        try expectFailure("a cancelled image") { $0 == .cancelled }
    }

    /// The program copies them meanwhile.
    @Test(arguments: [PixelSize(width: 2000, height: 1600), PixelSize(width: 500, height: 400)])
    func aPhotographReportsTheRowsThatAreFinished(size: PixelSize) throws {
        let file = try CodecRegistry().encode(IsolatedDecodingTests.image(size), as: .jpeg)
        try connection.send(.keepOutput, [SharedMemory(byteCount: 64 << 20)])
        try connection.send(.decode(.jpeg, SentDecodingOptions(DecodingOptions())), [memory(file)])
        var (counts, layouts) = ([Int](), [PixelLayout]())
        while true {
            switch try connection.reply() {
            case .rows(let layout, let count):
                counts.append(count)
                layouts.append(layout)
            case .image(let image):
                // Copying few rows costs less than the message about them.
                #expect(counts.isEmpty == (size.width == 500))
                #expect(counts == counts.sorted() && counts.allSatisfy { $0 <= size.height })
                #expect(layouts.allSatisfy { $0.isSamePlace(as: image.pixels) })
                #expect(image.finishedRowCount == counts.last ?? 0)
                return
            case let other:
                Issue.record("\(other)")
                return
            }
        }
    }

    @Test func cancellingStopsTheImageInProgress() throws {
        let file = try CodecRegistry().encode(
            IsolatedDecodingTests.image(PixelSize(width: 6000, height: 6000)), as: .png,
            options: EncodingOptions().with { $0.pngLevel = 1 })
        try connection.send(.keepOutput, [SharedMemory(byteCount: 256 << 20)])
        try connection.send(.decode(.png, SentDecodingOptions(DecodingOptions())), [memory(file)])
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
                try connection.send(.encode(format, SentEncodingOptions(EncodingOptions()), layout), [pixels])
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
        try connection.send(.openFrames(session: 1, .gif, SentDecodingOptions(DecodingOptions())), [file])
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
        try connection.send(.encode(.png, SentEncodingOptions(EncodingOptions()), layout), [short])
        try expectFailure("short memory") { error in
            if case .outOfResources(.memory, _) = error { true } else { false }
        }
    }

    @Test func anImageLargerThanTheMemoryForResultsIsAnError() throws {
        let file = try memory(
            CodecRegistry().encode(IsolatedDecodingTests.image(PixelSize(width: 1000, height: 1000)), as: .png))
        try connection.send(.keepOutput, [SharedMemory(byteCount: 1 << 20)])
        try connection.send(.decode(.png, SentDecodingOptions(DecodingOptions())), [file])
        try expectFailure("an image of 4 MB") { error in
            if case .outOfResources(.memory, _) = error { true } else { false }
        }
    }

    @Test func theFileOpenForLongestIsClosedForAnother() throws {
        let file = try memory(CodecRegistry().encode(IsolatedDecodingTests.animation(), as: .gif))
        try connection.send(.keepOutput, [SharedMemory(byteCount: 64 << 20)])
        for session in 0...16 {
            try connection.send(.openFrames(session: session, .gif, SentDecodingOptions(DecodingOptions())), [file])
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

    @Test func aLargerFrameLeavesThoseOfOtherFilesAlone() throws {
        let output = try SharedMemory(byteCount: 64 << 20)
        let mapping = try #require(output.mapped(.reading))
        try connection.send(.keepOutput, [output])
        func showFrame(_ session: Int, side: Int) throws -> PixelLayout {
            var animation = EncodableAnimation()
            for index in 0..<2 {
                let image = try IsolatedDecodingTests.image(
                    PixelSize(width: side, height: side), shift: session * 1000 + index * 100)
                animation.append(image, duration: .milliseconds(100))
            }
            let file = try memory(CodecRegistry().encode(animation, as: .gif))
            try connection.send(.openFrames(session: session, .gif, SentDecodingOptions(DecodingOptions())), [file])
            _ = try connection.reply()
            try connection.send(.frame(session: session, index: 0))
            guard case .image(let image) = try connection.reply() else { throw InvalidMessage("no frame") }
            return image.pixels
        }
        _ = try showFrame(1, side: 40)
        let layout = try showFrame(2, side: 40)
        let pixels = Data(bytes: mapping.address + layout.offset, count: layout.byteCount)
        // Its memory is too small for the next.
        try connection.send(.close(session: 1))
        _ = try showFrame(3, side: 400)
        #expect(Data(bytes: mapping.address + layout.offset, count: layout.byteCount) == pixels)
    }

    @Test func restingGivesTheMemoryOfResultsBack() throws {
        let size = PixelSize(width: 3000, height: 2000)
        let file = try memory(CodecRegistry().encode(IsolatedDecodingTests.image(size), as: .bmp))
        let output = try SharedMemory(byteCount: 256 << 20)
        func allocatedByteCount() -> Int {
            var status = stat()
            return fstat(output.descriptor, &status) == 0 ? Int(status.st_blocks) * 512 : -1
        }
        try connection.send(.keepOutput, [output])
        try connection.send(.decode(.bmp, SentDecodingOptions(DecodingOptions())), [file])
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
