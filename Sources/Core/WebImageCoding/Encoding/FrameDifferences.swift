internal import CWebImageKernels
internal import Glibc
internal import WebImageCore

/// Finds what has to be stored of each frame, given the previous one.
///
///     frame 0 ───────▶ patch 0: all of it
///     frame 1 ─ differs in ▢ ─▶ patch 1: ▢ on frame 0, or on frame 0 with its own rectangle cleared
///     …
///
/// The disposal of a patch depends on the next frame, so each patch is returned one frame late. At most three frames
/// are held.
struct FrameDifferences {
    private let canErase: Bool
    private let startsAtEvenPixels: Bool
    private let isWhole: Bool
    private let cancellation: Cancellation?
    private var pending: FramePatch?

    /// - Parameters:
    ///   - canErase: whether a patch can make pixels transparent; otherwise the previous patch's disposal has to.
    ///   - startsAtEvenPixels: whether areas can only start at even columns and rows.
    init(canErase: Bool, startsAtEvenPixels: Bool = false, options: EncodingOptions) {
        self.canErase = canErase
        self.startsAtEvenPixels = startsAtEvenPixels
        isWhole = options.framing == .whole
        cancellation = options.cancellation
    }

    /// Takes the next frame and returns the patch of the previous one; `nil` for the first.
    mutating func append(_ frame: PixelBuffer) throws(WebImageError) -> FramePatch? {
        guard var last = pending else {
            pending = FramePatch(area: PixelArea(frame.size), frame: frame, ground: nil)
            return nil
        }
        if isWhole {
            // If the frame cannot erase, the previous one is cleared first.
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
        // A frame has at least one pixel.
        if next.area.isEmpty { next.area = PixelArea(columns: 0..<1, rows: 0..<1) }
        pending = next
        return last
    }

    /// The unchanged share of the next patch's area, 0 to 1.
    func unchangedShare() throws(WebImageError) -> Double {
        try pending?.unchangedShare(cancellation: cancellation) ?? 0
    }

    /// Returns the last patch, after the last frame.
    mutating func finish() -> FramePatch? {
        defer { pending = nil }
        return pending
    }

    private typealias RowComparison = (
        UnsafePointer<UInt8>?, UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<Int>?, UnsafeMutablePointer<Int>?
    ) -> Bool

    /// Returns the bounding box of all pixels that a comparison of rows finds.
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

/// The part of a frame that a file stores.
struct FramePatch {
    var area: PixelArea
    /// The whole frame.
    let frame: PixelBuffer
    /// The canvas before the patch is drawn; `nil` if it does not matter.
    let ground: PixelBuffer?
    /// Whether the area is kept or cleared before the next patch is drawn.
    var disposal = FramePart.Disposal.keep

    /// Returns the pixels of the area and how to draw them: if possible and shorter, only those that change, blended
    /// over the others.
    ///
    /// - Parameter mayBlend: whether unchanged pixels may be transparent.
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

    /// The unchanged share of the area, 0 to 1, which ``pixels(mayBlend:cancellation:)`` could leave out.
    func unchangedShare(cancellation: Cancellation?) throws(WebImageError) -> Double {
        guard let count = try changesAndCount(cancellation: cancellation)?.unchangedCount else { return 0 }
        return Double(count) / Double(area.pixelCount)
    }

    /// Returns the area with unchanged pixels transparent; `nil` if there is no canvas to keep, or if blending cannot
    /// give the frame.
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

    /// The unchanged share from which leaving it out makes a file shorter: the edge around a hole has a cost.
    static let worthwhileShare = 0.25
}

struct PixelArea: Sendable, Equatable {
    var columns: Range<Int>
    var rows: Range<Int>

    init(columns: Range<Int>, rows: Range<Int>) {
        self.columns = columns
        self.rows = rows
    }

    init(_ size: PixelSize) { self.init(columns: 0..<size.width, rows: 0..<size.height) }

    var isEmpty: Bool { columns.isEmpty || rows.isEmpty }
    var size: PixelSize { PixelSize(width: columns.count, height: rows.count) }
    var pixelCount: Int { size.pixelCount }

    /// The bounding box of both.
    func union(_ other: PixelArea) -> PixelArea {
        if isEmpty { return other }
        if other.isEmpty { return self }
        return PixelArea(
            columns: min(
                columns.lowerBound, other.columns.lowerBound)..<max(
                    columns.upperBound, other.columns.upperBound),
            rows: min(rows.lowerBound, other.rows.lowerBound)..<max(rows.upperBound, other.rows.upperBound))
    }

    /// The area, extended left and up to even numbers.
    var startingAtEvenPixels: PixelArea {
        PixelArea(
            columns: columns.lowerBound & ~1..<columns.upperBound, rows: rows.lowerBound & ~1..<rows.upperBound)
    }
}

extension PixelBuffer {
    /// The address of a row of an area, counted from the area's top.
    func address(of area: PixelArea, row: Int) -> UnsafePointer<UInt8> {
        self.row(area.rows.lowerBound + row) + area.columns.lowerBound * 4
    }

    /// Returns a copy of an area within this image.
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

    /// Returns a copy with an area within this image transparent.
    func cleared(_ area: PixelArea, cancellation: Cancellation?) throws(WebImageError) -> PixelBuffer {
        var shared: PixelBuffer? = self
        guard var output = try MutablePixelBuffer(thawing: &shared) else { return self }
        let part = FramePart(
            left: area.columns.lowerBound, top: area.rows.lowerBound, size: area.size, duration: .zero,
            blend: .source, disposal: .keep, isOpaque: false)
        if !area.isEmpty { try output.clear(part, cancellation: cancellation) }
        return output.freeze(isOpaque: false)
    }
}
