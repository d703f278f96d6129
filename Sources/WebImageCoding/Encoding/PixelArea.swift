internal import Glibc
internal import WebImageCore

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
