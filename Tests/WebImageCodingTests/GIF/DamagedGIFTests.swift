import Foundation
import Testing
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// GIFs with something wrong in them, at once and in pieces.
@Suite struct DamagedGIFTests {
    private let decoder = GIFDecoder()

    private func options(_ damage: DecodingOptions.Damage = .showGoodPart) -> DecodingOptions {
        var options = DecodingOptions(damage: damage)
        options.limits.pixelCount = 10_000
        return options
    }

    /// Decodes `data` in random pieces, with previews in between.
    private func decodeInPieces(
        _ data: Data, options: DecodingOptions, using generator: inout SplitMix64
    ) throws(WebImageError) -> Image {
        let decoder = IncrementalGIFDecoder(options: options)
        var rest = data
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...300, using: &generator))
            try decoder.append(piece)
            rest = rest.dropFirst(piece.count)
            _ = try decoder.preview()
            if let animation = decoder.animation {
                _ = try? animation.makeFrameReader().frame(at: animation.frameCount - 1, cancellation: nil)
            }
        }
        return try decoder.finish()
    }

    /// Every bit pattern has an end, and the same one however it arrives.
    @Test(
        arguments: ["gif-mixed.gif", "gif-outside.gif", "animated.gif", "interlaced.gif"],
        [DecodingOptions.Damage.showGoodPart, .refuse])
    func survivesFlippedBitsInEveryFrame(_ name: String, damage: DecodingOptions.Damage) throws {
        let options = options(damage)
        let data = try Fixture(name).data()
        var generator = SplitMix64(seed: 77)
        for position in stride(from: damage == .refuse ? 6 : 7, to: data.count, by: 8) {
            var damaged = data
            damaged[position] ^= 1 << UInt8.random(in: 0...7, using: &generator)
            let atOnce = Result { () throws(WebImageError) in try decoder.decode(damaged, options: options) }
            let inPieces = Result { () throws(WebImageError) in
                try decodeInPieces(damaged, options: options, using: &generator)
            }
            switch (atOnce, inPieces) {
            case (.success(let image), .success(let other)):
                #expect(Pixels(image.pixels) == Pixels(other.pixels), "byte \(position)")
                #expect(image.isPartial == other.isPartial, "byte \(position)")
                #expect(image.animation?.frames == other.animation?.frames, "byte \(position)")
            case (.failure(let error), .failure(let other)):
                // In pieces, one thing is found to be wrong before the other.
                #expect(error == other || damage == .refuse, "byte \(position)")
            default: Issue.record("byte \(position): \(atOnce) at once, \(inPieces) in pieces")
            }
            guard let animation = try? decoder.animation(of: damaged, options: options) else { continue }
            let reader = animation.makeFrameReader()
            for index in animation.frames.indices.reversed() {
                if let frame = try? reader.frame(at: index, cancellation: nil) {
                    #expect(frame.size == animation.frameSize)
                }
            }
        }
    }

    /// The first frame's codes make no sense from somewhere on: the rows before are shown, and the other frames.
    @Test func showsTheGoodRowsOfADamagedFirstFrame() throws {
        let data = try Fixture("gif-dispose-1.gif").data()
        let whole = try decoder.decode(data, options: DecodingOptions())
        let codes =
            try #require(data.indices.first { data[$0...].starts(with: [0x2C, 0, 0, 0, 0, 16, 0, 12, 0]) }) + 10
        // Of its 16 × 12 pixels, some 8 rows come before this byte. Codes of all ones end by meaning nothing.
        var damaged = data
        damaged.replaceSubrange(codes + 80..<codes + 90, with: Array(repeating: 0xFF, count: 10))
        let image = try decoder.decode(damaged, options: DecodingOptions())
        #expect(image.isPartial)
        #expect(image.animation?.frameCount == 6)
        #expect(image.animation?.isComplete == true)
        for column in 0..<16 {
            #expect(image.pixels[column, 0] == whole.pixels[column, 0])
            #expect(image.pixels[column, 11] == .zero)
        }
        #expect(throws: WebImageError.self) {
            try decoder.decode(damaged, options: DecodingOptions(damage: .refuse))
        }
    }

    /// Codes that only clear the table stand for no pixel, however many there are.
    @Test func endsWithCodesThatMakeNoPixels() throws {
        var data = Data("GIF89a".utf8) + [100, 0, 100, 0, 0x80, 0, 0, 1, 2, 3, 4, 5, 6]
        data += [0x2C, 0, 0, 0, 0, 100, 0, 100, 0, 0, 2]
        // Codes of 3 bits: 4, over and over.
        for _ in 0..<4000 { data += [255] + (0..<85).flatMap { _ in [0x24, 0x49, 0x92] as [UInt8] } }
        data += [0, 0x3B]
        let reason = WebImageError.DecodingFailure.corrupt("10000 pixels short")
        #expect(throws: WebImageError.decoding(format: .gif, reason: reason)) {
            try decoder.decode(data, options: DecodingOptions())
        }
        let checkpoints = Checkpoints(cancellingAt: 4)
        #expect(throws: WebImageError.cancelled) {
            try decoder.decode(data, options: DecodingOptions(cancellation: checkpoints.cancellation))
        }
    }

    @Test func probesAsSoonAsTheFirstFrameIsDescribed() throws {
        let data = try Fixture("gif-dispose-1.gif").data()
        let descriptor = try #require(data.indices.first { data[$0...].starts(with: [0x2C, 0, 0, 0, 0, 16, 0]) })
        #expect(try decoder.probe(data.prefix(descriptor + 9)) == nil)
        let expected = ImageProbe(
            format: .gif, size: PixelSize(width: 16, height: 12), isAnimated: nil, hasAlpha: false)
        #expect(try decoder.probe(data.prefix(descriptor + 10)) == expected)
        #expect(try decoder.probe(data) == expected)
        #expect(try decoder.probe(Fixture("offset.gif").data())?.hasAlpha == true)
        #expect(throws: WebImageError.self) { try decoder.probe(Data(repeating: 0x47, count: 20)) }
    }
}
