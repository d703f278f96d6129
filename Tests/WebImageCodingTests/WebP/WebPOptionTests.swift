import CodingTestSupport
import Foundation
import Testing
import WebImageCore

@testable import WebImageCoding

/// libwebp's presets, and its switch for decoding without a filter.
@Suite(.timeLimit(.minutes(2))) struct WebPOptionTests {
    private let registry = CodecRegistry()

    private func photo() throws -> Image { try registry.decode(Fixture("photo.jpg").data()) }

    private func encoded(_ preset: EncodingOptions.WebPPreset, isLossless: Bool = false) throws -> Data {
        var options = EncodingOptions(quality: 0.4, isLossless: isLossless)
        options.webPPreset = preset
        return try registry.encode(photo(), as: .webp, options: options)
    }

    private func decoded(_ data: Data, _ change: (inout DecodingOptions) -> Void) throws -> Image {
        var options = DecodingOptions()
        change(&options)
        return try registry.decode(data, options: options)
    }

    /// Text differs from icons only in the number of segments, which may come to the same.
    @Test func presetsMakeOtherFiles() throws {
        var files: [Data] = []
        for preset in EncodingOptions.WebPPreset.allCases where preset != .text { files.append(try encoded(preset)) }
        #expect(Set(files).count == files.count)
        #expect(try encoded(.text) != files[0])
        #expect(try encoded(.standard) == registry.encode(photo(), as: .webp, options: EncodingOptions(quality: 0.4)))
    }

    /// A preset has no quality and no effort of its own.
    @Test func presetsKeepQualityAndEffort() throws {
        for preset in EncodingOptions.WebPPreset.allCases {
            let sizes = try [(0.2, 0), (0.2, 6), (0.9, 6)].map { quality, effort in
                var options = EncodingOptions(quality: quality)
                (options.webPPreset, options.webPEffort) = (preset, effort)
                return try registry.encode(photo(), as: .webp, options: options).count
            }
            #expect(sizes[1] < sizes[0] && sizes[2] > sizes[1] * 2, "\(preset.rawValue)")
        }
    }

    @Test func presetsAreNotForLosslessFiles() throws {
        #expect(try encoded(.drawing, isLossless: true) == encoded(.standard, isLossless: true))
    }

    @Test func withoutTheFilterBlocksShow() throws {
        let (photo, file) = (try photo(), try encoded(.standard))
        let (smooth, plain) = (try decoded(file) { _ in }, try decoded(file) { $0.bypassesWebPFilter = true })
        #expect(Pixels(smooth.pixels) != Pixels(plain.pixels))
        let original = Pixels(photo.pixels)
        let near = try #require(Pixels(smooth.pixels).psnr(against: original))
        let far = try #require(Pixels(plain.pixels).psnr(against: original))
        #expect(near > far && far > 20)
    }

    @Test func theSwitchIsForAllWaysToDecode() throws {
        let animation = PixelAnimation(
            frames: try ["photo.jpg", "photo.jpg"].map { try Pixels(registry.decode(Fixture($0).data()).pixels) }
                .enumerated().map { index, pixels in
                    var pixels = pixels
                    if index == 1 {
                        for place in pixels.bytes.indices where place % 4 == 0 { pixels.bytes[place] ^= 64 }
                    }
                    return pixels
                }, durations: [0.1, 0.1])
        let animated = try registry.encode(animation.encodable(), as: .webp, options: EncodingOptions(quality: 0.3))
        var options = DecodingOptions()
        options.bypassesWebPFilter = true
        func second(_ options: DecodingOptions) throws -> Pixels {
            let source = try #require(try registry.animation(of: animated, options: options))
            return Pixels(try source.makeFrameReader().frame(at: 1, cancellation: nil))
        }
        #expect(try second(options) != second(DecodingOptions()))

        let still = try encoded(.standard)
        let incremental = try #require(try registry.makeIncrementalDecoder(startingWith: still, options: options))
        #expect(try Pixels(incremental.finish().pixels) == Pixels(registry.decode(still, options: options).pixels))
        #expect(try Pixels(registry.decode(still, options: options).pixels) != Pixels(registry.decode(still).pixels))
    }

    @Test func theSwitchDoesNotChangeLosslessFiles() throws {
        let file = try encoded(.standard, isLossless: true)
        let plain = try decoded(file) { $0.bypassesWebPFilter = true }
        #expect(try Pixels(plain.pixels) == Pixels(photo().pixels))
    }
}
