import CodingTestSupport
import Foundation
import Testing
@testable import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// Each limit throws its own error, at once and in pieces.
@Suite(.timeLimit(.minutes(3))) struct DecodingLimitsTests {
    private let registry = CodecRegistry()

    private func inPieces(_ data: Data, _ options: DecodingOptions) throws -> Image? {
        let decoder = try registry.makeIncrementalDecoder(startingWith: data.prefix(40), options: options)
        try decoder?.append(data.dropFirst(40))
        return try decoder?.finish()
    }

    @Test(arguments: ["animated.gif", "animated.png", "animated.webp"])
    func refusesMoreFramesThanAllowed(_ name: String) throws {
        let data = try Fixture(name).data()
        var options = DecodingOptions()
        options.limits.frameCount = 3
        #expect(try registry.decode(data, options: options).frameCount == 3)
        options.limits.frameCount = 2
        #expect(throws: WebImageError.limitExceeded(reason: .frames(limit: 2))) {
            try registry.decode(data, options: options)
        }
        #expect(throws: WebImageError.limitExceeded(reason: .frames(limit: 2))) {
            try registry.animation(of: data, options: options)
        }
        #expect(throws: WebImageError.limitExceeded(reason: .frames(limit: 2))) { try inPieces(data, options) }
    }

    @Test(arguments: ["animated.gif", "animated.png", "animated.webp"])
    func refusesAnAnimationOfMoreBytesThanAllowed(_ name: String) throws {
        let data = try Fixture(name).data()
        var options = DecodingOptions()
        // More than one frame, less than three.
        let limit = try registry.info(of: data).size.pixelCount * 4
        options.limits.animationByteCount = limit
        #expect { try registry.animation(of: data, options: options) } throws: { error in
            guard case .limitExceeded(.animation(let byteCount, limit), _) = error as? WebImageError else {
                return false
            }
            return byteCount > limit
        }
        #expect(throws: WebImageError.self) { try registry.decode(data, options: options) }
        options.firstFrameOnly = true
        #expect(try registry.decode(data, options: options).animation == nil)
        options.firstFrameOnly = false
        options.limits.animationByteCount = limit * 3
        #expect(try registry.decode(data, options: options).animation?.frameCount == 3)
    }

    @Test(arguments: ["photo.jpg", "progressive-420.jpg", "rgb-8.png", "interlaced.gif", "lossy.webp"])
    func stopsWhenTimeIsOver(_ name: String) throws {
        let data = try Fixture(name).data()
        var options = DecodingOptions()
        options.limits.processorTime = .seconds(1000)
        #expect(throws: Never.self) { try registry.decode(data, options: options) }
        options.limits.processorTime = .seconds(0)
        #expect(throws: WebImageError.limitExceeded(reason: .processorTime(limit: .seconds(0)))) {
            try registry.decode(data, options: options)
        }
        #expect(throws: WebImageError.limitExceeded(reason: .processorTime(limit: .seconds(0)))) {
            try inPieces(data, options)
        }
    }

    @Test func theTimeIsLimitedByDefault() {
        #expect(DecodingLimits.default.processorTime == .seconds(10))
        #expect(DecodingLimits.server.processorTime == .seconds(5))
    }

    /// A decoder of a program that checks its cancellation.
    @Test func stopsCustomDecoders() throws {
        let registry = CodecRegistry(decoders: [EndlessDecoder()])
        var options = DecodingOptions()
        options.limits.processorTime = .milliseconds(20)
        let expected = WebImageError.limitExceeded(reason: .processorTime(limit: .milliseconds(20)))
        #expect(throws: expected) { try registry.decode(EndlessDecoder.file, options: options) }
        let decoder = try #require(
            try registry.makeIncrementalDecoder(startingWith: EndlessDecoder.file, options: options))
        #expect(throws: expected) { try decoder.finish() }
    }

    @Test func limitsTheTimeOfEachFrame() throws {
        var options = DecodingOptions()
        options.limits.processorTime = .seconds(1000)
        let data = try Fixture("animated.gif").data()
        let reader = try #require(try registry.animation(of: data, options: options)).makeFrameReader()
        #expect(throws: Never.self) { try reader.frame(at: 1, cancellation: nil) }
        let cancellation = Cancellation()
        cancellation.cancel()
        #expect(throws: WebImageError.cancelled) { try reader.frame(at: 2, cancellation: cancellation) }
    }

    /// `data` with 2,000 bytes of metadata, if its format supports that.
    private func withMetadata(_ data: Data) -> Data {
        let text = Data(repeating: 65, count: 2000)
        var data = data
        switch ImageFormat(signatureOf: data) {
        case .jpeg: data.insert(contentsOf: [0xFF, 0xE5] + PNGWriter.number(2002, byteCount: 2) + text, at: 2)
        case .png: data.insert(contentsOf: PNGWriter.chunk("tEXt", text), at: 33)
        case .gif:
            let block = Data([250]) + text.prefix(250)
            let blocks = (0..<8).reduce(Data([0x21, 0xFE])) { blocks, _ in blocks + block }
            data.insert(contentsOf: blocks + Data([0]), at: data.count - 1)
        default:
            data.appendWebPChunk("TEXT", text)
            data.setRIFFLength()
        }
        return data
    }

    @Test(arguments: ["baseline-420.jpg", "progressive-420.jpg", "rgb-8.png", "interlaced.gif", "lossy.webp"])
    func refusesMoreMetadataThanAllowed(_ name: String) throws {
        let plain = try Fixture(name).data()
        let data = withMetadata(plain)
        var options = DecodingOptions()
        options.limits.metadataByteCount = 3000
        #expect(try Pixels(registry.decode(data, options: options).pixels) == Pixels(registry.decode(plain).pixels))
        #expect(throws: Never.self) { try inPieces(data, options) }
        options.limits.metadataByteCount = 1999
        for attempt in [{ try registry.decode(data, options: options) }, { try inPieces(data, options) }]
            as [() throws -> Image?]
        {
            let error = #expect(throws: WebImageError.self) { try attempt() }
            guard case .limitExceeded(.metadata(let byteCount, limit: 1999), _) = error else {
                Issue.record("\(error.map { "\($0)" } ?? "no error")")
                continue
            }
            #expect((2000...3000).contains(byteCount))
        }
    }

    /// Each would be kept until it is complete.
    @Test func refusesMetadataAsItArrives() throws {
        var options = DecodingOptions()
        options.limits.metadataByteCount = 1000
        let header = PNGWriter.signature + PNGWriter.header(PixelSize(width: 1, height: 1), color: .gray)
        let png = header + PNGWriter.number(1 << 30) + Data("tEXt".utf8) + Data(count: 1001)
        let jpeg = Data([0xFF, 0xD8, 0xFF, 0xE5, 0xFF, 0xFF]) + Data(count: 1001)
        for data in [png, jpeg] {
            let error = #expect(throws: WebImageError.self) {
                let decoder = try registry.makeIncrementalDecoder(startingWith: data.prefix(40), options: options)
                try decoder?.append(data.dropFirst(40))
            }
            #expect(error?.code == 310)
        }
    }

    /// A profile never prevents decoding; one that is too long is ignored.
    @Test func ignoresAProfileLongerThanAllowed() throws {
        let data = try Data(contentsOf: Fixture.directory.appending(path: "../color/adobe.png"))
        let colors = try PNGHeader(reading: data.bytes).colors
        let unlimited = colors.profile(in: data.bytes)
        let profile = try #require(unlimited)
        let allowed = colors.profile(in: data.bytes, byteLimit: profile.bytes.count)
        let tooLong = colors.profile(in: data.bytes, byteLimit: profile.bytes.count - 1)
        #expect(allowed == profile)
        #expect(tooLong == nil)
    }

    /// A frame takes 12 bytes of the file and ten times that in memory.
    @Test func keepsNoMoreFramesThanAllowed() {
        var file = Data("GIF89a".utf8) + [1, 0, 1, 0, 0, 0, 0]
        for _ in 0..<60_000 { file += [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 0] }
        #expect(throws: WebImageError.limitExceeded(reason: .frames(limit: 50_000))) { try registry.decode(file) }
        #expect(throws: WebImageError.limitExceeded(reason: .frames(limit: 50_000))) { try registry.info(of: file) }
    }
}

