import Foundation
import Testing
@testable import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// What decoding takes, measured in a process of its own, is what was counted before: where the limit is what the decoder says
/// it needs, the peak is no higher. ``MemoryLimitTests`` test the rules.
@Suite(.serialized) struct PeakMemoryTests {
    /// What libraries and the file itself take, and memory that malloc keeps.
    private static let slack = 12 << 20

    /// What kinds of file there are, of 12 megapixels each.
    enum Kind: String, CaseIterable {
        case baseline, rotated, progressive, ink, png, palette, interlaced, lossy, lossyAlpha, lossless, gif

        func file() throws -> Data {
            switch self {
            case .baseline: try LargePicture.jpeg()
            case .rotated: try LargePicture.rotatedJPEG()
            case .progressive: LargePicture.progressiveJPEG()
            case .ink: LargePicture.progressiveJPEG(componentCount: 4, isSubsampled: false)
            case .png: LargePicture.png(.rgba)
            case .palette: LargePicture.png(.palette)
            case .interlaced: LargePicture.png(.rgb, isInterlaced: true)
            case .lossy: try LargePicture.lossyWebP()
            case .lossyAlpha: try LargePicture.lossyWebP(hasAlpha: true)
            case .lossless: LargePicture.losslessWebP()
            case .gif: LargePicture.gif()
            }
        }
    }

    private func needed(_ data: Data, side: Int) throws -> Int {
        var options = DecodingOptions(
            thumbnail: side == 0 ? nil : Thumbnail(width: side, height: side), firstFrameOnly: true)
        options.limits.memoryByteCount = 1
        let error = #expect(throws: WebImageError.self) { try CodecRegistry.shared.decode(data, options: options) }
        guard case .decodingMemoryExceeded(let byteCount, _) = error else {
            Issue.record("\(error.map { "\($0)" } ?? "no error")")
            return 0
        }
        return byteCount
    }

    @Test(arguments: Kind.allCases, [0, 2500, 64]) func isNoHigherThanWhatWasCounted(_ kind: Kind, side: Int) throws {
        let data = try kind.file()
        let limit = try needed(data, side: side)
        let peak = try DecodingMemory.peak(of: data, side: side, limit: limit)
        #expect(peak < limit + Self.slack, "\(kind) to \(side): \(peak >> 20) MiB, counted \(limit >> 20)")
    }

    /// In pieces, with previews where there is room for them.
    @Test(arguments: [Kind.baseline, .progressive, .ink, .interlaced, .lossless, .gif])
    func isWithinTheLimitWithPreviews(_ kind: Kind) throws {
        let data = try kind.file()
        let least = try needed(data, side: 0)
        for limit in [least, least + 40 << 20, 400 << 20] {
            let peak = try DecodingMemory.peak(of: data, side: 0, limit: limit, pieceCount: 5)
            #expect(peak < limit + Self.slack, "\(kind): \(peak >> 20) MiB within \(limit >> 20)")
        }
    }

    /// All coefficients are 286 MiB here in colour, 381 in ink; the pixels are 191.
    @Test(arguments: [3, 4], [0, 64, 5000]) func aJPEGOf50MegapixelsFits(componentCount: Int, side: Int) throws {
        let data = LargePicture.progressiveJPEG(
            size: LargePicture.fiftyMegapixels, componentCount: componentCount, isSubsampled: false)
        let limits = side == 0 ? DecodingLimits.default : .server
        let peak = try DecodingMemory.peak(of: data, side: side, limit: limits.memoryByteCount)
        #expect(peak < limits.memoryByteCount + Self.slack, "\(peak >> 20) MiB")
    }
}

/// The most memory that a thumbnail of 12 megapixels takes, in a process of its own, above what the process takes without
/// a picture: whole, the pixels are 46 MiB. Each limit is a few MiB above what was measured.
@Suite(.serialized) struct ThumbnailMemoryTests {
    private static let side = 200

