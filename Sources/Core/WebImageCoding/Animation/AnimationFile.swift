internal import WebImageCore

/// The parts of an animation in a file, and how to compose them. Each format has a conforming type;
/// ``ComposedAnimation`` composes the frames of all.
protocol AnimationFile: Sendable {
    var format: ImageFormat { get }
    /// The size of all frames, as stored.
    var canvasSize: PixelSize { get }
    /// The orientation of the canvas.
    var orientation: ImageOrientation { get }
    /// In order; each is within the canvas. What a file has outside is cropped, possibly to nothing.
    var parts: [FramePart] { get }
    /// How often the animation plays; 0 means forever.
    var loopCount: Int { get }
    /// Whether the file has no further frames.
    var isComplete: Bool { get }
    /// The size of the file in memory.
    var byteCount: Int { get }

    /// The memory of decoding a part of `size` besides its pixels, in bytes.
    func workingByteCount(of size: PixelSize) -> Int

    /// Returns the part's pixels: as large as its rectangle, premultiplied, not rotated.
    func pixels(ofPart index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer
}

/// One frame of a file: the rectangle that it changes, and how.
struct FramePart: Sendable, Equatable {
    /// The position on the canvas, as stored.
    var left: Int
    var top: Int
    var size: PixelSize
    /// After the minimum is applied.
    var duration: Duration
    var blend: Blend
    var disposal: Disposal
    /// Whether all its pixels are known to be opaque.
    var isOpaque: Bool

    typealias Blend = AnimationFrame.Blend
    typealias Disposal = AnimationFrame.Disposal
}

extension FramePart {
    func covers(_ canvasSize: PixelSize) -> Bool { left == 0 && top == 0 && size == canvasSize }

    /// Whether the result is the same on any canvas of `canvasSize`.
    func replaces(_ canvasSize: PixelSize) -> Bool { covers(canvasSize) && (blend == .source || isOpaque) }

    /// Whether it is outside the canvas, so that nothing is left after cropping.
    var isEmpty: Bool { size.width <= 0 || size.height <= 0 }

    func lies(inside canvasSize: PixelSize) -> Bool {
        left >= 0 && top >= 0 && left <= canvasSize.width - size.width && top <= canvasSize.height - size.height
    }
}

/// For each frame, the part from which to start composing it.
///
/// A frame depends on the previous ones, back to one that replaces the whole canvas or finds it transparent. A frame
/// with ``FramePart/Disposal/restore`` leaves no trace, so the next frames depend on what it depended on, even if it
/// replaces the canvas:
///
///     part            0 keep     1 replaces, restore     2 over     3 replaces, clear     4 over
///     begin with      0          1                       0          3                     4
struct ReplayStarts: Sendable {
    private let starts: [Int]

    init(of parts: [FramePart], on canvasSize: PixelSize) {
        var starts: [Int] = []
        starts.reserveCapacity(parts.count)
        // The canvas before a part is drawn: where it starts, and the box outside of which it is transparent.
        var start = 0
        var drawn = Box()
        for (index, part) in parts.enumerated() {
            let ownStart = part.replaces(canvasSize) ? index : start
            starts.append(ownStart)
            switch part.disposal {
            case .restore:
                break
            case .keep:
                start = ownStart
                drawn.add(part)
            case .clear:
                start = ownStart
                if drawn.isInside(part) || part.replaces(canvasSize) { drawn = Box() }
            }
            if drawn.isEmpty { start = index + 1 }
        }
        self.starts = starts
    }

    subscript(index: Int) -> Int { starts[index] }

    /// Returns what programs see of the parts.
    func frames(of parts: [FramePart]) -> [AnimationFrame] {
        parts.enumerated().map { index, part in
            AnimationFrame(
                duration: part.duration, isKeyframe: starts[index] == index,
                part: AnimationFrame.Part(
                    rect: PixelRect(x: part.left, y: part.top, width: part.size.width, height: part.size.height),
                    blend: part.blend, disposal: part.disposal))
        }
    }

    private struct Box {
        var columns = 0..<0
        var rows = 0..<0

        var isEmpty: Bool { columns.isEmpty || rows.isEmpty }

        mutating func add(_ part: FramePart) {
            guard !part.isEmpty else { return }
            let (partColumns, partRows) = (
                part.left..<part.left + part.size.width, part.top..<part.top + part.size.height
            )
            guard !isEmpty else {
                (columns, rows) = (partColumns, partRows)
                return
            }
            columns =
                min(columns.lowerBound, partColumns.lowerBound)..<max(columns.upperBound, partColumns.upperBound)
            rows = min(rows.lowerBound, partRows.lowerBound)..<max(rows.upperBound, partRows.upperBound)
        }

        /// Whether the part's rectangle contains the box.
        func isInside(_ part: FramePart) -> Bool {
            isEmpty
                || part.left <= columns.lowerBound && part.left + part.size.width >= columns.upperBound
                    && part.top <= rows.lowerBound && part.top + part.size.height >= rows.upperBound
        }
    }
}

extension [FramePart] {
    /// Returns what programs see of the parts of a file.
    func frames(on canvasSize: PixelSize) -> [AnimationFrame] {
        ReplayStarts(of: self, on: canvasSize).frames(of: self)
    }
}

/// The duration for which browsers show a frame.
package enum FrameDuration {
    /// The duration of a frame that specifies `duration`. As in every browser, 10 ms or less means 100 ms: many old
    /// files specify 0.
    package static func played(_ duration: Duration) -> Duration {
        duration <= .milliseconds(10) ? .milliseconds(100) : duration
    }

    /// The same for a number that a library reads from a file, in whole nanoseconds. It may be any number.
    package static func played(seconds: Double) -> Duration {
        seconds > 0 ? played(.nanoseconds(Int64((min(seconds, longest / .seconds(1)) * 1e9).rounded()))) : played(.zero)
    }

    /// A frame is shown for 30 years at most, so that the sum of all durations is a time.
    package static let longest = Duration.seconds(1_000_000_000)
}
