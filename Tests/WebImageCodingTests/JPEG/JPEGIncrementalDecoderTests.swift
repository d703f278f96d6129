import CodingTestSupport
import Foundation
import Testing
@testable import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// JPEGs that arrive in pieces.
@Suite(.timeLimit(.minutes(3))) struct JPEGIncrementalDecoderTests {
    private static let oneScan = [
        "baseline-420.jpg", "baseline-444.jpg", "restart-420.jpg", "cmyk-adobe.jpg", "grey.jpg", "size-16x33.jpg",
    ].map(Fixture.init)
    private static let severalScans = [
        "progressive-420.jpg", "progressive-444.jpg", "progressive-grey.jpg", "progressive-restart.jpg",
        "scan-per-component.jpg", "progressive-16x33.jpg",
    ].map(Fixture.init)
    private static let others = ["arithmetic.jpg", "arithmetic-progressive.jpg", "orientation-6.jpg"].map(Fixture.init)

    private func makeDecoder(
        _ options: DecodingOptions = DecodingOptions()
    ) -> JPEGIncrementalDecoder {
        var options = options
        options.budget = DecodingBudget(byteCount: 1 << 32, largePreviewLimit: 1, largePreviewByteCount: 0)
        return JPEGIncrementalDecoder(options: options)
    }

    private func decode(_ data: Data, _ options: DecodingOptions = DecodingOptions()) throws(WebImageError) -> Image {
        try JPEGDecoder().decode(data, options: options)
    }

    @Test(arguments: oneScan + severalScans + others)
    func decodesLikeTheWholeFileWhereverItIsSplit(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let whole = Pixels(try decode(data).pixels)
        for length in 0...data.count {
            let decoder = makeDecoder()
            try decoder.append(data.prefix(length))
            let preview = try decoder.preview()
            #expect(preview.map(\.isPartial) != false)
            #expect(preview.map(\.pixels.size) ?? whole.size == whole.size)
            try decoder.append(data.dropFirst(length))
            let image = try decoder.finish()
            #expect(Pixels(image.pixels) == whole, "cut at \(length)")
            #expect(!image.isPartial && image.pixels.isOpaque)
        }
    }

    /// Metadata can contain a thumbnail with its own markers.
    @Test func skipsASegmentWhereverItIsSplit() throws {
        var data = try Fixture("baseline-420.jpg").data()
        let whole = Pixels(try decode(data).pixels)
        let thumbnail = try Fixture("size-1x1.jpg").data()
        let length = thumbnail.count + 2
        data.insert(contentsOf: Data([0xFF, 0xE5, UInt8(length >> 8), UInt8(length & 0xFF)]) + thumbnail, at: 2)
        for cut in 0..<length + 10 {
            let decoder = makeDecoder()
            try decoder.append(data.prefix(cut))
            try decoder.append(data.dropFirst(cut))
            #expect(try Pixels(decoder.finish().pixels) == whole, "cut at \(cut)")
        }
    }

    @Test(arguments: oneScan)
    func showsTheRowsOfOneScan(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let whole = Pixels(try decode(data).pixels)
        let decoder = makeDecoder()
        var rowCounts: [Int] = []
        for byte in data {
            try decoder.append(Data([byte]))
            guard let preview = try decoder.preview() else { continue }
            let rowCount = try #require(Pixels(preview.pixels).goodRowCount(of: whole))
            #expect(rowCount > rowCounts.last ?? 0)
            rowCounts.append(rowCount)
            #expect(preview.pixels.isOpaque == (rowCount == whole.size.height))
            #expect(try decoder.preview() == nil, "nothing new")
        }
        #expect(rowCounts.count >= 2)
        #expect(try Pixels(decoder.finish().pixels) == whole)
    }

    @Test(arguments: severalScans)
    func showsEachCompleteScan(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let whole = Pixels(try decode(data).pixels)
        let decoder = makeDecoder()
        var quality: [Double] = []
        for byte in data {
            try decoder.append(Data([byte]))
            guard let preview = try decoder.preview() else { continue }
            #expect(preview.pixels.isOpaque && preview.isPartial)
            quality.append(try #require(Pixels(preview.pixels).psnr(against: whole)))
            #expect(try decoder.preview() == nil, "nothing new")
        }
        #expect(quality.count == data.scanCount - 1)
        for (earlier, later) in zip(quality, quality.dropFirst()) { #expect(earlier <= later + 0.5, "\(quality)") }
        let (first, last) = (try #require(quality.first), try #require(quality.last))
        #expect(last > first + 2)
        #expect(try Pixels(decoder.finish().pixels) == whole)
    }

    @Test func smoothsBlocksBeforeTheyHaveDetail() throws {
        let data = try Fixture("progressive-444.jpg").data()
        let decoder = makeDecoder()
        var first: Image?
        for byte in data where first == nil {
            try decoder.append(Data([byte]))
            first = try decoder.preview()
        }
        // Without smoothing, the pixels of a block are equal before the first detail scan.
        let pixels = try #require(first).pixels
        let differences = (1..<8).filter { pixels[$0, 4] != pixels[$0 - 1, 4] }
        #expect(!differences.isEmpty)
    }

    @Test(arguments: oneScan + severalScans + others)
    func decodesTruncatedDataLikeTheWholeFile(_ fixture: Fixture) throws {
        let data = try fixture.data()
        let whole = Pixels(try decode(data).pixels)
        var partialCount = 0
        for length in 0..<data.count {
            let prefix = data.prefix(length)
            let decoder = makeDecoder()
            let incremental = Result { () throws(WebImageError) in
                try decoder.append(prefix.prefix(length / 2))
                _ = try decoder.preview()
                try decoder.append(prefix.dropFirst(length / 2))
                return try decoder.finish()
            }
            let direct = Result { () throws(WebImageError) in try decode(prefix) }
            switch (incremental, direct) {
            case (.success(let incremental), .success(let direct)):
                #expect(Pixels(incremental.pixels) == Pixels(direct.pixels), "\(length) bytes")
                #expect(incremental.isPartial == direct.isPartial)
                if direct.isPartial {
                    partialCount += 1
                } else {
                    #expect(Pixels(direct.pixels) == whole)
                }
                if Self.oneScan.contains(where: { $0.name == fixture.name }) {
                    let rowCount = try #require(Pixels(direct.pixels).goodRowCount(of: whole), "\(length) bytes")
                    #expect(direct.pixels.isOpaque == (rowCount == whole.size.height))
                }
            case (.failure(let incremental), .failure(let direct)):
                #expect(incremental == .decoding(format: .jpeg, reason: .truncated))
                #expect(direct == incremental)
            default:
                Issue.record("\(length) bytes: \(incremental), \(direct)")
            }
        }
        #expect(partialCount > 10)
    }

    @Test func showsThePartialFirstScanOfAProgressiveFile() throws {
        let data = try Fixture("progressive-420.jpg").data()
        let scans = data.scanOffsets
        let image = try decode(data.prefix((scans[0] + scans[1]) / 2))
        #expect(image.isPartial && !image.pixels.isOpaque)
        #expect(image.pixels[0, 0].w == 255 && image.pixels[36, 28] == SIMD4())
        let detailed = try decode(data.prefix(scans[4]))
        #expect(detailed.isPartial && detailed.pixels.isOpaque)
        let whole = Pixels(try decode(data).pixels)
        #expect(try #require(Pixels(detailed.pixels).psnr(against: whole)) > 20)
    }

    @Test(arguments: ["baseline-420.jpg", "progressive-420.jpg"])
    func refusesDamageIfRequested(_ name: String) throws {
        let data = try Fixture(name).data()
        let decoder = makeDecoder(DecodingOptions(allowsDamage: false))
        try decoder.append(data.dropLast(40))
        #expect(throws: WebImageError.decoding(format: .jpeg, reason: .truncated)) { try decoder.finish() }
        // A marker within a scan is certain damage.
        var damaged = data
        damaged.replaceSubrange(damaged.count - 60..<damaged.count - 58, with: [0xFF, 0xD9])
        #expect(throws: WebImageError.self) {
            try makeDecoder(DecodingOptions(allowsDamage: false)).append(damaged)
        }
        let tolerant = makeDecoder()
        try tolerant.append(damaged)
        #expect(try tolerant.finish().isPartial)
    }

    @Test(arguments: ["photo.jpg", "orientation-6.jpg", "progressive-420.jpg"], [1, 3, 8, 14, 30])
    func decodesThumbnails(_ name: String, side: Int) throws {
        let data = try Fixture(name).data()
        let options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: side, height: side)), scale: 2)
        let whole = try decode(data, options)
        let decoder = makeDecoder(options)
        for start in stride(from: 0, to: data.count, by: 100) {
            try decoder.append(data[start..<min(start + 100, data.count)])
            if let preview = try decoder.preview() {
                #expect(preview.pixels.size == whole.pixels.size)
                #expect(preview.isThumbnail == whole.isThumbnail && preview.scale == 2)
            }
        }
        #expect(try Pixels(decoder.finish().pixels) == Pixels(whole.pixels))
    }

    @Test func probesTheHeader() throws {
        let data = try Fixture("orientation-6.jpg").data()
        let decoder = makeDecoder()
        #expect(decoder.probe == nil)
        try decoder.append(data.prefix(data.count - 10))
        let probe = ImageProbe(format: .jpeg, size: PixelSize(width: 16, height: 24), orientation: .right)
        #expect(decoder.probe == probe)
        #expect(decoder.animation == nil)
    }

    @Test func waitsUntilALargePreviewEnds() throws {
        let data = try Fixture("progressive-420.jpg").data()
        let half = data.count / 2
        var options = DecodingOptions()
        options.budget = DecodingBudget(byteCount: 1 << 32, largePreviewLimit: 1, largePreviewByteCount: 0)
        let first = JPEGIncrementalDecoder(options: options)
        let second = JPEGIncrementalDecoder(options: options)
        let third = JPEGIncrementalDecoder(options: options)
        for decoder in [first, second, third] { try decoder.append(data.prefix(half)) }
        #expect(try first.preview() != nil)
        #expect(try second.preview() == nil)
        // Baseline is not limited.
        let baseline = JPEGIncrementalDecoder(options: options)
        let baselineData = try Fixture("baseline-420.jpg").data()
        try baseline.append(baselineData.dropLast(10))
        #expect(try baseline.preview() != nil)

        try first.append(data.dropFirst(half))
        let whole = try Pixels(first.finish().pixels)
        try second.append(data[half..<half + 1])
        #expect(try second.preview() != nil)
        try second.append(data[(half + 1)...])
        try third.append(data.dropFirst(half))
        #expect(try third.preview() == nil)
        #expect(try Pixels(third.finish().pixels) == whole)
        #expect(try Pixels(second.finish().pixels) == whole)
        #expect(options.budget.largePreviewCount == 0)
    }

    @Test func smallPreviewsAreNotCountedAsLarge() throws {
        let data = try Fixture("progressive-420.jpg").data()
        var options = DecodingOptions()
        options.budget = DecodingBudget(byteCount: 1 << 32, largePreviewLimit: 1)
        let decoders = (0..<8).map { _ in JPEGIncrementalDecoder(options: options) }
        for decoder in decoders {
            try decoder.append(data.prefix(data.count / 2))
            #expect(try decoder.preview() != nil)
        }
        #expect(options.budget.largePreviewCount == 0)
    }

    @Test func endsItsLargePreviewWhenReleased() throws {
        var options = DecodingOptions()
        options.budget = DecodingBudget(byteCount: 1 << 32, largePreviewLimit: 1, largePreviewByteCount: 0)
        var decoder: JPEGIncrementalDecoder? = JPEGIncrementalDecoder(options: options)
        try decoder?.append(Fixture("progressive-420.jpg").data().dropLast(100))
        #expect(options.budget.largePreviewCount == 1)
        decoder = nil
        #expect(options.budget.largePreviewCount == 0)
    }

    @Test func hasNoPreviewsOfArithmeticCoding() throws {
        for name in ["arithmetic.jpg", "arithmetic-progressive.jpg"] {
            let decoder = makeDecoder()
            try decoder.append(Fixture(name).data())
            #expect(try decoder.preview() == nil)
            #expect(try !decoder.finish().isPartial)
        }
    }

    @Test func refusesHugeImagesAndScanBombsEarly() throws {
        var options = DecodingOptions()
        options.limits.pixelCount = 1000
        let size = PixelSize(width: 37, height: 29)
        #expect(throws: WebImageError.limitExceeded(reason: .pixels(size: size, limit: 1000))) {
            try makeDecoder(options).append(Fixture("baseline-420.jpg").data().prefix(700))
        }
        #expect(throws: WebImageError.limitExceeded(reason: .scans(limit: 100))) {
            try makeDecoder().append(Fixture("scan-bomb.jpg").data())
        }
    }

    @Test(arguments: ["photo.jpg", "progressive-420.jpg"])
    func stopsAtEveryCheckpoint(_ name: String) throws {
        let data = try Fixture(name).data()
        try Checkpoints.expectCancellationAtEach(atLeast: 6, ofDecoding: data, cutAt: data.count - 100) {
            cancellation in
            makeDecoder(DecodingOptions(thumbnail: Thumbnail(.pixels(width: 9, height: 9)), cancellation: cancellation))
        }
    }

    /// libjpeg detects a second frame header after it has replaced the first, also if the bytes end within it.
    @Test func refusesASecondFrameHeader() throws {
        var data = try Fixture("progressive-444.jpg").data()
        let header = data[data.startIndex...].range(of: Data([0xFF, 0xC2]))
        let start = try #require(header?.lowerBound)
        var second = data[start..<start + 2 + Int(data[start + 3])]
        second[second.startIndex + 9] = 255
        let cut = data.scanOffsets[2]
        data.insert(contentsOf: second, at: cut)
        let good = try decode(data.prefix(cut))
        #expect(try Pixels(decode(data).pixels) == Pixels(good.pixels))
        for length in cut...cut + second.count {
            let decoder = makeDecoder()
            try decoder.append(data.prefix(length))
            #expect(try decoder.preview()?.pixels.isOpaque == true)
            #expect(try Pixels(decoder.finish().pixels) == Pixels(good.pixels))
        }
    }

    /// Large enough for libjpeg's fast loop, which reads invalid codes as zeros; pieces are not.
    @Test(arguments: [true, false])
    func decodesAgainAfterAnUnknownCode(_ allowsDamage: Bool) throws {
        var random = SplitMix64(seed: 9)
        let size = PixelSize(width: 160, height: 160)
        let noise = Pixels(
            size: size,
            bytes: random.opaquePixels(count: size.pixelCount))
        let data = try JPEGEncoder().encode(Image(pixels: noise.buffer(isOpaque: true)), options: EncodingOptions())
        let options = DecodingOptions(allowsDamage: allowsDamage)
        let start = try #require(data.scanOffsets.first) + 20
        var (doubtfulCount, wholeCount) = (0, 0)
        for _ in 0..<60 {
            var damaged = data
            // Sixteen ones or more: no code has so many.
            let position = Int.random(in: start..<data.count - 8000, using: &random)
            damaged.replaceSubrange(position..<position + 6, with: [0xFF, 0, 0xFF, 0, 0xFF, 0])
            let direct = try? decode(damaged, options)
            let decoder = makeDecoder(options)
            let incremental = try? decoder.decode(damaged, inPiecesOf: 211)
            #expect((direct == nil) == (incremental == nil), "byte \(position)")
            #expect(direct.map { Pixels($0.pixels) } == incremental.map { Pixels($0.pixels) }, "byte \(position)")
            #expect(direct?.isPartial == incremental?.isPartial, "byte \(position)")
            if decoder.hasDecodedAgain { doubtfulCount += 1 }
            if direct?.isPartial == false { wholeCount += 1 }
        }
        #expect(doubtfulCount > 5 && wholeCount > 5)
    }

    @Test(arguments: ["baseline-420.jpg", "progressive-420.jpg", "restart-420.jpg", "arithmetic.jpg"])
    func decodesDamagedDataLikeTheWholeFile(_ name: String) throws {
        let data = try Fixture(name).data()
        var options = DecodingOptions()
        options.limits.pixelCount = 1_000_000
        for position in data.indices.dropFirst(2) {
            var damaged = data
            damaged[position] ^= 1 << (position % 8)
            let direct = try? decode(damaged, options)
            let incremental = try? makeDecoder(options).decode(damaged, inPiecesOf: 97)
            #expect((direct == nil) == (incremental == nil), "byte \(position)")
            if let direct, let incremental {
                #expect(Pixels(direct.pixels) == Pixels(incremental.pixels), "byte \(position)")
                #expect(direct.isPartial == incremental.isPartial)
            }
        }
    }
}

