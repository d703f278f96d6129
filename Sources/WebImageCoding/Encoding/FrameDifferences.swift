internal import CWebImageKernels
internal import Glibc
internal import WebImageCore

/// Finds what has to be written of each frame, given the one before.
///
///     frame 0 ───────▶ patch 0: all of it
///     frame 1 ─ differs in ▢ ─▶ patch 1: ▢ on frame 0, or on frame 0 with its own rectangle cleared
///     …
///
/// What becomes of a patch (`disposal`) is known once the next frame is, so each patch comes a frame late. Three pictures
/// are kept at most.
struct FrameDifferences {
    private let canErase: Bool
    private let startsAtEvenPixels: Bool
    private let isWhole: Bool
    private let cancellation: Cancellation?
    private var pending: FramePatch?

    /// - Parameters:
    ///   - canErase: whether a patch can make pixels clear by itself; if not, clearing is left to the disposal of the one
    ///     before.
    ///   - startsAtEvenPixels: whether columns and rows of areas can only begin at even numbers.
    init(canErase: Bool, startsAtEvenPixels: Bool = false, options: EncodingOptions) {
        self.canErase = canErase
        self.startsAtEvenPixels = startsAtEvenPixels
        isWhole = options.framing == .whole
        cancellation = options.cancellation
    }

    /// Takes the next frame and gives the patch of the one before; `nil` at the first.
    mutating func append(_ frame: PixelBuffer) throws(WebImageError) -> FramePatch? {
        guard var last = pending else {
            pending = FramePatch(area: PixelArea(frame.size), frame: frame, ground: nil)
            return nil
        }
        if isWhole {
            // What shows through a picture that can't erase is cleared before.
            if !canErase, !frame.isOpaque { last.disposal = .clear }
            pending = FramePatch(area: PixelArea(frame.size), frame: frame, ground: nil)
            return last
        }
        var next = FramePatch(
            area: try changes(from: last.frame, to: frame, cwi_changed_columns), frame: frame, ground: last.frame)
        if !frame.isOpaque, case let erased = try changes(from: last.frame, to: frame, cwi_cleared_columns),
            !erased.isEmpty
        {
            let cleared = canErase ? last.area : last.area.union(erased)
            let ground = try last.frame.cleared(cleared, cancellation: cancellation)
            let area = try changes(from: ground, to: frame, cwi_changed_columns)
            if !canErase || area.pixelCount + cleared.pixelCount < next.area.pixelCount + last.area.pixelCount {
                last.area = cleared
                last.disposal = .clear
                next = FramePatch(area: area, frame: frame, ground: ground)
            }
        }
        // Every frame has some pixel.
        if next.area.isEmpty { next.area = PixelArea(columns: 0..<1, rows: 0..<1) }
        pending = next
        return last
    }

    /// How much of its area the patch that comes next leaves as it is, 0 to 1.
    func unchangedShare() throws(WebImageError) -> Double {
        try pending?.unchangedShare(cancellation: cancellation) ?? 0
    }

    /// The last patch, after the last frame.
    mutating func finish() -> FramePatch? {
        defer { pending = nil }
        return pending
    }

    private typealias RowComparison = (
        UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<Int>?, UnsafeMutablePointer<Int>?
    ) -> Bool

    /// The box around all pixels that a comparison of rows finds.
    private func changes(
        from before: PixelBuffer, to after: PixelBuffer, _ comparison: RowComparison
    ) throws(WebImageError) -> PixelArea {
        var area = PixelArea(columns: 0..<0, rows: 0..<0)
        let (old, new) = (
            before.baseAddress.assumingMemoryBound(to: UInt8.self),
            after.baseAddress.assumingMemoryBound(to: UInt8.self)
        )
        try after.size.forEachRowBatch(pixelCount: 1 << 20, cancellation: cancellation) { rows in
            for row in rows {
                var (first, end) = (0, 0)
                guard
                    comparison(
                        old + row * before.bytesPerRow, new + row * after.bytesPerRow, after.width, &first, &end)
                else { continue }
                area = area.union(PixelArea(columns: first..<end, rows: row..<row + 1))
            }
        }
        return startsAtEvenPixels ? area.startingAtEvenPixels : area
    }
}

/// What a file gets of a frame.
struct FramePatch {
    var area: PixelArea
    /// All of the frame.
    let frame: PixelBuffer
    /// What the canvas shows before the patch is drawn; `nil` where that does not matter.
    let ground: PixelBuffer?
    /// What becomes of the area before the next patch is drawn: kept or cleared.
    var disposal = FramePart.Disposal.keep

