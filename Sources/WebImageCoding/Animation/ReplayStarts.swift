internal import WebImageCore

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