/// Small files that need much work: little memory, an end, and a clear error.
@Suite(.timeLimit(.minutes(3))) struct BombTests {
    private let registry = CodecRegistry()
    private static let size = PixelSize(width: 100, height: 100)
    /// The decompressed size of bombs; compressed they have a thousandth of it.
    private static let bombByteCount = 64 << 20
    /// An eighth of it, and twice the longest profile that is read.
    private static let memoryLimit = 8 << 20

    private func png(chunks: Data = Data(), filteredByteCount: Int = (size.width + 1) * size.height) -> Data {
        PNGWriter.file(
            header: PNGWriter.header(Self.size, color: .gray), chunks: chunks,
            filtered: [UInt8](repeating: 0, count: filteredByteCount))
    }

    private func expectBlack(_ data: Data) throws {
        #expect(data.count < 150_000)
        let image = try registry.decode(data, options: DecodingOptions(allowsDamage: false))
        #expect(Pixels(image.pixels).bytes == (0..<Self.size.pixelCount * 4).map { $0 % 4 == 3 ? 255 : 0 })
        // Compared with a harmless file, since code takes memory too once it runs.
        let plain = try DecodingMemory.peak(of: png(), side: 50)
        #expect(try DecodingMemory.peak(of: data, side: 50) - plain < Self.memoryLimit)
    }

    @Test func decompressesOnlyThePixelsOfAnIDATBomb() throws {
        try expectBlack(png(filteredByteCount: Self.bombByteCount))
    }

    @Test(arguments: ["zTXt", "iTXt"]) func doesNotDecompressTextBombs(_ name: String) throws {
        let bomb = PNGWriter.compressed([UInt8](repeating: 0, count: Self.bombByteCount))
        // A keyword; for iTXt also the compression, and no language or translation.
        let start = Data(name == "zTXt" ? [65, 0, 0] : [65, 0, 1, 0, 0, 0])
        try expectBlack(png(chunks: PNGWriter.chunk(name, start + bomb)))
    }

    /// It decompresses to more than 4 MiB, the limit for profiles, and is ignored.
    @Test func ignoresAnICCPBomb() throws {
        let bomb = PNGWriter.compressed([UInt8](repeating: 0, count: Self.bombByteCount))
        let data = png(chunks: PNGWriter.chunk("iCCP", Data([65, 0, 0]) + bomb))
        try expectBlack(data)
        #expect(try registry.info(of: data).hasColorProfile)
        #expect(try registry.info(of: data).colorProfileName == nil)
    }

    /// Data without an end code, with a megabyte of codes after those of the image.
    @Test func stopsAtTheLastPixelOfAGIF() throws {
        let plain = solidGIF(width: Self.size.width, height: Self.size.height)
        var data = plain.dropLast(2)
        var random = SplitMix64(seed: 8)
        for _ in 0..<4000 { data += [255] + random.bytes(count: 255) }
        data += [0, 0x3B]
        let checkpoints = Checkpoints()
        let image = try registry.decode(data, options: DecodingOptions(cancellation: checkpoints.cancellation))
        #expect(try Pixels(image.pixels) == Pixels(registry.decode(plain).pixels))
        #expect(!image.isPartial)
        #expect(checkpoints.count < 20)
    }

    @Test func refusesAJPEGOf8000Scans() throws {
        var data = try Fixture("scan-bomb.jpg").data()
        let last = data[try #require(data.scanOffsets.last)..<data.count - 2]
        let more = Data((0..<8000).flatMap { _ in last })
        data.insert(contentsOf: more, at: data.count - 2)
        #expect(data.scanCount > 8000)
        let expected = WebImageError.limitExceeded(reason: .scans(limit: 100))
        #expect(throws: expected) { try registry.decode(data) }
        let decoder = try #require(JPEGDecoder().makeIncrementalDecoder(options: DecodingOptions()))
        #expect(throws: expected) { try decoder.decode(data, inPiecesOf: 5000) }
    }

    @Test func limitsThePixelsAndEachSide() {
        let limits = DecodingLimits(pixelCount: 100)
        #expect(throws: Never.self) { try limits.check(PixelSize(width: 10, height: 10)) }
        for size in [PixelSize(width: 101, height: 1), PixelSize(width: 1, height: 101)] {
            #expect(throws: WebImageError.limitExceeded(reason: .pixels(size: size, limit: 100))) {
                try limits.check(size)
            }
        }
        let unlimited = DecodingLimits(pixelCount: .max)
        let longest = PixelSize.maximumDimension
        #expect(throws: Never.self) { try unlimited.check(PixelSize(width: longest, height: 1)) }
        for size in [PixelSize(width: longest + 1, height: 1), PixelSize(width: 1, height: longest + 1)] {
            #expect(throws: WebImageError.limitExceeded(reason: .pixels(size: size, limit: .max))) {
                try unlimited.check(size)
            }
        }
    }

    // MARK: Impossible sizes

    private enum Size: CaseIterable { case noWidth, noHeight, largest }

    private func number(_ size: Size, isWidth: Bool, byteCount: Int, largest: Int) -> Data {
        switch size {
        case .noWidth: PNGWriter.number(isWidth ? 0 : 1, byteCount: byteCount)
        case .noHeight: PNGWriter.number(isWidth ? 1 : 0, byteCount: byteCount)
        case .largest: PNGWriter.number(largest, byteCount: byteCount)
        }
    }

    private func expectRefusal(_ data: Data, _ size: Size, largest: Int) {
        let error = #expect(throws: WebImageError.self) { try registry.decode(data) }
        switch (error, size) {
        case (.limitExceeded(.pixels(let claimed, _), _), .largest):
            #expect(claimed == PixelSize(width: largest, height: largest))
        case (.decoding(_, .corrupt, _), .noWidth), (.decoding(_, .corrupt, _), .noHeight): break
        default: Issue.record("\(size): \(error.map { "\($0)" } ?? "no error")")
        }
    }

    @Test(arguments: Size.allCases) private func refusesAJPEGOfAnImpossibleSize(_ size: Size) throws {
        var data = try Fixture("baseline-420.jpg").data()
        let header = try #require(data.baselineFrameHeader)
        let height = number(size, isWidth: false, byteCount: 2, largest: 65_535)
        let width = number(size, isWidth: true, byteCount: 2, largest: 65_535)
        data.replaceSubrange(header + 5..<header + 9, with: height + width)
        expectRefusal(data, size, largest: 65_535)
    }

    @Test(arguments: Size.allCases) private func refusesAPNGOfAnImpossibleSize(_ size: Size) throws {
        let largest = Int(Int32.max)
        let width = number(size, isWidth: true, byteCount: 4, largest: largest)
        let height = number(size, isWidth: false, byteCount: 4, largest: largest)
        let header = PNGWriter.chunk("IHDR", width + height + [8, 0, 0, 0, 0])
        expectRefusal(PNGWriter.file(header: header, filtered: [0, 0]), size, largest: largest)
    }

    @Test(arguments: Size.allCases) private func refusesAGIFWithAFrameOfAnImpossibleSize(_ size: Size) throws {
        var data = solidGIF(width: 1, height: 1)
        let start = try #require(data.firstIndex(of: 0x2C)) + 5
        let width = number(size, isWidth: true, byteCount: 2, largest: 65_535)
        let height = number(size, isWidth: false, byteCount: 2, largest: 65_535)
        data.replaceSubrange(start..<start + 4, with: Data(width.reversed()) + Data(height.reversed()))
        expectRefusal(data, size, largest: 65_535)
    }

    /// The sides have 14 bits, after the frame's signature.
    @Test(arguments: Size.allCases) private func refusesAWebPOfAnImpossibleSize(_ size: Size) throws {
        var data = try Fixture("lossy.webp").data()
        let start = try #require(data.range(of: Data([0x9D, 0x01, 0x2A]))).upperBound
        let width = number(size, isWidth: true, byteCount: 2, largest: 16_383)
        let height = number(size, isWidth: false, byteCount: 2, largest: 16_383)
        data.replaceSubrange(start..<start + 4, with: Data(width.reversed()) + Data(height.reversed()))
        expectRefusal(data, size, largest: 16_383)
    }
}

