import CodingTestSupport
import Foundation
import Testing
@testable import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// The memory limit of one decode, tested with small files or numbers only; ``PeakMemoryTests`` measures.
@Suite(.timeLimit(.minutes(3))) struct MemoryLimitTests {
    private let registry = CodecRegistry()
    private static let names = [
        "baseline-420.jpg", "progressive-420.jpg", "cmyk-adobe.jpg", "rgb-8.png", "interlaced.gif", "lossy.webp",
        "lossless.webp", "lossy-alpha.webp", "animated.gif", "animated.png", "animated.webp",
    ]

    /// The least memory for `data`, from the error.
    private func neededByteCount(_ data: Data, _ options: DecodingOptions = DecodingOptions()) throws -> Int {
        var options = options
        options.limits.memoryByteCount = 1
        let error = #expect(throws: WebImageError.self) { try registry.decode(data, options: options) }
        guard case .limitExceeded(.memory(let byteCount, limit: 1), _) = error else {
            Issue.record("\(error.map { "\($0)" } ?? "no error")")
            return 0
        }
        return byteCount
    }

    private func inPieces(_ data: Data, _ options: DecodingOptions) throws -> (image: Image, previewCount: Int) {
        let length = max(40, data.count / 8)
        let decoder = try #require(
            try registry.makeIncrementalDecoder(startingWith: data.prefix(length), options: options))
        var previewCount = 0
        for start in stride(from: length, to: data.count, by: length) {
            if try decoder.preview() != nil { previewCount += 1 }
            try decoder.append(data[start..<min(start + length, data.count)])
        }
        return (try decoder.finish(), previewCount)
    }

    @Test(arguments: names) func theMemoryInTheErrorIsEnough(_ name: String) throws {
        let data = try Fixture(name).data()
        var options = DecodingOptions(firstFrameOnly: true)
        let needed = try neededByteCount(data, options)
        #expect(needed > (try registry.info(of: data).size.pixelCount) * 4)
        let whole = try Pixels(registry.decode(data, options: options).pixels)
        options.limits.memoryByteCount = needed
        #expect(try Pixels(registry.decode(data, options: options).pixels) == whole)
        options.limits.memoryByteCount = needed - 1
        let expected = WebImageError.limitExceeded(reason: .memory(byteCount: needed, limit: needed - 1))
        #expect(throws: expected) { try registry.decode(data, options: options) }
        #expect(throws: expected) { try inPieces(data, options) }
    }

    /// Previews are the first to go, and the image is the same.
    @Test(arguments: names) func previewsAreOmittedIfMemoryIsShort(_ name: String) throws {
        let data = try Fixture(name).data()
        var options = DecodingOptions(firstFrameOnly: true)
        let plain = try inPieces(data, options)
        options.limits.memoryByteCount = try neededByteCount(data, options)
        let limited = try inPieces(data, options)
        #expect(limited.previewCount == 0)
        #expect(Pixels(limited.image.pixels) == Pixels(plain.image.pixels))
    }

    @Test(arguments: ["animated.gif", "animated.png", "animated.webp"])
    func anAnimationNeedsMemoryForItsCanvasAndAPart(_ name: String) throws {
        let data = try Fixture(name).data()
        var options = DecodingOptions()
        options.limits.memoryByteCount = try neededByteCount(data, DecodingOptions(firstFrameOnly: true))
        let error = #expect(throws: WebImageError.self) { try registry.animation(of: data, options: options) }
        guard case .limitExceeded(.memory(let needed, _), _) = error else {
            Issue.record("\(error.map { "\($0)" } ?? "no error")")
            return
        }
        options.limits.memoryByteCount = needed
        let image = try registry.decode(data, options: options)
        let reader = try #require(image.animation).makeFrameReader()
        #expect(throws: Never.self) { try reader.frame(at: 2, cancellation: nil) }
    }

    /// The checksum tells, though there is no memory to decode the good part.
    @Test func damageIsReportedIfItIsRefused() throws {
        var data = LargeImage.png(.rgb)
        data = data.withWrongChecksum(ofChunkAt: try #require(data.chunkOffsets(of: "IDAT").first))
        var options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: 200, height: 200)), allowsDamage: false)
        options.limits.memoryByteCount = 16 << 20
        let damage = WebImageError.decoding(format: .png, reason: .corrupt("wrong checksum of IDAT"))
        #expect(throws: damage) { try registry.decode(data, options: options) }
        options.allowsDamage = true
        let error = #expect(throws: WebImageError.self) { try registry.decode(data, options: options) }
        guard case .limitExceeded(.memory, _) = error else {
            Issue.record("\(error.map { "\($0)" } ?? "no error")")
            return
        }
    }

    @Test func anAnimationOfOneFrameNeedsTheMemoryOfAnImage() throws {
        for data in [LargeImage.gif(), LargeImage.animatedWebP(frameCount: 1)] {
            var options = DecodingOptions()
            options.limits.memoryByteCount = try neededByteCount(data, DecodingOptions(firstFrameOnly: true))
            #expect(throws: Never.self) { try registry.decode(data, options: options) }
            #expect(throws: Never.self) { try registry.animation(of: data, options: options) }
        }
    }

    @Test(arguments: ["animated.gif", "animated.png", "animated.webp"])
    func anAnimationKnowsItsLimit(_ name: String) throws {
        var options = DecodingOptions()
        options.limits.memoryByteCount = 99 << 20
        let image = try registry.decode(try Fixture(name).data(), options: options)
        #expect((image.animation as? any LimitedAnimation)?.limits?.memoryByteCount == 99 << 20)
    }

    /// Encoders hold several frames. Those of 9,990 × 9,990 pixels took 2 GB.
    @Test(arguments: [ImageFormat.gif, .png, .webp]) func framesAreEncodedInHalfOfTheMemory(_ format: ImageFormat)
        throws
    {
        var frames = EncodableAnimation()
        for _ in 0..<2 {
            frames.append(try LargeImage.image(size: PixelSize(width: 400, height: 400)), duration: .seconds(1))
        }
        let data = try registry.encode(frames, as: format)
        let needed = 400 * 400 * 4 * 8
        var options = DecodingOptions()
        options.limits.memoryByteCount = needed * 2
        let animation = EncodableAnimation(try #require(try registry.decode(data, options: options).animation))
        options.limits.memoryByteCount = needed * 2 - 2
        let larger = EncodableAnimation(try #require(try registry.decode(data, options: options).animation))
        let expected = WebImageError.limitExceeded(reason: .memory(byteCount: needed, limit: needed - 1))
        for other in [ImageFormat.gif, .png, .webp] {
            #expect(throws: Never.self) { try registry.encode(animation, as: other) }
            #expect(throws: expected) { try registry.encode(larger, as: other) }
            // Smaller frames take less.
            #expect(throws: Never.self) {
                try registry.encode(
                    larger, as: other, options: EncodingOptions(bounds: Thumbnail(.pixels(width: 8, height: 8))))
            }
        }
    }

    @Test func theErrorSaysWhatToDo() {
        let text = WebImageError.limitExceeded(reason: .memory(byteCount: 123, limit: 45)).description
        #expect(text.contains("123 bytes") && text.contains("45") && text.contains("DecodingLimits.memoryByteCount"))
        #expect(DecodingLimits.default.memoryByteCount == 1 << 30)
        #expect(DecodingLimits.server.memoryByteCount == 256 << 20)
    }

    // MARK: Coefficients in a file

    /// Three megapixels: the coefficients of luma take three windows.
    private func progressive() throws -> Data {
        let image = try LargeImage.image(size: PixelSize(width: 2000, height: 1500))
        return try JPEGEncoder().encode(image, options: EncodingOptions(isProgressive: true))
    }

    @Test(arguments: [nil, 1100, 700, 100]) func spoolingDoesNotChangeThePixels(side: Int?) throws {
        let data = try progressive()
        var options = DecodingOptions(thumbnail: side.map { Thumbnail(.pixels(width: $0, height: $0)) })
        let expected = try Pixels(registry.decode(data, options: options).pixels)
        options.limits.memoryByteCount = try neededByteCount(data, options)
        #expect(try Pixels(registry.decode(data, options: options).pixels) == expected)
        #expect(try Pixels(inPieces(data, options).image.pixels) == expected)
        // The file was created.
        options.spoolDirectories = ["/nonexistent"]
        let failure = WebImageError.outOfResources(reason: .temporaryFile(directory: "/nonexistent", errno: ENOENT))
        #expect(throws: failure) { try registry.decode(data, options: options) }
    }

    /// A megabyte can declare 100 megapixels, whose coefficients and pixels took 1 GB within the default limit.
    @Test func moreThanHalfAGigabyteIsTakenOnlyWithoutADisk() throws {
        var data = try progressive()
        // The size in the frame's header: behind its marker, length and precision.
        let frame = try #require(data.firstRange(of: [0xFF, 0xC2]))
        // 9,900 by 9,900.
        data.replaceSubrange(frame.upperBound + 3..<frame.upperBound + 7, with: [0x26, 0xAC, 0x26, 0xAC])
        for (directory, isSpooled) in [("/var/tmp", true), ("/nonexistent", false)] {
            var options = DecodingOptions()
            options.spoolDirectories = [directory]
            let plan = try DecodingPlan(JPEGHeader(reading: data.bytes), of: data.bytes, options: options)
            let reader = try JPEGReader()
            let route = try data.withUnsafeBytes { bytes in
                _ = try reader.reading(bytes, isEnd: true) { () throws(WebImageError) in _ = try reader.readHeader() }
                return try plan.route(for: reader)
            }
            #expect(route.isSpooled == isSpooled)
            #expect((route.byteCount <= 512 << 20) == isSpooled)
        }
    }

    @Test func theNextDirectoryIsTriedIfOneIsMissing() throws {
        let data = try progressive()
        var options = DecodingOptions()
        options.limits.memoryByteCount = try neededByteCount(data)
        options.spoolDirectories = ["/nonexistent", "/var/tmp"]
        #expect(throws: Never.self) { try registry.decode(data, options: options) }
        options.spoolDirectories = ["/nonexistent", "/missing"]
        let failure = WebImageError.outOfResources(reason: .temporaryFile(directory: "/missing", errno: ENOENT))
        #expect(throws: failure) { try registry.decode(data, options: options) }
    }

    @Test func aFailureOfTheTemporaryFileIsNotDamage() throws {
        let data = try progressive()
        let reader = try JPEGReader()
        let spool = try UnnamedFile(in: "/var/tmp")
        let options = DecodingOptions()
        try data.prefix(data.count * 6 / 10).withUnsafeBytes { bytes in
            _ = try reader.reading(bytes, isEnd: true) { () throws(WebImageError) in
                guard try reader.readHeader() else { return }
                try reader.start(atLeast: reader.size, ink: .none, spool: spool)
                try reader.decode(options: options)
            }
        }
        #expect(reader.damage != nil)
        // It accepts writes and cannot be read.
        let unreadable = open("/dev/null", O_WRONLY)
        try #require(unreadable >= 0 && dup2(unreadable, spool.descriptor) >= 0)
        close(unreadable)
        let failure = WebImageError.outOfResources(reason: .temporaryFile(directory: "/var/tmp", errno: EBADF))
        #expect(throws: failure) { _ = try reader.finish(options: options) }
    }

    @Test func theIntactPartOfATruncatedFileIsTheSame() throws {
        let data = try progressive()
        for part in [0.3, 0.6, 0.9] {
            let cut = data.prefix(Int(Double(data.count) * part))
            let expected = try registry.decode(cut)
            var options = DecodingOptions()
            options.limits.memoryByteCount = try neededByteCount(data)
            let image = try registry.decode(cut, options: options)
            #expect(Pixels(image.pixels) == Pixels(expected.pixels) && image.isPartial == expected.isPartial)
        }
    }

    @Test func libwebpScalesAThumbnailIfMemoryIsShort() throws {
        let data = try LargeImage.lossyWebP()
        var options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: 100, height: 100)))
        let expected = Pixels(try registry.decode(data, options: options).pixels)
        options.limits.memoryByteCount = 16 << 20
        let pixels = Pixels(try registry.decode(data, options: options).pixels)
        #expect(pixels.size == expected.size)
        let difference = zip(pixels.bytes, expected.bytes).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
        #expect(difference / pixels.bytes.count < 4)
    }
}
