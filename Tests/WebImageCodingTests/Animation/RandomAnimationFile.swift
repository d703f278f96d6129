import WebImageCore
import WebImageTestSupport

@testable import WebImageCoding

/// An animation of random rectangles, blends and disposals, which counts how often its parts are decoded.
final class RandomAnimationFile: AnimationFile {
    let format = ImageFormat.gif
    let canvasSize: PixelSize
    let orientation: ImageOrientation
    let parts: [FramePart]
    let pieces: [Pixels]
    /// Parts that can't be decoded.
    let damaged: Set<Int>
    let loopCount = 0
    let isComplete = true
    let byteCount = 1000
    private let decodedParts = Lock<[Int]>([])

    init(canvasSize: PixelSize, parts: [FramePart], pieces: [Pixels], damaged: Set<Int> = []) {
        self.canvasSize = canvasSize
        orientation = .up
        self.parts = parts
        self.pieces = pieces
        self.damaged = damaged
    }

    /// - Parameter canvasSize: at most 9×9, whatever chance gives, unless named.
    init(
        seed: UInt64, partCount: Int, damagedCount: Int = 0, canvasSize: PixelSize? = nil,
        orientation: ImageOrientation = .up
    ) {
        var generator = SplitMix64(seed: seed)
        let canvasSize =
            canvasSize
            ?? PixelSize(
                width: Int.random(in: 1...9, using: &generator), height: Int.random(in: 1...9, using: &generator))
        self.canvasSize = canvasSize
        self.orientation = orientation
        var parts: [FramePart] = []
        var pieces: [Pixels] = []
        for _ in 0..<partCount {
            let isFull = Int.random(in: 0..<3, using: &generator) == 0
            let left = isFull ? 0 : Int.random(in: 0..<canvasSize.width, using: &generator)
            let top = isFull ? 0 : Int.random(in: 0..<canvasSize.height, using: &generator)
            // An empty one now and then.
            let isEmpty = Int.random(in: 0..<12, using: &generator) == 0
            let size = PixelSize(
                width: isFull ? canvasSize.width : Int.random(in: 1...canvasSize.width - left, using: &generator),
                height: isFull
                    ? canvasSize.height : isEmpty ? 0 : Int.random(in: 1...canvasSize.height - top, using: &generator))
            let isOpaque = Bool.random(using: &generator)
            parts.append(
                FramePart(
                    left: left, top: top, size: size, duration: 0.1,
                    blend: Bool.random(using: &generator) ? .over : .source,
                    disposal: [.keep, .clear, .restore].randomElement(using: &generator) ?? .keep, isOpaque: isOpaque))
            pieces.append(Self.noise(of: size, isOpaque: isOpaque, using: &generator))
        }
        self.parts = parts
        self.pieces = pieces
        damaged = Set((0..<damagedCount).map { _ in Int.random(in: 0..<partCount, using: &generator) })
    }

    /// The numbers of the parts decoded so far, in that order.
    var decoded: [Int] { decodedParts.withLock { $0 } }

    func workingByteCount(of size: PixelSize) -> Int { 0 }

    func pixels(ofPart index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        decodedParts.withLock { $0.append(index) }
        guard !damaged.contains(index) else { throw .decoding(format: format, reason: .corrupt("part \(index)")) }
        let piece = pieces[index]
        var pixels = try MutablePixelBuffer(width: piece.size.width, height: piece.size.height)
        pixels.withUnsafeMutableBytes { $0.copyBytes(from: piece.bytes) }
        return pixels.freeze(isOpaque: parts[index].isOpaque)
    }

    /// Clear, opaque and half transparent pixels, premultiplied.
    private static func noise(of size: PixelSize, isOpaque: Bool, using generator: inout SplitMix64) -> Pixels {
        var bytes: [UInt8] = []
        for _ in 0..<size.pixelCount {
            let some = UInt8.random(in: 1...254, using: &generator)
            let choices: [UInt8] = isOpaque ? [255] : [0, 255, some]
            let alpha = choices.randomElement(using: &generator) ?? 0
            for _ in 0..<3 { bytes.append(UInt8.random(in: 0...alpha, using: &generator)) }
            bytes.append(alpha)
        }
        return Pixels(size: size, bytes: bytes)
    }
}

extension RandomAnimationFile {
    /// A frame as the format's rules say, pixel by pixel, beginning with the first part; `nil` for a damaged one.
    func naiveFrame(at index: Int) -> Pixels? {
        guard !damaged.contains(index) || parts[index].isEmpty else { return nil }
        var canvas = Pixels(size: canvasSize, bytes: [UInt8](repeating: 0, count: canvasSize.pixelCount * 4))
        for number in 0...index {
            let before = canvas
            draw(number, on: &canvas)
            if number == index { break }
            switch parts[number].disposal {
            case .keep: break
            case .restore: canvas = before
            case .clear:
                forEachPixel(of: number) { place, _ in
                    for channel in 0..<4 { canvas.bytes[place + channel] = 0 }
                }
            }
        }
        return canvas
    }

    private func draw(_ number: Int, on canvas: inout Pixels) {
        let part = parts[number]
        guard !damaged.contains(number) else {
            let isFull = part.left == 0 && part.top == 0 && part.size == canvasSize
            if isFull, part.blend == .source || part.isOpaque {
                canvas.bytes = [UInt8](repeating: 0, count: canvas.bytes.count)
            }
            return
        }
        forEachPixel(of: number) { place, source in
            let alpha = Double(pieces[number].bytes[source + 3])
            for channel in 0..<4 {
                let above = pieces[number].bytes[source + channel]
                let below = Double(canvas.bytes[place + channel])
                let left = part.blend == .over ? UInt8((below * (255 - alpha) / 255).rounded()) : 0
                canvas.bytes[place + channel] = above + left
            }
        }
    }

    private func forEachPixel(of number: Int, _ body: (_ place: Int, _ source: Int) -> Void) {
        let part = parts[number]
        for y in 0..<part.size.height {
            for x in 0..<part.size.width {
                body(((part.top + y) * canvasSize.width + part.left + x) * 4, (y * part.size.width + x) * 4)
            }
        }
    }
}
