import CodingTestSupport
import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

/// The frames of APNG files.
@Suite(.timeLimit(.minutes(3))) struct APNGTests {
    private let decoder = PNGDecoder()

    private static let fixtures = [
        "keep-source", "keep-over", "clear-source", "clear-over", "restore-source", "restore-over", "half-clear",
        "mixed", "other-still", "small-first", "rgb", "16", "adam7", "palette",
    ].map { Fixture("apng-\($0).png") }

    private func animation(of data: Data) throws -> any AnimationSource {
        try #require(try decoder.animation(of: data, options: DecodingOptions()))
    }

    /// References by another composer, which agrees with Pillow; see Tests/Fixtures/apng_fixtures.py.
    @Test(arguments: fixtures)
    func composesEveryKindOfFrame(_ fixture: Fixture) throws {
        let animation = try animation(of: fixture.data())
        let reader = animation.makeFrameReader()
        // The reference had more than eight bits.
        let tolerance = fixture.name == "apng-half-clear.png" ? 2 : 0
        #expect(animation.frameCount >= 3)
        for index in animation.frames.indices.reversed() + Array(animation.frames.indices) {
            let golden = try Pixels(named: "\(fixture.name)\(index == 0 ? "" : "-frame\(index)").rgba")
            let frame = try reader.frame(at: index, cancellation: nil)
            #expect(try #require(Pixels(frame).difference(from: golden)) <= tolerance, "frame \(index)")
            let isOpaque = stride(from: 3, to: golden.bytes.count, by: 4).allSatisfy { golden.bytes[$0] == 255 }
            #expect(!frame.isOpaque || isOpaque)
        }
    }

    @Test func readsDelaysAndPlays() throws {
        let animation = try animation(of: Fixture("apng-half-clear.png").data())
        // 3/20 s; a denominator of 0 is 100, and 10 ms or less are 100 ms.
        let tenth = Duration.milliseconds(100)
        #expect(animation.frames.map(\.duration) == [.milliseconds(150), tenth, tenth, .seconds(2) / 3])
        #expect(animation.loopCount == 3)
        #expect(animation.isComplete)
        #expect(try self.animation(of: Fixture("apng-rgb.png").data()).loopCount == 0)
    }

    @Test func decodesImagesWithTheirAnimation() throws {
        let data = APNGWriter.threeFrames.data
        let image = try decoder.decode(data, options: DecodingOptions(allowsDamage: false))
        #expect(image.animation?.frameCount == 3)
        #expect(image.frameCount == 3)
        #expect(image.pixels[0, 0].x == 10)
        #expect(!image.isPartial)
        let first = try decoder.decode(data, options: DecodingOptions(firstFrameOnly: true))
        #expect(first.animation == nil)
        #expect(first.frameCount == 3)
        let thumbnail = try decoder.decode(
            data, options: DecodingOptions(thumbnail: Thumbnail(.pixels(width: 2, height: 2))))
        #expect(thumbnail.animation?.frameSize == PixelSize(width: 2, height: 2))
        #expect(try decoder.animation(of: Fixture("rgb-8.png").data(), options: DecodingOptions()) == nil)
    }

    @Test func showsTheFirstFrameIfTheDefaultImageIsNotAFrame() throws {
        var writer = APNGWriter(claimedCount: 1)
        writer.addStill(gray: 10)
        writer.addHeader()
        writer.addData(gray: 20)
        let image = try decoder.decode(writer.data, options: DecodingOptions(allowsDamage: false))
        #expect(image.pixels[3, 3].x == 20)
        #expect(image.animation == nil)
        #expect(image.frameCount == 1)
    }

    @Test func isAStillIfTheDefaultImageIsTheOnlyFrame() throws {
        var writer = APNGWriter(claimedCount: 1)
        writer.addHeader()
        writer.addStill(gray: 10)
        #expect(try decoder.animation(of: writer.data, options: DecodingOptions()) == nil)
        #expect(try decoder.decode(writer.data, options: DecodingOptions(allowsDamage: false)).pixels[0, 0].x == 10)
    }

    /// Before the first frame there is nothing to restore, so the canvas is cleared.
    @Test func clearsAfterAFirstFrameThatRestores() throws {
        var writer = APNGWriter(claimedCount: 2)
        writer.addHeader(disposal: 2)
        writer.addStill(gray: 10)
        let dot = PixelSize(width: 1, height: 1)
        writer.addHeader(dot, left: 1, top: 2)
        writer.addData(gray: 20, dot)
        let second = try animation(of: writer.data).makeFrameReader().frame(at: 1, cancellation: nil)
        #expect(second[1, 2] == SIMD4(20, 20, 20, 255))
        #expect(second[0, 0] == SIMD4())
    }

    /// Violations of the order of chunks.
    enum Violation: String, CaseIterable, Sendable {
        case skippedNumber, repeatedNumber, numbersFromOne
        case noFramesClaimed
        case controlBehindStill, secondControl, controlTooShort, wrongChecksumOfControl
        case frameOutside, emptyFrame, smallFirstFrame, headerWithoutData, dataWithoutHeader, dataBehindStill
        case unknownDisposal, unknownBlend, wrongChecksumOfHeader, headerTooLong, twoHeadersBeforeStill
    }

    private func data(with violation: Violation) -> Data {
        var writer = APNGWriter.threeFrames
        func replacing(_ index: Int, _ change: (inout APNGWriter) -> Void) {
            change(&writer)
            writer.chunks[index] = writer.chunks.removeLast()
        }
        switch violation {
        case .skippedNumber: replacing(5) { $0.addHeader(number: 4) }
        case .repeatedNumber: replacing(4) { $0.addData(gray: 20, number: 1) }
        case .numbersFromOne: replacing(1) { $0.addHeader(number: 1) }
        case .noFramesClaimed: writer.chunks[0] = APNGWriter(claimedCount: 0).chunks[0]
        case .controlBehindStill: writer.chunks.swapAt(0, 2)
        case .secondControl: writer.chunks.insert(writer.chunks[0], at: 1)
        case .controlTooShort: writer.chunks[0] = PNGWriter.chunk("acTL", [0, 0, 0, 3, 0, 0, 0])
        case .wrongChecksumOfControl: writer.chunks[0][16] ^= 1
        case .frameOutside: replacing(3) { $0.addHeader(PixelSize(width: 3, height: 3), left: 2, number: 1) }
        case .emptyFrame: replacing(3) { $0.addHeader(PixelSize(width: 0, height: 3), number: 1) }
        case .smallFirstFrame: replacing(1) { $0.addHeader(PixelSize(width: 3, height: 4), number: 0) }
        case .headerWithoutData: writer.chunks.removeLast()
        case .dataWithoutHeader: writer.chunks.remove(at: 3)
        case .dataBehindStill: replacing(3) { $0.addData(gray: 20, number: 1) }
        case .unknownDisposal: replacing(3) { $0.addHeader(disposal: 3, number: 1) }
        case .unknownBlend: replacing(3) { $0.addHeader(blend: 2, number: 1) }
        case .wrongChecksumOfHeader: writer.chunks[3][34] ^= 1
        case .headerTooLong: writer.chunks[3] = PNGWriter.chunk("fcTL", writer.chunks[3][8..<34] + [0])
        case .twoHeadersBeforeStill: writer.chunks.insert(writer.chunks[1], at: 1)
        }
        return writer.data
    }

    @Test(arguments: Violation.allCases)
    func showsTheDefaultImageOfAnInvalidAPNG(_ violation: Violation) throws {
        let data = data(with: violation)
        let image = try decoder.decode(data, options: DecodingOptions(allowsDamage: false))
        #expect(image.pixels[0, 0].x == 10)
        #expect(image.animation == nil)
        #expect(!image.isPartial)
        #expect(try decoder.info(of: data).frameCount == 1)
        #expect(try decoder.animation(of: data, options: DecodingOptions()) == nil)
    }

    /// As in Chromium and Firefox: the frames that are there, and no more than the file claims.
    @Test(arguments: [(1, 1), (2, 2), (4, 3), (70_000, 3)])
    func playsTheFramesThatAreThere(claimedCount: Int, playedCount: Int) throws {
        var writer = APNGWriter.threeFrames
        writer.chunks[0] = APNGWriter(claimedCount: claimedCount).chunks[0]
        let image = try decoder.decode(writer.data, options: DecodingOptions(allowsDamage: false))
        #expect(!image.isPartial && image.pixels[0, 0].x == 10)
        #expect(image.animation?.frameCount == (playedCount > 1 ? playedCount : nil))
        #expect(image.animation?.isComplete != false)
        #expect(try decoder.info(of: writer.data).frameCount == playedCount)
        if let animation = image.animation {
            let last = try animation.makeFrameReader().frame(at: playedCount - 1, cancellation: nil)
            #expect(Int(last[0, 0].x) == playedCount * 10)
        }
        let incremental = try #require(decoder.makeIncrementalDecoder(options: DecodingOptions()))
        let pieces = try incremental.decode(writer.data, inPiecesOf: 7)
        #expect(pieces.animation?.frameCount == image.animation?.frameCount && !pieces.isPartial)
    }

    /// As in Chromium. Two of them make a still, as in `twoHeadersBeforeStill`.
    @Test func theFirstHeaderMayPrecedeTheControl() throws {
        var writer = APNGWriter.threeFrames
        writer.chunks.swapAt(0, 1)
        #expect(try animation(of: writer.data).frameCount == 3)
        writer.chunks.insert(writer.chunks[0], at: 1)
        #expect(try decoder.animation(of: writer.data, options: DecodingOptions()) == nil)
    }

    @Test func losesOnlyADamagedFrame() throws {
        var writer = APNGWriter.threeFrames
        writer.chunks[4][writer.chunks[4].count - 1] ^= 1
        let options = DecodingOptions(allowsDamage: false)
        let reader = try #require(try decoder.animation(of: writer.data, options: options)).makeFrameReader()
        let failure = WebImageError.decoding(format: .png, reason: .corrupt("wrong checksum of fdAT"))
        #expect(throws: failure) { try reader.frame(at: 1, cancellation: nil) }
        #expect(try reader.frame(at: 2, cancellation: nil)[0, 0].x == 30)
        #expect(try reader.frame(at: 0, cancellation: nil)[0, 0].x == 10)
    }

    @Test func showsTheIntactRowsOfADamagedFrame() throws {
        var writer = APNGWriter.threeFrames
        // Two of its four rows.
        let rows = PNGWriter.compressed([0, 20, 20, 20, 20, 0, 20, 20, 20, 20])
        writer.chunks[4] = PNGWriter.chunk("fdAT", PNGWriter.number(2) + rows)
        let animation = try animation(of: writer.data)
        for order in [[0, 1, 2], [2, 1, 0], [1]] {
            let reader = animation.makeFrameReader()
            for index in order where index != 1 {
                #expect(Int(try reader.frame(at: index, cancellation: nil)[3, 3].x) == 10 + index * 10)
            }
            let damaged = try reader.frame(at: 1, cancellation: nil)
            #expect((0..<4).map { damaged[2, $0] } == [SIMD4(20, 20, 20, 255), SIMD4(20, 20, 20, 255), .zero, .zero])
        }
        let strict = try #require(try decoder.animation(of: writer.data, options: DecodingOptions(allowsDamage: false)))
        #expect(throws: WebImageError.decoding(format: .png, reason: .corrupt("rows are missing"))) {
            try strict.makeFrameReader().frame(at: 1, cancellation: nil)
        }
    }

    /// A frame is complete when the next one starts.
    @Test func playsTheCompleteFrames() throws {
        let writer = APNGWriter.threeFrames
        let starts = writer.chunks.indices.map { 33 + writer.chunks.prefix($0).reduce(0) { $0 + $1.count } }
        let decoder = try #require(decoder.makeIncrementalDecoder(options: DecodingOptions()))
        var counts: [Int] = []
        for byte in writer.data {
            try decoder.append(Data([byte]))
            counts.append(decoder.animation?.frameCount ?? 0)
            if let animation = decoder.animation {
                let last = try animation.makeFrameReader().frame(at: animation.frameCount - 1, cancellation: nil)
                #expect(Int(last[0, 0].x) == animation.frameCount * 10)
                #expect(animation.isComplete == (counts.count == writer.data.count))
            }
        }
        #expect(counts[starts[5] + 36] == 1)
        #expect(counts[starts[5] + 37] == 2)
        #expect(counts[counts.count - 2] == 2)
        #expect(counts.last == 3)
        #expect(try decoder.finish().animation?.frameCount == 3)
    }

    /// All frames were visited for each frame.
    @Test(.timeLimit(.minutes(1))) func readsManyFrames() throws {
        let count = 20_000
        let side = PNGWriter.number(1)
        let stream = PNGWriter.compressed([0, 9])
        var data = PNGWriter.signature
        data += PNGWriter.header(PixelSize(width: 1, height: 1), color: .gray)
        data += PNGWriter.chunk("acTL", PNGWriter.number(count) + PNGWriter.number(0))
        for frame in 0..<count {
            var header = PNGWriter.number(max(0, 2 * frame - 1)) + side + side
            header.append(contentsOf: [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 10, 0, 0])
            data += PNGWriter.chunk("fcTL", header)
            data +=
                frame == 0
                ? PNGWriter.chunk("IDAT", stream) : PNGWriter.chunk("fdAT", PNGWriter.number(2 * frame) + stream)
        }
        data += PNGWriter.chunk("IEND")
        #expect(try animation(of: data).frameCount == count)
    }

    @Test func showsTheFirstFrameOfATruncatedFile() throws {
        let data = APNGWriter.threeFrames.data.dropLast(20)
        let image = try decoder.decode(data, options: DecodingOptions())
        #expect(image.isPartial)
        #expect(image.animation?.frameCount == 2)
        #expect(image.animation?.isComplete == false)
        #expect(throws: WebImageError.decoding(format: .png, reason: .truncated)) {
            try decoder.decode(data, options: DecodingOptions(allowsDamage: false))
        }
        let first = try decoder.decode(data, options: DecodingOptions(firstFrameOnly: true, allowsDamage: false))
        #expect(Pixels(first.pixels) == Pixels(image.pixels))
        #expect(first.isPartial)
    }
}
