import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

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
