import WebImageCore

@testable import WebImageAnimation

/// An animation whose frames tell their numbers, and whose readers count what they do. As with a GIF, a frame needs those
/// before it, back to a keyframe.
final class NumberedSource: AnimationSource {
    let identity: AnimationIdentity
    let frameSize: PixelSize
    let frames: [AnimationFrame]
    let loopCount: Int
    let isComplete: Bool
    let byteCount = 100
    /// Frames that can't be decoded.
    let damaged: [Int: WebImageError]
    let log: Log
    /// For each frame, the one with which composing begins.
    private let starts: [Int]

    /// What all readers did; versions of one animation share it.
    final class Log: Sendable {
        private let state = Lock((composed: [Int](), asked: [Int](), readerCount: 0))

        /// The frames whose parts were drawn, in that order.
        var composed: [Int] { state.withLock { $0.composed } }
        /// The frames that were asked for, in that order.
        var asked: [Int] { state.withLock { $0.asked } }
        var readerCount: Int { state.withLock { $0.readerCount } }

        func ask(_ index: Int) { state.withLock { $0.asked.append(index) } }
        func compose(_ index: Int) { state.withLock { $0.composed.append(index) } }
        func countReader() { state.withLock { $0.readerCount += 1 } }
    }

    init(
        _ frameCount: Int, durations: [Double]? = nil, keyframes: Set<Int> = [0], loopCount: Int = 0,
        isComplete: Bool = true, damaged: [Int: WebImageError] = [:],
        frameSize: PixelSize = PixelSize(width: 4, height: 4), versionOf other: NumberedSource? = nil
    ) {
        identity = other?.identity ?? AnimationIdentity()
        log = other?.log ?? Log()
        self.frameSize = frameSize
        self.loopCount = loopCount
        self.isComplete = isComplete
        self.damaged = damaged
        var start = 0
        starts = (0..<frameCount).map { index in
            if keyframes.contains(index) { start = index }
            return start
        }
        frames = (0..<frameCount).map { index in
            AnimationFrame(duration: durations?[index] ?? 0.1, isKeyframe: keyframes.contains(index))
        }
    }

    static let frameByteCount = 4 * 4 * 4

    func makeFrameReader() -> any AnimationFrameReader {
        log.countReader()
        return Reader(self)
    }

    /// The number in a frame's pixels.
    static func number(of pixels: PixelBuffer) -> Int {
        let pixel = pixels[0, 0]
        return Int(pixel[0]) | Int(pixel[1]) << 8 | Int(pixel[2]) << 16
    }

    private final class Reader: AnimationFrameReader {
        private var source: NumberedSource
        private var next = 0

        init(_ source: NumberedSource) { self.source = source }

        func goOn(with source: any AnimationSource) -> Bool {
            guard let longer = source as? NumberedSource, longer.identity == self.source.identity else { return false }
            self.source = longer
            return true
        }

        func frame(at index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
            precondition(source.frames.indices.contains(index), "there is no frame \(index)")
            source.log.ask(index)
            try cancellation?.check()
            let start = source.starts[index]
            if next > index || next < start { next = start }
            while next <= index {
                source.log.compose(next)
                next += 1
            }
            if let error = source.damaged[index] { throw error }
            return try Self.picture(index, size: source.frameSize)
        }

        private static func picture(_ index: Int, size: PixelSize) throws(WebImageError) -> PixelBuffer {
            var pixels = try MutablePixelBuffer(width: size.width, height: size.height)
            pixels.withUnsafeMutableBytes { bytes in
                for place in stride(from: 0, to: bytes.count, by: 4) {
                    bytes[place] = UInt8(truncatingIfNeeded: index)
                    bytes[place + 1] = UInt8(truncatingIfNeeded: index >> 8)
                    bytes[place + 2] = UInt8(truncatingIfNeeded: index >> 16)
                    bytes[place + 3] = 255
                }
            }
            return pixels.freeze(isOpaque: true)
        }
    }
}
