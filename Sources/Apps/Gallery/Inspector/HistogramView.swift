import CWebImageGTK
import Dispatch
import FoundationEssentials
import GTKObjects
import WebImageGTK

/// The histogram of an image: three channels, and the luminance as a line of text color.
@MainActor final class HistogramView {
    let widget: ObjectPointer
    private let session: GallerySession
    private let chart = HistogramChart()
    private let text = ObjectPointer.label("", "caption", "dim-label")
    /// The pixels that were counted last, or are being counted.
    private var pixels: PixelBuffer?
    private var counting: Task<Void, Never>?
    private(set) var histogram: Histogram?

    private static let queue = DispatchQueue(label: "gallery-histogram", qos: .utility)

    init(session: GallerySession) {
        self.session = session
        widget = .column(spacing: 6, [.label(localized("Histogram"), "heading"), chart.widget, text])
        widget.isVisible = false
    }

    /// Counts the pixels that memory has of an image, which are those on screen; `nil` for none. Another load would be the newest one in the
    /// inspector.
    func show(_ url: URL?) {
        let image = url.flatMap { session.manager.cachedVariant(of: WebImageRequest($0).forOwnFiles) }
        guard image?.pixels !== pixels || image == nil else { return }
        pixels = image?.pixels
        counting?.cancel()
        guard let pixels else { return present(nil) }
        counting = Task { [weak self] in
            let histogram = await Self.queue.run { _ in Histogram(of: pixels) }
            guard !Task.isCancelled, let self else { return }
            present(histogram)
        }
    }

    /// Ends the counting: the widget is off screen, and may go.
    func stop() {
        counting?.cancel()
        pixels = nil
    }

    private func present(_ histogram: Histogram?) {
        self.histogram = histogram
        chart.histogram = histogram
        text.text = histogram?.text ?? ""
        chart.widget.setAccessibleLabel(histogram.map { localized("Histogram. {text}", ["text": $0.text]) })
        widget.isVisible = histogram != nil
    }
}

/// The curves.
@MainActor private final class HistogramChart: Canvas {
    var histogram: Histogram? { didSet { if histogram != oldValue { queueDraw() } } }

    init() {
        super.init(role: GTK_ACCESSIBLE_ROLE_IMG)
        widget.expanding(vertically: false)
    }

    override func measure(_ orientation: GtkOrientation, for length: Int) -> (least: Int, natural: Int) {
        orientation == GTK_ORIENTATION_VERTICAL ? (96, 96) : (128, 256)
    }

    override func draw(into snapshot: OpaquePointer) {
        guard let histogram else { return }
        fill(0, 0, Double(width), Double(height), dimTextColor(0.08), radius: 6, in: snapshot)
        draw(histogram.heights(of: .luminance), dimTextColor(0.35), in: snapshot)
        for (channel, shade) in [(Histogram.Channel.red, ChartColor.red), (.green, .green), (.blue, .blue)] {
            draw(histogram.heights(of: channel), color(shade, alpha: 0.45), in: snapshot)
        }
    }

    /// Draws bars as wide as fit, each as high as the highest brightness in it.
    private func draw(_ heights: [Double], _ color: GdkRGBA, in snapshot: OpaquePointer) {
        let count = max(1, min(256, width / 2))
        let barWidth = Double(width) / Double(count)
        for bar in 0..<count {
            let values = heights[bar * 256 / count..<max(bar * 256 / count + 1, (bar + 1) * 256 / count)]
            let barHeight = (values.max() ?? 0) * Double(height)
            fill(Double(bar) * barWidth, Double(height) - barHeight, barWidth, barHeight, color, in: snapshot)
        }
    }
}
