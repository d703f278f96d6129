import CodingTestSupport
import Foundation
import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// An animation with known pixels, to encode.
struct PixelAnimation {
    var frames: [Pixels]
    var durations: [Double]
    var loopCount = 0

    /// Frames that differ from the previous one in a rectangle, in single pixels, by becoming transparent, or not at
    /// all.
    ///
    /// - Parameters:
    ///   - alphas: the alphas of pixels.
    ///   - colorCount: the maximum number of colors; `nil` for any.
    init(seed: UInt64, frameCount: Int, alphas: [UInt8] = [0, 1, 90, 200, 255], colorCount: Int? = nil) {
        var generator = SplitMix64(seed: seed)
        let size = PixelSize(
            width: Int.random(in: 1...24, using: &generator), height: Int.random(in: 1...24, using: &generator))
        func color() -> [UInt8] {
            let alpha = alphas.randomElement(using: &generator) ?? 255
            return (0..<3).map { _ in UInt8.random(in: 0...alpha, using: &generator) } + [alpha]
        }
        let colors = colorCount.map { count in (0..<count).map { _ in color() } }
        func next() -> [UInt8] { colors?.randomElement(using: &generator) ?? color() }
        var pixels = Pixels(size: size, bytes: (0..<size.pixelCount).flatMap { _ in next() })
        frames = [pixels]
        while frames.count < frameCount {
            let left = Int.random(in: 0..<size.width, using: &generator)
            let top = Int.random(in: 0..<size.height, using: &generator)
            let columns = left..<Int.random(in: left + 1...size.width, using: &generator)
            let rows = top..<Int.random(in: top + 1...size.height, using: &generator)
            let kind = Int.random(in: 0..<6, using: &generator)
            for y in rows {
                for x in columns where kind != 0 && (kind < 4 || Int.random(in: 0..<5, using: &generator) == 0) {
                    let isCleared = kind == 1 && alphas.contains(0)
                    let place = (y * size.width + x) * 4
                    pixels.bytes.replaceSubrange(place..<place + 4, with: isCleared ? [0, 0, 0, 0] : next())
                }
            }
            frames.append(pixels)
        }
        durations = frames.map { _ in Double(Int.random(in: 2...300, using: &generator)) / 100 }
    }

    init(frames: [Pixels], durations: [Double], loopCount: Int = 0) {
        self.frames = frames
        self.durations = durations
        self.loopCount = loopCount
    }

    func encodable() throws -> EncodableAnimation {
        var animation = EncodableAnimation(loopCount: loopCount)
        for (frame, duration) in zip(frames, durations) {
            animation.append(Image(pixels: try frame.buffer(isOpaque: frame.isOpaque)), duration: .seconds(duration))
        }
        return animation
    }

    /// Decodes a file.
    init(reading data: Data) throws {
        let animation = try CodecRegistry().animation(of: data).orThrow()
        let reader = animation.makeFrameReader()
        frames = try animation.frames.indices.map { Pixels(try reader.frame(at: $0, cancellation: nil)) }
        durations = animation.frames.map { $0.duration / .seconds(1) }
        loopCount = animation.loopCount
    }
}

extension Pixels {
    var isOpaque: Bool { stride(from: 3, to: bytes.count, by: 4).allSatisfy { bytes[$0] == 255 } }

    init(_ size: PixelSize, _ color: [UInt8]) {
        self.init(size: size, bytes: (0..<size.pixelCount).flatMap { _ in color })
    }
}

/// An animation was expected.
struct NoAnimation: Error {}

extension Optional where Wrapped == any AnimationSource {
    func orThrow() throws -> any AnimationSource {
        guard let self else { throw NoAnimation() }
        return self
    }
}
