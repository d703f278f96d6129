import CodingTestSupport
import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// Lossless JPEG, written by the tests' own encoder. The decoder was compared with files of libjpeg-turbo 3, too.
@Suite(.timeLimit(.minutes(3))) struct LosslessJPEGTests {
    private let registry = CodecRegistry()

    /// A sample for each component.
    private func sample(_ x: Int, _ y: Int, _ component: Int, bits: Int) -> Int {
        let maximum = 1 << bits - 1
        return [x * maximum / 36, y * maximum / 10, (x * 7 + y * 13) * maximum / 400, x * 2 < 37 ? maximum : 0][
            component]
    }

    private func file(
        bits: Int, components: Int, predictor: Int = 1, shift: Int = 0, restartRows: Int = 0, isInterleaved: Bool = true
    ) -> Data {
        LosslessJPEGWriter(
            width: 37, height: 11, bits: bits, components: components, predictor: predictor, shift: shift,
            restartRows: restartRows, isInterleaved: isInterleaved
        ).data { sample($0, $1, $2, bits: bits) }
    }

    private func check(_ data: Data, bits: Int, components: Int, mask: Int = -1) throws {
        let pixels = try registry.decode(data, options: DecodingOptions(allowsDamage: false)).pixels
        #expect(pixels.size == PixelSize(width: 37, height: 11) && pixels.isOpaque)
        for y in 0..<11 {
            for x in 0..<37 {
                for channel in 0..<3 {
                    let stored = sample(x, y, components == 1 ? 0 : channel, bits: bits) & mask
                    let expected = Double(stored) * 255 / Double(1 << bits - 1)
                    // Eight bits are exact, more are dithered, fewer are rounded.
                    #expect(abs(Double(pixels[x, y][channel]) - expected) <= (bits == 8 ? 0 : 1))
                }
            }
        }
    }

    @Test(arguments: 1...7, [8, 12, 16]) func undoesAllPredictors(predictor: Int, bits: Int) throws {
        for components in [1, 3] {
            let data = file(bits: bits, components: components, predictor: predictor)
            try check(data, bits: bits, components: components)
            #expect(try registry.info(of: data).bitDepth == bits)
        }
    }

    @Test(arguments: [2, 5, 10]) func readsOtherDepths(bits: Int) throws {
        try check(file(bits: bits, components: 1), bits: bits, components: 1)
    }

    @Test func readsRestartsShiftsAndScansOfOneComponent() throws {
        try check(file(bits: 8, components: 3, predictor: 4, restartRows: 2), bits: 8, components: 3)
        try check(file(bits: 8, components: 3, predictor: 7, isInterleaved: false), bits: 8, components: 3)
        try check(file(bits: 8, components: 1, shift: 2), bits: 8, components: 1, mask: ~3)
    }

    @Test func decodesInPiecesAndAsAThumbnail() throws {
        let data = file(bits: 12, components: 3)
        let whole = try registry.decode(data).pixels
        let incremental = try #require(JPEGDecoder().makeIncrementalDecoder(options: DecodingOptions()))
        #expect(Pixels(try incremental.decode(data, inPiecesOf: 5).pixels) == Pixels(whole))
        #expect(incremental.probe?.size == whole.size)
        let options = DecodingOptions(thumbnail: Thumbnail(.pixels(width: 16, height: 16), mode: .aspectFit))
        #expect(try registry.decode(data, options: options).pixels.size == PixelSize(width: 16, height: 5))
    }

    @Test func ofATruncatedFileTheRowsBeforeAreDecoded() throws {
        let data = file(bits: 8, components: 3)
        let whole = try registry.decode(data)
        let cut = data.prefix(data.count * 2 / 3)
        let part = try registry.decode(cut)
        #expect(part.isPartial && !whole.isPartial)
        let rows = try #require(Pixels(part.pixels).goodRowCount(of: Pixels(whole.pixels)))
        #expect((3..<11).contains(rows))
        #expect(throws: WebImageError.decoding(format: .jpeg, reason: .truncated)) {
            try registry.decode(cut, options: DecodingOptions(allowsDamage: false))
        }
    }

    /// Finds a segment by its marker, and changes the file there.
    private func changed(_ marker: UInt8, _ change: (inout Data, _ content: Int) -> Void) throws -> Data {
        var data = file(bits: 8, components: 1)
        let start = try #require(data.firstRange(of: Data([0xFF, marker]))).lowerBound
        change(&data, start + 4)
        return data
    }

    @Test func invalidHeadersAreRefused() throws {
        func expect(_ reason: WebImageError.DecodingFailure, of data: Data) {
            #expect(throws: WebImageError.decoding(format: .jpeg, reason: reason)) {
                try registry.decode(data, options: DecodingOptions(allowsDamage: false))
            }
        }
        for predictor in [0, 8, 255] as [UInt8] {
            expect(.corrupt("an invalid scan header"), of: try changed(0xDA) { $0[$1 + 3] = predictor })
        }
        let restarts = try changed(0xDA) { $0.insert(contentsOf: [0xFF, 0xDD, 0, 4, 0, 5], at: $1 - 4) }
        expect(.unsupported("lossless JPEG with restarts inside of rows"), of: restarts)
        // There are no three codes of one bit.
        expect(.corrupt("an invalid Huffman table"), of: try changed(0xC4) { ($0[$1 + 1], $0[$1 + 5]) = (3, 14) })
    }

    @Test func damageIsHarmless() throws {
        var random = SplitMix64(seed: 5)
        let whole = file(bits: 12, components: 3, restartRows: 3)
        for _ in 0..<300 {
            var data = whole
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                data[Int.random(in: 2..<data.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = try? registry.decode(data)
        }
    }

    @Test func limitsApply() throws {
        var options = DecodingOptions()
        options.limits.pixelCount = 100
        let size = PixelSize(width: 37, height: 11)
        #expect(throws: WebImageError.limitExceeded(reason: .pixels(size: size, limit: 100))) {
            try registry.decode(file(bits: 8, components: 1), options: options)
        }
        options.limits = .default
        options.limits.memoryByteCount = 1_000
        #expect(throws: WebImageError.self) { try registry.decode(file(bits: 8, components: 1), options: options) }
    }
}
