import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// WebPs that arrive in pieces.
@Suite(.timeLimit(.minutes(3))) struct WebPIncrementalDecoderTests {
    private static let stills = [
        "lossy.webp", "lossless.webp", "lossy-alpha.webp", "lossless-alpha.webp", "orientation-6.webp",
    ].map(Fixture.init)
    private static let animations = [
        "animated-parts.webp", "animated-lossy.webp", "animated-small-first.webp", "animated-one-frame.webp",
    ].map(Fixture.init)

    private func makeDecoder(
        _ options: DecodingOptions = DecodingOptions()
    ) -> WebPIncrementalDecoder {
        var options = options
        options.budget = DecodingBudget(byteCount: 1 << 32, largePreviewLimit: 1, largePreviewByteCount: 0)
        return WebPIncrementalDecoder(options: options)
    }

    private func decode(_ data: Data, _ options: DecodingOptions = DecodingOptions()) throws(WebImageError) -> Image {
        try WebPDecoder().decode(data, options: options)
    }

    @Test(arguments: stills + animations)
    func decodesLikeTheWholeFileWhereverItIsSplit(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let whole = try decode(data)
        for length in 0...data.count {
            let decoder = makeDecoder()
            try decoder.append(data.prefix(length))
            if let preview = try decoder.preview() {
                #expect(preview.isPartial)
                if fixture.name != "orientation-6.webp" {
                    #expect(Pixels(preview.pixels).goodRowCount(of: Pixels(whole.pixels)) != nil)
                }
            }
            try decoder.append(data.dropFirst(length))
            let image = try decoder.finish()
            #expect(Pixels(image.pixels) == Pixels(whole.pixels), "cut at \(length)")
            #expect(!image.isPartial && image.pixels.isOpaque == whole.pixels.isOpaque)
            #expect(image.frameCount == whole.frameCount)
        }
    }

    @Test func showsRowsAsTheyArrive() throws {
        // Noise, so that rows need many bytes.
        var generator = SplitMix64(seed: 3)
        let noise = Pixels(
            size: PixelSize(width: 64, height: 160),
            bytes: generator.opaquePixels(count: 64 * 160))
        let data = try WebPEncoder().encode(Image(pixels: noise.buffer(isOpaque: true)), options: EncodingOptions())
        let whole = Pixels(try decode(data).pixels)
        let decoder = makeDecoder()
        var rowCounts: [Int] = []
        for start in stride(from: 0, to: data.count, by: 50) {
            try decoder.append(data[start..<min(start + 50, data.count)])
            guard let preview = try decoder.preview() else { continue }
            let rowCount = try #require(Pixels(preview.pixels).goodRowCount(of: whole))
            #expect(rowCount > rowCounts.last ?? 0)
            #expect(try decoder.preview() == nil, "nothing new")
            rowCounts.append(rowCount)
        }
        #expect(rowCounts.count >= 8)
        #expect(try Pixels(decoder.finish().pixels) == whole)
    }

    @Test(arguments: stills + animations)
    func decodesTruncatedDataLikeTheWholeFile(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let whole = Pixels(try decode(data).pixels)
        var partialCount = 0
        for length in 0..<data.count {
            let prefix = data.prefix(length)
            let decoder = makeDecoder()
            let incremental = Result { () throws(WebImageError) in
                let step = max(1, length / 3)
                for start in stride(from: 0, to: length, by: step) {
                    try decoder.append(prefix[start..<min(start + step, length)])
                    _ = try decoder.preview()
                }
                return try decoder.finish()
            }
            let direct = Result { () throws(WebImageError) in try decode(prefix) }
            switch (incremental, direct) {
            case (.success(let incremental), .success(let direct)):
                #expect(Pixels(incremental.pixels) == Pixels(direct.pixels), "\(length) bytes")
                #expect(incremental.isPartial && direct.isPartial)
                #expect(incremental.frameCount == direct.frameCount)
                partialCount += 1
                if fixture.name != "orientation-6.webp" {
                    #expect(Pixels(direct.pixels).goodRowCount(of: whole) != nil)
                }
            case (.failure(let incremental), .failure(let direct)):
                #expect(incremental == .decoding(format: .webp, reason: .truncated), "\(length) bytes")
                #expect(direct == incremental, "\(length) bytes")
            default:
                Issue.record("\(length) bytes: \(incremental), \(direct)")
            }
        }
        #expect(partialCount > 0)
    }

    /// The lengths in the file end before its image does; libwebp reads beyond if it gets all at once.
    @Test(arguments: [false, true])
    func decodesALosslessImageBeyondItsEndLikeTheWholeFile(_ allowsDamage: Bool) throws {
        var generator = SplitMix64(seed: 5)
        let noise = Pixels(
            size: PixelSize(width: 64, height: 64),
            bytes: generator.opaquePixels(count: 64 * 64))
        var data = try WebPEncoder().encode(
            Image(pixels: noise.buffer(isOpaque: true)), options: EncodingOptions(isLossless: true))
        let chunk = try #require(data.webpChunks.first { $0.name == "VP8L" }).range
        func setLength(_ length: Int, at offset: Int) {
            data.replaceSubrange(offset..<offset + 4, with: Data(littleEndian: length, byteCount: 4))
        }
        let length = (chunk.count - 8 - 40) & ~1
        setLength(length, at: chunk.lowerBound + 4)
        setLength(chunk.lowerBound + length, at: 4)
        let options = DecodingOptions(allowsDamage: allowsDamage)
        let direct = Result { () throws(WebImageError) in try decode(data, options) }
        for step in [1000, 3000, data.count - 30, data.count] {
            let decoder = makeDecoder(options)
            let incremental = Result { () throws(WebImageError) in try decoder.decode(data, inPiecesOf: step) }
            switch (incremental, direct) {
            case (.success(let incremental), .success(let direct)):
                #expect(Pixels(incremental.pixels) == Pixels(direct.pixels), "\(step)")
                #expect(incremental.isPartial && direct.isPartial && allowsDamage)
            case (.failure(let incremental), .failure(let direct)):
                #expect(incremental == direct, "\(step)")
            default:
                Issue.record("\(step): \(incremental), \(direct)")
            }
        }
    }

    @Test func playsCompleteFrames() throws {
        let data = try Fixture("animated-parts.webp").data()
        let ends = data.webpChunks.filter { $0.name == "ANMF" }.map(\.range.upperBound)
        let whole = try #require(try decode(data).animation)
        let reader = whole.makeFrameReader()
        let frames = try whole.frames.indices.map { try Pixels(reader.frame(at: $0, cancellation: nil)) }
        let decoder = makeDecoder()
        var sources: [any AnimationSource] = []
        for (index, byte) in data.enumerated() {
            try decoder.append(Data([byte]))
            let expected = ends.filter { $0 <= index + 1 }.count
            #expect(decoder.animation?.frameCount ?? 0 == expected)
            if expected > sources.count { sources.append(try #require(decoder.animation)) }
        }
        #expect(sources.count == 6)
        for (index, source) in sources.enumerated() {
            #expect(source.isComplete == (index == 5))
            let reader = source.makeFrameReader()
            for frame in source.frames.indices {
                #expect(try Pixels(reader.frame(at: frame, cancellation: nil)) == frames[frame])
            }
        }
        #expect(try decoder.finish().animation?.frameCount == 6)
    }

    @Test func probesTheHeader() throws {
        let decoder = makeDecoder()
        let data = try Fixture("animated-parts.webp").data()
        try decoder.append(data.prefix(12))
        #expect(decoder.probe == nil)
        try decoder.append(data[12..<40])
        let size = PixelSize(width: 22, height: 18)
        #expect(decoder.probe == ImageProbe(format: .webp, size: size, isAnimated: true, hasAlpha: true))
    }

    @Test(arguments: ["lossy-alpha.webp", "animated-parts.webp"], [5, 11])
    func decodesThumbnails(_ name: String, side: Int) throws {
        let data = try Fixture(name).data()
        let options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: side, height: side)), scale: 2)
        let whole = try decode(data, options)
        let decoder = makeDecoder(options)
        for start in stride(from: 0, to: data.count, by: 40) {
            try decoder.append(data[start..<min(start + 40, data.count)])
            if let preview = try decoder.preview() { #expect(preview.pixels.size == whole.pixels.size) }
        }
        #expect(try Pixels(decoder.finish().pixels) == Pixels(whole.pixels))
    }

    /// No encoder starts a partition with 0xFF, and libwebp's result depends on how much of it is there.
    @Test func decodesInvalidDataTheSameWhereverItIsSplit() throws {
        var data = try Fixture("lossy.webp").data()
        let partition = 103
        #expect(data[partition] == 0xFE)
        data[partition] = 0xFF
        let whole = Pixels(try decode(data).pixels)
        for length in 0...data.count {
            let decoder = makeDecoder()
            try decoder.append(data.prefix(length))
            _ = try decoder.preview()
            try decoder.append(data.dropFirst(length))
            #expect(try Pixels(decoder.finish().pixels) == whole, "cut at \(length)")
        }
    }

    @Test func limitsLosslessPreviews() throws {
        var options = DecodingOptions()
        options.budget = DecodingBudget(byteCount: 1 << 32, largePreviewLimit: 1, largePreviewByteCount: 0)
        let data = try Fixture("lossless.webp").data()
        let first = WebPIncrementalDecoder(options: options)
        let second = WebPIncrementalDecoder(options: options)
        let lossy = WebPIncrementalDecoder(options: options)
        for decoder in [first, second] { try decoder.append(data.prefix(100)) }
        #expect(options.budget.largePreviewCount == 1)
        try lossy.append(Fixture("lossy.webp").data())
        #expect(try lossy.preview() != nil)
        try second.append(data[100..<200])
        // A complete image is not a large preview any more.
        try first.append(data[100...])
        #expect(options.budget.largePreviewCount == 0)
        try second.append(data[200...])
        #expect(try second.preview() != nil)
        #expect(try Pixels(second.finish().pixels) == Pixels(first.finish().pixels))
        #expect(options.budget.largePreviewCount == 0)
    }

    /// It claims four gigabytes, but the pieces are not longer.
    @Test func checksTheCancellationWhateverLengthTheFileClaims() throws {
        var generator = SplitMix64(seed: 4)
        let noise = Pixels(
            size: PixelSize(width: 96, height: 480),
            bytes: generator.opaquePixels(count: 96 * 480))
        var data = try WebPEncoder().encode(Image(pixels: noise.buffer(isOpaque: true)), options: EncodingOptions())
        let honest = Checkpoints()
        let whole = try decode(data, DecodingOptions(cancellation: honest.cancellation))
        #expect(honest.count >= 6)
        data.replaceSubrange(4..<8, with: [0xF6, 0xFF, 0xFF, 0xFF])
        let lying = Checkpoints()
        let image = try decode(data, DecodingOptions(cancellation: lying.cancellation))
        #expect(lying.count == honest.count)
        #expect(image.isPartial && Pixels(image.pixels) == Pixels(whole.pixels))
    }

    /// Each has to be skipped to reach the image.
    @Test func findsAnImageAfterManyChunks() throws {
        var data = try Fixture("orientation-6.webp").data()
        let whole = Pixels(try decode(data).pixels)
        var chunks = Data()
        for _ in 0..<5_000 { chunks.appendWebPChunk("NONE", Data()) }
        data.insert(contentsOf: chunks, at: 30)
        data.setRIFFLength()
        let decoder = makeDecoder()
        for start in stride(from: 0, to: data.count, by: 50) {
            try decoder.append(data[start..<min(start + 50, data.count)])
            _ = try decoder.preview()
        }
        #expect(decoder.probe?.size == whole.size)
        #expect(try Pixels(decoder.finish().pixels) == whole)
    }

    @Test func refusesAHugeImageBeforeAllocatingMemory() throws {
        var data = try Fixture("animated.webp").data()
        data.replaceSubrange(24..<30, with: [0xFE, 0x3F, 0, 0xFE, 0x3F, 0])
        let size = PixelSize(width: 16_383, height: 16_383)
        #expect(throws: WebImageError.limitExceeded(reason: .pixels(size: size, limit: 100_000_000))) {
            try makeDecoder().append(data.prefix(40))
        }
    }

    @Test func refusesDamageIfRequested() throws {
        let data = try Fixture("lossy.webp").data()
        let decoder = makeDecoder(DecodingOptions(allowsDamage: false))
        try decoder.append(data.dropLast(20))
        #expect(throws: WebImageError.decoding(format: .webp, reason: .truncated)) { try decoder.finish() }
    }

    @Test(arguments: ["lossy-alpha.webp", "lossless.webp", "animated-small-first.webp"])
    func stopsAtEveryCheckpoint(_ name: String) throws {
        let data = try Fixture(name).data()
        try Checkpoints.expectCancellationAtEach(atLeast: 6, ofDecoding: data, cutAt: data.count - 50) { cancellation in
            makeDecoder(DecodingOptions(thumbnail: Thumbnail(.pixels(width: 9, height: 9)), cancellation: cancellation))
        }
    }

    @Test(arguments: stills + animations)
    func survivesFlippedBits(_ fixture: Fixture) throws {
        let data = try fixture.data()
        var options = DecodingOptions()
        options.limits.pixelCount = 1_000_000
        for position in data.indices.dropFirst(8) {
            var damaged = data
            damaged[position] ^= 1 << (position % 8)
            let decoder = makeDecoder(options)
            // Every result but a crash is correct: some bits do not matter, and there is no checksum.
            _ = try? { () throws(WebImageError) in
                for start in stride(from: 0, to: damaged.count, by: 97) {
                    try decoder.append(damaged[start..<min(start + 97, damaged.count)])
                    _ = try decoder.preview()
                    let source = decoder.animation
                    _ = try source?.makeFrameReader().frame(at: (source?.frameCount ?? 1) - 1, cancellation: nil)
                }
                _ = try decoder.finish()
            }()
        }
    }
}
