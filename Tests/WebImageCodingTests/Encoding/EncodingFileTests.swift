import CodingTestSupport
import FoundationEssentials
import Glibc
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// Images and animations that are encoded into files.
@Suite(.timeLimit(.minutes(2))) struct EncodingFileTests {
    private let registry = CodecRegistry()
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()) ?? [] }

    private func photo() throws -> Image { try registry.decode(Fixture("photo.jpg").data()) }

    /// With parts of one frame, and transparent from the third on.
    private func animation(frameCount: Int = 6, seed: UInt64 = 7) throws -> EncodableAnimation {
        try PixelAnimation(seed: seed, frameCount: frameCount, alphas: [0, 255]).encodable()
    }

    private var options: EncodingOptions {
        var options = EncodingOptions(isLossless: true)
        options.metadata = CameraMetadata.metadata()
        options.writesColorProfile = true
        return options
    }

    @Test(arguments: [ImageFormat.jpeg, .png, .webp, .gif, .bmp, .ico])
    func aFileHasWhatIsEncodedInMemory(format: ImageFormat) throws {
        let file = folder.url("photo")
        for options in [EncodingOptions(), options, EncodingOptions(byteLimit: 100_000)] {
            try registry.encode(photo(), as: format, toFileAt: file, options: options)
            #expect(try Data(contentsOf: file) == registry.encode(photo(), as: format, options: options))
        }
        #expect(names == ["photo"])
    }

    @Test(arguments: [ImageFormat.png, .webp, .gif]) func soHasThatOfAnAnimation(format: ImageFormat) throws {
        let file = folder.url("animation")
        let bounded = EncodingOptions(bounds: Thumbnail(.pixels(width: 5, height: 5)), isLossless: true)
        for seed in 1...6 as ClosedRange<UInt64> {
            let animation = try animation(seed: seed)
            for options in [EncodingOptions(isLossless: true), options, bounded] {
                try registry.encode(animation, as: format, toFileAt: file, options: options)
                #expect(try Data(contentsOf: file) == registry.encode(animation, as: format, options: options))
            }
            let image = try registry.decode(Data(contentsOf: file))
            #expect(image.frameCount == 6)
            try registry.encode(image, as: format, toFileAt: file)
            #expect(try Data(contentsOf: file) == registry.encode(image, as: format))
        }
        #expect(names == ["animation"])
    }

    /// Its first two frames have no alpha, so that the file begins anew with the third.
    @Test func anAnimationThatBecomesTransparentIsWhole() throws {
        let size = PixelSize(width: 8, height: 8)
        func frame(_ color: [UInt8]) throws -> Image {
            Image(pixels: try Pixels(size, color).buffer(isOpaque: color[3] == 255))
        }
        var animation = EncodableAnimation()
        for color in [[200, 0, 0, 255], [0, 200, 0, 255], [0, 0, 0, 0]] as [[UInt8]] {
            animation.append(try frame(color))
        }
        let file = folder.url("animation.png")
        try registry.encode(animation, as: .png, toFileAt: file)
        #expect(try Data(contentsOf: file) == registry.encode(animation, as: .png))
        #expect(try PixelAnimation(reading: Data(contentsOf: file)).frames[2] == Pixels(size, [0, 0, 0, 0]))
    }

    /// The frames that are read before one fails are in the temporary file by then.
    @Test(arguments: [ImageFormat.png, .webp]) func framesAreWrittenAsTheyAreEncoded(format: ImageFormat) throws {
        struct Source: AnimationSource {
            let identity = AnimationIdentity()
            let frameSize = PixelSize(width: 64, height: 64)
            let frames = [AnimationFrame](
                repeating: AnimationFrame(duration: .milliseconds(100), isKeyframe: true), count: 20)
            let loopCount = 0
            let isComplete = true
            let byteCount = 0
            let willRead: @Sendable (Int) -> Void

            func makeFrameReader() -> any AnimationFrameReader { Reader(source: self) }

            final class Reader: AnimationFrameReader {
                let source: Source
                init(source: Source) { self.source = source }

                func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
                    source.willRead(index)
                    var generator = SplitMix64(seed: UInt64(index))
                    var pixels = try MutablePixelBuffer(width: 64, height: 64)
                    pixels.withUnsafeMutableBytes { bytes in
                        for place in bytes.indices {
                            bytes[place] = place % 4 == 3 ? 255 : .random(in: 0...255, using: &generator)
                        }
                    }
                    return pixels.freeze(isOpaque: true)
                }
            }
        }
        let lengths = LockBox<[Int]>([])
        let source = Source { [folder] _ in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
            var status = stat()
            let isThere = names.count == 1 && stat(folder.path(names[0]), &status) == 0
            lengths.withLock { $0.append(isThere ? Int(status.st_size) : -1) }
        }
        let file = folder.url("file")
        try registry.encode(
            EncodableAnimation(source), as: format, toFileAt: file, options: EncodingOptions(isLossless: true))
        let known = lengths.withLock { $0 }
        #expect(known.count == 20 && known[0] == 0)
        // One frame more is known than is written, and a frame has some 12 KB.
        #expect(known[10] > 80_000 && known[19] > 190_000 && known == known.sorted(), "\(known)")
        #expect(names == ["file"])
    }

    @Test func afterAnErrorTheFileIsAsItWas() throws {
        let file = try folder.write(Data("former".utf8), to: "file")
        let cancellation = Cancellation()
        cancellation.cancel()
        let cancelled = EncodingOptions(cancellation: cancellation)
        #expect(throws: WebImageError.cancelled) {
            try registry.encode(photo(), as: .jpeg, toFileAt: file, options: cancelled)
        }
        for format in [ImageFormat.webp, .png, .gif] {
            #expect(throws: WebImageError.cancelled) {
                try registry.encode(animation(), as: format, toFileAt: file, options: cancelled)
            }
        }
        #expect(throws: WebImageError.encoding(format: .jpeg, reason: .noAnimation)) {
            try registry.encode(animation(), as: .jpeg, toFileAt: file)
        }
        #expect(throws: WebImageError.encoding(format: .avif, reason: .noEncoder)) {
            try registry.encode(photo(), as: .avif, toFileAt: file)
        }
        #expect(throws: WebImageError.invalidFrames(reason: .none)) {
            try registry.encode(EncodableAnimation(), as: .webp, toFileAt: file)
        }
        #expect(names == ["file"])
        #expect(try Data(contentsOf: file) == Data("former".utf8))
    }

    @Test func anAnimationThatCannotBeShortEnoughIsNotWritten() throws {
        for format in [ImageFormat.webp, .png] {
            let options = EncodingOptions(byteLimit: 1)
            let animation = try animation()
            let error = #expect(throws: WebImageError.self) {
                try registry.encode(animation, as: format, options: options)
            }
            let expected = try #require(error)
            #expect(throws: expected) {
                try registry.encode(animation, as: format, toFileAt: folder.url("file"), options: options)
            }
            #expect(names.isEmpty)
        }
    }

    @Test func aSingleFrameIsAStill() throws {
        let file = folder.url("file")
        for format in [ImageFormat.jpeg, .webp, .png, .gif] {
            try registry.encode(animation(frameCount: 1), as: format, toFileAt: file)
            #expect(try registry.info(of: Data(contentsOf: file)).frameCount == 1)
        }
    }

    @Test func onlyFilesAreWritten() throws {
        let remote = try #require(URL(string: "https://example.org/a.png"))
        #expect(throws: WebImageError.invalidURL(remote.absoluteString)) {
            try registry.encode(photo(), as: .png, toFileAt: remote)
        }
        #expect(throws: WebImageError.file(path: folder.path, errno: EISDIR)) {
            try registry.encode(photo(), as: .png, toFileAt: URL(filePath: folder.path))
        }
        #expect(throws: WebImageError.file(path: folder.path("missing/a.png"), errno: ENOENT)) {
            try registry.encode(photo(), as: .png, toFileAt: folder.url("missing/a.png"))
        }
    }
}
