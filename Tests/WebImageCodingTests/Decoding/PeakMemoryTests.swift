import Foundation
import Testing
@testable import WebImageCoding
import WebImageCore
import WebImageTestSupport

/// The memory of decoding, measured in a separate process, is at most what the decoder computed. ``MemoryLimitTests``
/// tests the rules.
@Suite(.timeLimit(.minutes(5)), .serialized) struct PeakMemoryTests {
    /// Libraries, the file, and memory that malloc keeps.
    private static let slack = 12 << 20

    /// Kinds of files of 12 megapixels.
    enum Kind: String, CaseIterable {
        case baseline, rotated, progressive, ink, png, palette, interlaced, lossy, lossyAlpha, lossless, gif

        func file() throws -> Data {
            switch self {
            case .baseline: try LargeImage.jpeg()
            case .rotated: try LargeImage.rotatedJPEG()
            case .progressive: LargeImage.progressiveJPEG()
            case .ink: LargeImage.progressiveJPEG(componentCount: 4, isSubsampled: false)
            case .png: LargeImage.png(.rgba)
            case .palette: LargeImage.png(.palette)
            case .interlaced: LargeImage.png(.rgb, isInterlaced: true)
            case .lossy: try LargeImage.lossyWebP()
            case .lossyAlpha: try LargeImage.lossyWebP(hasAlpha: true)
            case .lossless: LargeImage.losslessWebP()
            case .gif: LargeImage.gif()
            }
        }
    }

    private func needed(_ data: Data, side: Int) throws -> Int {
        var options = DecodingOptions(
            thumbnail: side == 0 ? nil : Thumbnail(.pixels(width: side, height: side)), firstFrameOnly: true)
        options.limits.memoryByteCount = 1
        let error = #expect(throws: WebImageError.self) { try CodecRegistry.builtIn.decode(data, options: options) }
        guard case .limitExceeded(.memory(let byteCount, _), _) = error else {
            Issue.record("\(error.map { "\($0)" } ?? "no error")")
            return 0
        }
        return byteCount
    }

    @Test(arguments: Kind.allCases, ReleaseChecks.choose([0, 64], forRelease: [0, 2500, 64]))
    func isAtMostTheComputedMemory(_ kind: Kind, side: Int) throws {
        let data = try kind.file()
        let limit = try needed(data, side: side)
        let peak = try DecodingMemory.peak(of: data, side: side, limit: limit)
        #expect(peak < limit + Self.slack, "\(kind) to \(side): \(peak >> 20) MiB, counted \(limit >> 20)")
    }

    /// In pieces, with previews if they fit.
    @Test(arguments: [Kind.baseline, .progressive, .ink, .interlaced, .lossless, .gif])
    func isWithinTheLimitWithPreviews(_ kind: Kind) throws {
        let data = try kind.file()
        let least = try needed(data, side: 0)
        for limit in [least, least + 40 << 20, 400 << 20] {
            let peak = try DecodingMemory.peak(of: data, side: 0, limit: limit, pieceCount: 5)
            #expect(peak < limit + Self.slack, "\(kind): \(peak >> 20) MiB within \(limit >> 20)")
        }
    }

    /// All coefficients take 286 MiB in color, 381 in CMYK; the pixels take 191.
    @Test(
        arguments: ReleaseChecks.choose(
            [(3, 0), (4, 0), (4, 64)], forRelease: [3, 4].flatMap { [($0, 0), ($0, 64), ($0, 5000)] }))
    func aJPEGOf50MegapixelsFits(componentCount: Int, side: Int) throws {
        let data = LargeImage.progressiveJPEG(
            size: LargeImage.fiftyMegapixels, componentCount: componentCount, isSubsampled: false)
        let limits = side == 0 ? DecodingLimits.default : .server
        let peak = try DecodingMemory.peak(of: data, side: side, limit: limits.memoryByteCount)
        #expect(peak < limits.memoryByteCount + Self.slack, "\(peak >> 20) MiB")
    }
}

