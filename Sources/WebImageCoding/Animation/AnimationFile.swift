internal import WebImageCore

/// An animation as a file has it: pieces of pictures, and rules for putting them together. One type a format conforms;
/// ``ComposedAnimation`` puts them together for all.
protocol AnimationFile: Sendable {
    var format: ImageFormat { get }
    /// The size that all frames share, as stored.
    var canvasSize: PixelSize { get }
    /// How the canvas is turned.
    var orientation: ImageOrientation { get }
    /// In their order; each lies on the canvas: what a file has outside is cut off, at the worst to nothing.
    var parts: [FramePart] { get }
    /// How often it plays; 0 for ever.
    var loopCount: Int { get }
    /// Whether the file has no more frames than these.
    var isComplete: Bool { get }
    /// Of the file, in memory.
    var byteCount: Int { get }

    /// What decoding a part of `size` takes besides its pixels, in bytes.
    func workingByteCount(of size: PixelSize) -> Int

    /// The part's own pixels: as large as its rectangle, premultiplied, not yet turned.
    func pixels(ofPart index: Int, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer
}

/// One frame of a file: the rectangle that it changes, and what becomes of it.
struct FramePart: Sendable, Hashable {
    /// On the canvas as stored.
    var left: Int
    var top: Int
    var size: PixelSize
    /// In seconds, already as it is to be played.
    var duration: Double
    var blend: Blend
    var disposal: Disposal
    /// Whether no pixel of it can be transparent.
    var isOpaque: Bool

    /// How its pixels meet those that are there.
    enum Blend: Sendable {
        /// They lie over them.
        case over
        /// They take their place.
        case source
    }

    /// What its rectangle shows when the next frame is drawn.
    enum Disposal: Sendable {
        /// What it shows.
        case keep
        /// Nothing: transparent black.
        case clear
        /// What it showed before.
        case restore
    }
}

extension FramePart {
    /// Whether it touches every pixel of a canvas of `canvasSize`.
    func covers(_ canvasSize: PixelSize) -> Bool { left == 0 && top == 0 && size == canvasSize }

    /// Whether it shows the same on any canvas of `canvasSize`, whatever is there.
    func replaces(_ canvasSize: PixelSize) -> Bool { covers(canvasSize) && (blend == .source || isOpaque) }

    /// Whether it changes nothing: its rectangle lies outside the canvas, and what is left inside has no pixels.
    var isEmpty: Bool { size.width <= 0 || size.height <= 0 }

    /// Whether all of it lies on a canvas of `canvasSize`.
    func lies(inside canvasSize: PixelSize) -> Bool {
        left >= 0 && top >= 0 && left <= canvasSize.width - size.width && top <= canvasSize.height - size.height
    }
}

/// For each frame, the part with which composing has to begin to get it.
///
/// A frame needs those before it, back to one that replaces all of the canvas, or that finds the canvas clear. A frame
/// with ``FramePart/Disposal/restore`` leaves no trace, so those behind it need what it needed, even if it replaces
/// everything itself:
///
///     part            0 keep     1 replaces, restore     2 over     3 replaces, clear     4 over
///     begin with      0          1                       0          3                     4
struct ReplayStarts: Sendable {
    private let starts: [Int]

    init(of parts: [FramePart], on canvasSize: PixelSize) {
        var starts: [Int] = []
        starts.reserveCapacity(parts.count)
        // What is on the canvas before a part is drawn: who began it, and the box outside which it is clear.
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

    /// A rectangle that grows.
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

        /// Whether the part's rectangle holds all of it.
        func isInside(_ part: FramePart) -> Bool {
            isEmpty
                || part.left <= columns.lowerBound && part.left + part.size.width >= columns.upperBound
                    && part.top <= rows.lowerBound && part.top + part.size.height >= rows.upperBound
        }
    }
}

/// How long browsers show a frame of an animation.
package enum FrameDuration {
    /// The seconds a frame is shown that asks for `seconds`: 10 ms and less mean 100 ms, as in every browser, because
    /// many old files ask for 0 and expect what their time's programs made of it.
    package static func played(_ seconds: Double) -> Double { seconds <= 0.01 ? 0.1 : seconds }
}