/// A decoder that works until it is stopped.
private struct EndlessDecoder: ImageDecoder {
    static let file = Data("ENDLESS".utf8)
    let format = ImageFormat(name: "endless", mimeType: "image/endless", fileExtension: "endless")

    func canDecode(_ data: Data) -> Bool { data.starts(with: Self.file) }

    func info(of data: Data) throws(WebImageError) -> ImageInfo {
        ImageInfo(format: format, size: PixelSize(width: 1, height: 1))
    }

    func decode(_ data: Data, options: DecodingOptions) throws(WebImageError) -> Image {
        while true { try options.checkCancellation() }
    }

    func makeIncrementalDecoder(options: DecodingOptions) -> (any IncrementalImageDecoder)? {
        Incremental(self, options)
    }

    private final class Incremental: IncrementalImageDecoder {
        private let decoder: EndlessDecoder
        private let options: DecodingOptions
        let animation: (any AnimationSource)? = nil

        init(_ decoder: EndlessDecoder, _ options: DecodingOptions) {
            (self.decoder, self.options) = (decoder, options)
        }

        func append(_ bytes: Data) {}
        func preview() -> Image? { nil }
        func finish() throws(WebImageError) -> Image { try decoder.decode(EndlessDecoder.file, options: options) }
    }
}