/// Segments with a wrong length: skipped segments are skipped as by libjpeg, others are damage.
@Suite(.timeLimit(.minutes(3))) struct JPEGSegmentTests {
    /// A length below 2 does not even include itself; others end before or after the comment's end.
    @Test(arguments: [0xFE, 0xE1, 0xE2, 0xEE, 0xDC] as [UInt8], [0, 1, 2, 5])
    func aCommentOfAWrongLengthIsSkipped(_ marker: UInt8, length: UInt8) throws {
        for name in ["baseline-420.jpg", "progressive-420.jpg", "orientation-6.jpg"] {
            var data = try Fixture(name).data()
            let whole = try JPEGDecoder().decode(data, options: DecodingOptions())
            data.insert(contentsOf: [0xFF, marker, 0, length] + Data("a comment".utf8), at: 2)
            let image = try JPEGDecoder().decode(data, options: DecodingOptions(allowsDamage: false))
            #expect(Pixels(image.pixels) == Pixels(whole.pixels), "\(name)")
            #expect(try JPEGDecoder().info(of: data).size == whole.pixels.size)
            #expect(try JPEGDecoder().probe(data)?.size == whole.pixels.size)
            let decoder = try #require(JPEGDecoder().makeIncrementalDecoder(options: DecodingOptions()))
            #expect(try Pixels(decoder.decode(data, inPiecesOf: 100).pixels) == Pixels(whole.pixels), "\(name)")
        }
    }

    @Test(arguments: [0xDB, 0xC4, 0xDD, 0xC0] as [UInt8]) func aTableOfAWrongLengthIsDamage(_ marker: UInt8) throws {
        var data = try Fixture("baseline-420.jpg").data()
        data.insert(contentsOf: [0xFF, marker, 0, 1], at: 2)
        #expect(throws: WebImageError.self) { try JPEGDecoder().decode(data, options: DecodingOptions()) }
    }
}

extension Data {
    /// The offset of a baseline JPEG's frame header (SOF0, ITU-T T.81, B.2.2).
    var baselineFrameHeader: Int? { indices.dropLast().first { self[$0] == 0xFF && self[$0 + 1] == 0xC0 } }

    /// The offsets of a JPEG's scan headers (SOS), including those of thumbnails.
    var scanOffsets: [Int] { indices.dropLast().filter { self[$0] == 0xFF && self[$0 + 1] == 0xDA } }
    var scanCount: Int { scanOffsets.count }
}
