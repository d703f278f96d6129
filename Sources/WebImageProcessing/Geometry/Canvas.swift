internal import CWebImageKernels
internal import WebImageCoding
internal import WebImageCore

/// What a picture is drawn on: a colour or another picture, from the left top corner on.
enum Canvas {
    case color(Color, PixelSize)
    case picture(PixelBuffer)

    var size: PixelSize {
        switch self {
        case .color(_, let size): size
        case .picture(let pixels): pixels.size
        }
    }

    /// Draws a picture of whole pixels, cut where it sticks out.
    ///
    /// - Parameters:
    ///   - x: pixels left of it.
    ///   - y: pixels above it.
    ///   - coverage: how much of its columns and rows is seen; all if there is none.
    ///   - replacesBackground: whether nothing of the canvas is seen through it.
    /// - Throws: ``WebImageError/invalidSize(width:height:)``, ``WebImageError/outOfMemory(byteCount:)``,
    ///   ``WebImageError/cancelled``.
    func drawing(
        _ picture: PixelBuffer?, x: Int = 0, y: Int = 0, coverage: EdgeCoverage? = nil,
        replacesBackground: Bool = false, cancellation: Cancellation?
    ) throws(WebImageError) -> PixelBuffer {
        let size = size
        var output = try MutablePixelBuffer(width: size.width, height: size.height)
        let stride = output.bytesPerRow
        let area = PixelRect(x: x, y: y, width: picture?.width ?? 0, height: picture?.height ?? 0).clamped(to: size)
        let hidesBackground = replacesBackground || picture?.isOpaque == true && coverage?.isFull ?? true
        let picturesOpacity = picture?.isOpaque ?? true
        try output.fillBands(cancellation: cancellation) { rows, destination in
            for row in rows {
                let line = destination + (row - rows.lowerBound) * stride
                fillRow(row, line)
                guard let picture, let area, row >= area.y, row < area.y + area.height else { continue }
                let source = picture.row(row - y) + (area.x - x) * 4
                if hidesBackground {
                    (line + area.x * 4).update(from: source, count: area.width * 4)
                } else if let coverage {
                    coverage.mask(ofRow: row - y).withUnsafeBufferPointer { mask in
                        guard let mask = mask.baseAddress else { return }
                        cwi_blend_over_masked(source, mask + (area.x - x), line + area.x * 4, area.width)
                    }
                } else {
                    cwi_blend_over(source, line + area.x * 4, area.width)
                }
            }
        }
        return output.freeze(
            isOpaque: isOpaque && (picturesOpacity || !replacesBackground)
                || picturesOpacity && hidesBackground && area?.size == size)
    }

    private var isOpaque: Bool {
        switch self {
        case .color(let color, _): color.premultipliedPixel >> 24 == 255
        case .picture(let pixels): pixels.isOpaque
        }
    }

    private func fillRow(_ row: Int, _ destination: UnsafeMutablePointer<UInt8>) {
        switch self {
        case .color(let color, let size):
            cwi_fill(color.premultipliedPixel, destination, size.width)
        case .picture(let pixels):
            destination.update(from: pixels.row(row), count: pixels.width * 4)
        }
    }
}

/// How much of the columns and rows of a picture is seen, 0 to 1: less than all of those in which an edge lies.
struct EdgeCoverage: Sendable {
    let columns: [Double]
    let rows: [Double]
    /// The mask of rows that are seen whole.
    private let wholeRow: [UInt8]

    init(columns: [Double], rows: [Double]) {
        self.columns = columns
        self.rows = rows
        wholeRow = Self.mask(of: columns, share: 1)
    }

    var isFull: Bool { columns.allSatisfy { $0 == 1 } && rows.allSatisfy { $0 == 1 } }

    /// A row's mask.
    func mask(ofRow row: Int) -> [UInt8] {
        rows[row] == 1 ? wholeRow : Self.mask(of: columns, share: rows[row])
    }

    private static func mask(of columns: [Double], share: Double) -> [UInt8] {
        columns.map { UInt8(($0 * share * 255).rounded()) }
    }
}