    /// What libraries touch, the file and a few rows: 6 to 7 MiB.
    @Test(arguments: [false, true]) func ofABaselineJPEGIsThatOfAnEighthOfIt(isRotated: Bool) throws {
        let file = try isRotated ? LargePicture.rotatedJPEG() : LargePicture.jpeg()
        #expect(try peak(of: file) < 10 << 20)
    }

    /// All coefficients, 16 bits each, of 12 million pixels of luma and a quarter as many of each colour: 34 MiB, and 6 more.
    @Test func ofAProgressiveJPEGIsItsCoefficients() throws {
        #expect(try peak(of: LargePicture.progressiveJPEG()) < 44 << 20)
    }

    /// Two times the rows under the resampler's filter, 3 MiB, and 6 more.
    @Test(arguments: [(PNGLayout.ColorType.rgb, 8), (.rgba, 8), (.palette, 8), (.rgb, 16)])
    func ofAPNGIsAFewRows(_ color: PNGLayout.ColorType, depth: Int) throws {
        #expect(try peak(of: LargePicture.png(color, depth: depth)) < 12 << 20)
    }

    /// The last pass has rows between all others: 46 MiB of pixels, and 5 more.
    @Test func ofAnInterlacedPNGIsThePicture() throws {
        #expect(try peak(of: LargePicture.png(.rgb, isInterlaced: true)) < 55 << 20)
    }

    /// The rows under the filter, those of one piece of the file (a 64th of it), and huge pages that are in part behind or ahead:
    /// 13 MiB.
    @Test func ofALossyWebPIsTheRowsOfAPiece() throws {
        #expect(try peak(of: LargePicture.lossyWebP()) < 18 << 20)
    }

    /// libwebp keeps all alpha, a byte a pixel and as much to unpack it: 23 MiB, and what a lossy one takes.
    @Test func ofALossyWebPWithAlphaIsTheAlpha() throws {
        #expect(try peak(of: LargePicture.lossyWebP(hasAlpha: true)) < 44 << 20)
    }

    /// libwebp keeps 4 bytes a pixel: 46 MiB, and what a lossy one takes.
    @Test func ofALosslessWebPIsThePictureWithinLibwebp() throws {
        #expect(try peak(of: LargePicture.losslessWebP()) < 65 << 20)
    }

    /// A byte for each of 8 megapixels, the rows under the resampler's filter, and 6 MiB.
    @Test func ofAGIFIsItsIndices() throws {
        #expect(try peak(of: LargePicture.gif()) < 20 << 20)
    }

    /// The first frame of an animation takes what a still takes where it covers the canvas.
    @Test func ofAnAnimationsFirstFrameIsThatOfAStill() throws {
        #expect(try peak(of: LargePicture.gif(frameCount: 2)) < 20 << 20)
        #expect(try peak(of: LargePicture.png(.rgb, frameCount: 2)) < 12 << 20)
        // Not of WebP: its frames lie anywhere, and are composed. The canvas, and what libwebp keeps.
        #expect(try peak(of: LargePicture.animatedWebP(frameCount: 2)) < 105 << 20)
    }

    /// The canvas that shows the frame before, the part that is drawn on it, and what decoding that takes beside: of GIF
    /// the indices (8 megapixels here), of WebP libwebp's 4 bytes a pixel.
    @Test func ofFramesIsTheCanvasAndOnePart() throws {
        #expect(try peak(of: LargePicture.gif(frameCount: 2), frameCount: 2) < 84 << 20)
        #expect(try peak(of: LargePicture.png(.rgb, frameCount: 2), frameCount: 2) < 105 << 20)
        #expect(try peak(of: LargePicture.animatedWebP(frameCount: 2), frameCount: 2) < 156 << 20)
    }

    /// In bytes, above what the process has without a picture.
    private func peak(of file: Data, frameCount: Int = 0) throws -> Int {
        try DecodingMemory.peak(of: file, side: Self.side, frameCount: frameCount)
    }
}
