import CWebImageGTK
import GTKObjects
import WebImageGTK

/// A chart that is an image for assistive technologies, with a text that has its values.
@MainActor class Chart: Canvas {
    private let chartHeight: Int

    init(height: Int) {
        chartHeight = height
        super.init(role: GTK_ACCESSIBLE_ROLE_IMG)
        widget.style("caption").style("numeric").expanding(vertically: false)
    }

    /// Sets the text with the values, which is also the tooltip.
    func describe(_ text: String) {
        guard gtk_widget_get_tooltip_text(widget.widget).map({ String(cString: $0) }) != text else { return }
        widget.named(text)
    }

    override func measure(_ orientation: GtkOrientation, for length: Int) -> (least: Int, natural: Int) {
        orientation == GTK_ORIENTATION_HORIZONTAL ? (120, 300) : (chartHeight, chartHeight)
    }
}

/// Columns with the share of each source, from the oldest loads to the newest.
@MainActor final class ShareChart: Chart {
    private var steps: [LoadStatistics.Counts] = []

    init() { super.init(height: 96) }

    func show(_ steps: [LoadStatistics.Counts]) {
        guard steps != self.steps else { return }
        self.steps = steps
        queueDraw()
    }

    override func draw(into snapshot: OpaquePointer) {
        let (width, height) = (Double(width), Double(height))
        fill(0, 0, width, height, dimTextColor(0.08), radius: 4, in: snapshot)
        guard !steps.isEmpty else { return }
        let stepWidth = width / Double(steps.count)
        for (index, counts) in steps.enumerated() {
            let total = Double(counts.values.reduce(0, +))
            var bottom = height
            for source in LoadSource.allCases {
                let share = Double(counts[source, default: 0]) / total * height
                let gap = stepWidth > 4 ? 1.0 : 0
                fill(
                    Double(index) * stepWidth, bottom - share, stepWidth - gap, share, color(source.color), in: snapshot
                )
                bottom -= share
            }
        }
    }
}

extension LoadSource {
    var color: ChartColor {
        switch self {
        case .memory: .green
        case .disk: .yellow
        case .network: .blue
        case .file: .purple
        case .failed: .red
        }
    }

    var title: String {
        switch self {
        case .memory: localized("Memory")
        case .disk: localized("Disk cache")
        case .network: localized("Network")
        case .file: localized("Files")
        case .failed: localized("Failed")
        }
    }
}

/// Lines of numbers over time, with the largest at the top.
@MainActor final class LineChart: Chart {
    struct Line: Equatable {
        let color: ChartColor
        let values: [Double]
    }

    private var lines: [Line] = []
    /// The text of a value at the edge.
    private let format: (Double) -> String

    init(format: @escaping (Double) -> String) {
        self.format = format
        super.init(height: 96)
    }

    func show(_ lines: [Line]) {
        guard lines != self.lines else { return }
        self.lines = lines
        queueDraw()
    }

    override func draw(into snapshot: OpaquePointer) {
        let (width, height) = (Double(width), Double(height))
        fill(0, 0, width, height, dimTextColor(0.08), radius: 4, in: snapshot)
        guard let highest = lines.flatMap(\.values).max(), highest > 0 else { return }
        let (top, bottom) = (lineHeight + 6, height - 4)
        fill(0, top, width, 1, dimTextColor(0.2), in: snapshot)
        for line in lines { draw(line, highest: highest, top: top, bottom: bottom, into: snapshot) }
        drawText(format(highest), x: 6, y: 2, dimTextColor(0.8), in: snapshot)
    }

    /// Draws steps: a value counts until the next.
    private func draw(_ line: Line, highest: Double, top: Double, bottom: Double, into snapshot: OpaquePointer) {
        guard !line.values.isEmpty else { return }
        let step = Double(width) / Double(line.values.count)
        let (color, area) = (color(line.color), color(line.color, alpha: 0.15))
        let height = { (value: Double) in bottom - value / highest * (bottom - top) }
        var former = bottom
        for (index, value) in line.values.enumerated() {
            let (x, y) = (Double(index) * step, height(value))
            fill(x, y, step, bottom - y, area, in: snapshot)
            if y != former { fill(x, min(y, former) - 1, 2, abs(y - former) + 2, color, in: snapshot) }
            fill(x, y - 1, step, 2, color, in: snapshot)
            former = y
        }
    }
}

/// A bar, with a lighter one behind it.
@MainActor final class BarChart: Chart {
    private let barColor: ChartColor
    /// From 0 to 1.
    private var fraction = 0.0, lightFraction = 0.0

    init(_ color: ChartColor) {
        barColor = color
        super.init(height: 10)
    }

    func show(_ fraction: Double, light: Double = 0) {
        guard (fraction, light) != (self.fraction, lightFraction) else { return }
        (self.fraction, lightFraction) = (fraction, light)
        queueDraw()
    }

    override func draw(into snapshot: OpaquePointer) {
        let (width, height) = (Double(width), Double(height))
        fill(0, 0, width, height, dimTextColor(0.12), radius: 5, in: snapshot)
        for (fraction, alpha) in [(lightFraction, Float(0.35)), (fraction, 1)] where fraction > 0 {
            fill(
                0, 0, max(height, min(1, fraction) * width), height, color(barColor, alpha: alpha), radius: 5,
                in: snapshot)
        }
    }
}

/// A square that shows the color of a line or share.
@MainActor final class ColorSwatch: Canvas {
    private let swatchColor: ChartColor

    init(_ color: ChartColor) {
        swatchColor = color
        super.init(role: GTK_ACCESSIBLE_ROLE_PRESENTATION)
        widget.aligned(nil, GTK_ALIGN_CENTER)
    }

    override func measure(_ orientation: GtkOrientation, for length: Int) -> (least: Int, natural: Int) { (12, 12) }

    override func draw(into snapshot: OpaquePointer) {
        fill(0, 0, 12, 12, color(swatchColor), radius: 3, in: snapshot)
    }
}
