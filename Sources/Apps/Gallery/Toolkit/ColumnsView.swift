import CWebImageGTK
import GTKObjects
import WebImageGTK

/// Children in as many columns of the same width as fit, each row as high as its highest child.
///
/// A `GtkFlowBox` looks the same, but Tab enters only one of its children.
@MainActor final class ColumnsView: Canvas {
    private let columnLimit: Int
    private static let (columnSpacing, rowSpacing) = (18, 24)

    /// - Parameter columns: the maximum number of columns.
    init(_ children: [ObjectPointer], columns: Int) {
        columnLimit = columns
        super.init()
        for child in children { add(child) }
    }

    override var dependsOnWidth: Bool { true }

    override func measure(_ orientation: GtkOrientation, for length: Int) -> (least: Int, natural: Int) {
        guard orientation == GTK_ORIENTATION_HORIZONTAL else {
            let heights = rowHeights(width: length < 0 ? measure(GTK_ORIENTATION_HORIZONTAL, for: -1).natural : length)
            let height = heights.reduce(0, +) + Self.rowSpacing * max(0, heights.count - 1)
            return (height, height)
        }
        let widths = children.map { Self.length(of: $0, GTK_ORIENTATION_HORIZONTAL, for: -1) }
        let count = min(columnLimit, children.count)
        let natural = (widths.map(\.natural).max() ?? 0) * count + Self.columnSpacing * max(0, count - 1)
        return (widths.map(\.least).max() ?? 0, natural)
    }

    override func layOut(width: Int, height: Int) {
        let (count, columnWidth) = columns(in: width)
        var y = 0
        for (row, rowHeight) in rowHeights(width: width).enumerated() {
            for (column, child) in children.dropFirst(row * count).prefix(count).enumerated() {
                let start = column * (columnWidth + Self.columnSpacing)
                let x = isRightToLeft ? width - start - columnWidth : start
                place(child, x: Double(x), y: Double(y), width: columnWidth, height: rowHeight)
            }
            y += rowHeight + Self.rowSpacing
        }
    }

    /// How many columns fit, and how wide they are: as many as have their natural width, and one at least.
    private func columns(in width: Int) -> (count: Int, width: Int) {
        let natural = children.map { Self.length(of: $0, GTK_ORIENTATION_HORIZONTAL, for: -1).natural }.max() ?? 1
        let fitting = (width + Self.columnSpacing) / (max(1, natural) + Self.columnSpacing)
        let count = max(1, min(fitting, columnLimit, max(1, children.count)))
        return (count, (width - Self.columnSpacing * (count - 1)) / count)
    }

    private func rowHeights(width: Int) -> [Int] {
        let (count, columnWidth) = columns(in: width)
        return stride(from: 0, to: children.count, by: count).map { start in
            children.dropFirst(start).prefix(count)
                .map { Self.length(of: $0, GTK_ORIENTATION_VERTICAL, for: columnWidth).natural }.max() ?? 0
        }
    }

    private static func length(
        of child: ObjectPointer, _ orientation: GtkOrientation, for length: Int
    ) -> (least: Int, natural: Int) {
        var (least, natural): (gint, gint) = (0, 0)
        gtk_widget_measure(child.widget, orientation, gint(length), &least, &natural, nil, nil)
        return (Int(least), Int(natural))
    }
}