    /// The area's pixels, and how they are to be drawn: where that is possible and pays, only those that change, over the
    /// others.
    ///
    /// - Parameter mayBlend: whether pixels may be clear that are not.
    func pixels(
        mayBlend: Bool, cancellation: Cancellation?
    ) throws(WebImageError) -> (pixels: PixelBuffer, blend: FramePart.Blend) {
        if mayBlend, let (changes, count) = try changesAndCount(cancellation: cancellation),
            Double(count) >= Double(area.pixelCount) * Self.worthwhileShare
        {
            return (changes, .over)
        }
        guard area != PixelArea(frame.size) else { return (frame, .source) }
        return (try frame.cropped(to: area, cancellation: cancellation), .source)
    }

    /// How much of the area stays as it is, 0 to 1, which ``pixels(mayBlend:cancellation:)`` could leave clear.
    func unchangedShare(cancellation: Cancellation?) throws(WebImageError) -> Double {
        guard let count = try changesAndCount(cancellation: cancellation)?.unchangedCount else { return 0 }
        return Double(count) / Double(area.pixelCount)
    }

    /// The area with pixels that stay left clear; `nil` where it does not matter what was there, or where drawing over it
    /// would not give the frame.
    func changes(cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer? {
        try changesAndCount(cancellation: cancellation)?.changes
    }

    private func changesAndCount(
        cancellation: Cancellation?
    ) throws(WebImageError) -> (changes: PixelBuffer, unchangedCount: Int)? {
        guard let ground else { return nil }
        var output = try MutablePixelBuffer(width: area.columns.count, height: area.rows.count)
        let stride = output.bytesPerRow
        var unchangedCount = 0
        var isPossible = true
        try output.withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            guard let destination = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
            try area.size.forEachRowBatch(cancellation: cancellation) { rows in
                for row in rows where isPossible {
                    var count = 0
                    isPossible = cwi_copy_changes(
                        ground.address(of: area, row: row), frame.address(of: area, row: row),
                        destination + row * stride, area.columns.count, &count)
                    unchangedCount += count
                }
            }
        }
        return isPossible ? (output.freeze(isOpaque: false), unchangedCount) : nil
    }

    /// How much must stay for leaving it out to make a file shorter: the edge around a hole costs something too.
    static let worthwhileShare = 0.25
}

/// A rectangle in a picture.
struct PixelArea: Sendable, Hashable {
    var columns: Range<Int>
    var rows: Range<Int>

    init(columns: Range<Int>, rows: Range<Int>) {
        self.columns = columns
        self.rows = rows
    }

    /// All of a picture.
    init(_ size: PixelSize) { self.init(columns: 0..<size.width, rows: 0..<size.height) }

    var isEmpty: Bool { columns.isEmpty || rows.isEmpty }
    var size: PixelSize { PixelSize(width: columns.count, height: rows.count) }
    var pixelCount: Int { size.pixelCount }

    /// The smallest that holds both.
    func union(_ other: PixelArea) -> PixelArea {
        if isEmpty { return other }
        if other.isEmpty { return self }
        return PixelArea(
            columns: min(
                columns.lowerBound, other.columns.lowerBound)..<max(
                    columns.upperBound, other.columns.upperBound),
            rows: min(rows.lowerBound, other.rows.lowerBound)..<max(rows.upperBound, other.rows.upperBound))
    }

    /// The same, grown to the left and to the top until it starts at even numbers.
    var startingAtEvenPixels: PixelArea {
        PixelArea(
            columns: columns.lowerBound & ~1..<columns.upperBound, rows: rows.lowerBound & ~1..<rows.upperBound)
    }
}

extension PixelBuffer {
    /// Where a row of an area begins; `row` counts from the area's top.
    func address(of area: PixelArea, row: Int) -> UnsafePointer<UInt8> {
        self.row(area.rows.lowerBound + row) + area.columns.lowerBound * 4
    }

    /// A copy of the pixels in an area.
    ///
    /// - Precondition: it lies in this picture.
    func cropped(to area: PixelArea, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        var output = try MutablePixelBuffer(width: area.columns.count, height: area.rows.count)
        let stride = output.bytesPerRow
        try output.withUnsafeMutableBytes { (bytes) throws(WebImageError) in
            guard let destination = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
            try area.size.forEachRowBatch(cancellation: cancellation) { rows in
                for row in rows { memcpy(destination + row * stride, address(of: area, row: row), stride) }
            }
        }
        return output.freeze(isOpaque: isOpaque)
    }

    /// A copy in which the pixels of an area are clear.
    ///
    /// - Precondition: it lies in this picture.
    func cleared(_ area: PixelArea, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        var shared: PixelBuffer? = self
        guard var output = try MutablePixelBuffer(thawing: &shared) else { return self }
        let part = FramePart(
            left: area.columns.lowerBound, top: area.rows.lowerBound, size: area.size, duration: 0, blend: .source,
            disposal: .keep, isOpaque: false)
        if !area.isEmpty { try output.clear(part, cancellation: cancellation) }
        return output.freeze(isOpaque: false)
    }
}