/// The peak memory of a thumbnail of 12 megapixels, in a separate process, above that of the process itself. All pixels
/// would take 46 MiB. Each limit is a few MiB above the measured value.
@Suite(.timeLimit(.minutes(5)), .serialized) struct ThumbnailMemoryTests {
    private static let side = 200

    /// Libraries, the file and a few rows: 6 to 7 MiB.
    @Test(arguments: [false, true]) func aBaselineJPEGTakesAnEighthOfItsPixels(isRotated: Bool) throws {
        let file = try isRotated ? LargeImage.rotatedJPEG() : LargeImage.jpeg()
        #expect(try peak(of: file) < 10 << 20)
    }

    /// 16-bit coefficients of 12 million pixels of luma and a quarter as many of each color: 34 MiB, and 6 more.
    @Test func aProgressiveJPEGTakesItsCoefficients() throws {
        #expect(try peak(of: LargeImage.progressiveJPEG()) < 44 << 20)
    }

    /// Twice the rows under the resampler's filter, 3 MiB, and 6 more.
    @Test(arguments: [(PNGLayout.ColorType.rgb, 8), (.rgba, 8), (.palette, 8), (.rgb, 16)])
    func aPNGTakesAFewRows(_ color: PNGLayout.ColorType, depth: Int) throws {
        #expect(try peak(of: LargeImage.png(color, depth: depth)) < 12 << 20)
    }

    /// The last pass has rows between all others: 46 MiB of pixels, and 5 more.
    @Test func anInterlacedPNGTakesItsPixels() throws {
        #expect(try peak(of: LargeImage.png(.rgb, isInterlaced: true)) < 55 << 20)
    }

    /// The rows under the filter, those of one piece (a 64th of the file), and partly used huge pages: 13 MiB.
    @Test func aLossyWebPTakesTheRowsOfAPiece() throws {
        #expect(try peak(of: LargeImage.lossyWebP()) < 18 << 20)
    }

    /// libwebp keeps all alpha, a byte per pixel and as much to decompress it: 23 MiB more than without alpha.
    @Test func aLossyWebPWithAlphaTakesItsAlpha() throws {
        #expect(try peak(of: LargeImage.lossyWebP(hasAlpha: true)) < 44 << 20)
    }

    /// libwebp keeps 4 bytes per pixel: 46 MiB more than a lossy one.
    @Test func aLosslessWebPTakesItsPixelsInLibwebp() throws {
        #expect(try peak(of: LargeImage.losslessWebP()) < 65 << 20)
    }

    /// A byte for each of 8 megapixels, the rows under the resampler's filter, and 6 MiB.
    @Test func aGIFTakesItsIndices() throws {
        #expect(try peak(of: LargeImage.gif()) < 20 << 20)
    }

    /// The first frame of an animation takes as much as a still image if it covers the canvas.
    @Test func theFirstFrameOfAnAnimationTakesTheMemoryOfAStill() throws {
        #expect(try peak(of: LargeImage.gif(frameCount: 2)) < 20 << 20)
        #expect(try peak(of: LargeImage.png(.rgb, frameCount: 2)) < 12 << 20)
        // Except in WebP, whose frames are composed: the canvas, and libwebp's memory.
        #expect(try peak(of: LargeImage.animatedWebP(frameCount: 2)) < 105 << 20)
    }

    /// The canvas of the previous frame, the part drawn on it, and the memory to decode it: in GIF the indices (8
    /// megapixels here), in WebP libwebp's 4 bytes per pixel.
    @Test func framesTakeTheCanvasAndOnePart() throws {
        #expect(try peak(of: LargeImage.gif(frameCount: 2), frameCount: 2) < 84 << 20)
        #expect(try peak(of: LargeImage.png(.rgb, frameCount: 2), frameCount: 2) < 105 << 20)
        #expect(try peak(of: LargeImage.animatedWebP(frameCount: 2), frameCount: 2) < 156 << 20)
    }

    /// In bytes, above that of the process without an image.
    private func peak(of file: Data, frameCount: Int = 0) throws -> Int {
        try DecodingMemory.peak(of: file, side: Self.side, frameCount: frameCount)
    }
}
