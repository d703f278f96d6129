import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

/// Charts of what the loads have cost, and what the caches have saved. They change at most twice a second, and only
/// while the page is on screen.
@MainActor final class StatisticsPage {
    let widget = ObjectPointer(gtk_stack_new()).expanding()
    let meter: StatisticsMeter

    private let shares = ShareChart()
    private let shareLegend: [LoadSource: ChartLegend]
    private let hitRate = ObjectPointer.label("", "title-1", "numeric")
    private let hitRateNote = ObjectPointer.label("", "dim-label", "caption")
    private let memory = BarRow(localized("Memory"), .green)
    private let disk = BarRow(localized("Disk"), .yellow)
    private let pixels = BarRow(localized("Pixels on disk"), .orange)
    private let queues = LineChart { Amount.decimal($0) }
    private let queueLegend = [
        ChartLegend(localized("Loads"), .blue), ChartLegend(localized("Waiting to be decoded"), .orange),
        ChartLegend(localized("Transfers"), .green),
    ]
    private let decoding = ObjectPointer.column(spacing: 12)
    private var decodingRows: [String: BarRow] = [:]
    private let noDecoding = ObjectPointer.label(localized("No images decoded yet."), "dim-label")
    private let throughput = LineChart { Amount.bytes(Int($0)) + "/s" }
    private let throughputNote = ObjectPointer.label("", "caption", "numeric")

    init(session: GallerySession) {
        meter = StatisticsMeter(session: session)
        shareLegend = Dictionary(
            uniqueKeysWithValues: LoadSource.allCases.map { ($0, ChartLegend($0.title, $0.color)) })
        let empty = ObjectPointer(adw_status_page_new()).set("icon-name", "power-profile-performance-symbolic")
            .set("title", localized("No loads yet")).set(
                "description", localized("Open images to see what the caches save."))
        gtk_stack_add_named(widget.opaque, empty.widget, "empty")
        gtk_stack_add_named(
            widget.opaque,
            ObjectPointer.scrolling(.clamped(makeContent().margins(horizontal: 12, vertical: 18), width: 640)).widget,
            "charts")
        meter.onChange = { [weak self] in self?.update() }
        widget.onSignal("map") { [weak self] in
            self?.update()
            self?.meter.start()
        }
        widget.onSignal("unmap") { [weak self] in self?.meter.stop() }
    }

    private func makeContent() -> ObjectPointer {
        let reset = ObjectPointer.button(localized("_Reset")) { [weak self] in self?.meter.reset() }
            .aligned(GTK_ALIGN_END, GTK_ALIGN_START)
        gtk_widget_set_tooltip_text(reset.widget, localized("Forget the loads so far"))
        let rate = ObjectPointer.column([hitRate, hitRateNote]).expanding(vertically: false)
        return .column(
            spacing: 18,
            [
                .row(spacing: 12, [rate, reset]),
                Self.card(
                    localized("Where images came from"), localized("The latest loads, from left to right"),
                    [shares.widget] + LoadSource.allCases.compactMap { shareLegend[$0]?.widget }),
                Self.card(
                    localized("Bytes in the caches"), localized("Used, of the limit"),
                    [memory.widget, disk.widget, pixels.widget]),
                Self.card(
                    localized("Work in progress"), localized("The last minute with activity"),
                    [queues.widget] + queueLegend.map(\.widget)),
                Self.card(
                    localized("Decoding time"),
                    localized("Median (bar) and 95th percentile (light bar)"),
                    [decoding, noDecoding]),
                Self.card(
                    localized("Throughput"), localized("Bytes from servers, in the minute before the last transfer"),
                    [throughput.widget, throughputNote]),
            ])
    }

    private static func card(_ title: String, _ note: String, _ children: [ObjectPointer]) -> ObjectPointer {
        let content = ObjectPointer.column(spacing: 8, children).margins(12)
        let card = ObjectPointer.column([content]).style("card")
        let heading = ObjectPointer.column([.label(title, "heading"), .label(note, "dim-label", "caption")])
        return .column(spacing: 6, [heading, card])
    }

    // MARK: Values

    private func update() {
        let statistics = meter.statistics
        gtk_stack_set_visible_child_name(widget.opaque, statistics.loadCount == 0 ? "empty" : "charts")
        guard statistics.loadCount > 0 else { return }
        show(statistics)
        show(meter.sizes)
        showQueues(meter.queues)
    }

    private func show(_ statistics: LoadStatistics) {
        hitRate.text = statistics.hitRate.map(Amount.percent) ?? "–"
        hitRateNote.text =
            statistics.hitRate == nil
            ? localized("No image has been loaded from a server yet.")
            : localized("of the images from servers came from a cache")
        for source in LoadSource.allCases {
            let count = statistics.counts[source, default: 0]
            let share = Amount.percent(Double(count) / Double(statistics.loadCount))
            shareLegend[source]?.show(
                counted("{count} load, {share}", "{count} loads, {share}", count: count, ["share": share]),
                isVisible: count > 0)
        }
        shares.show(statistics.steps)
        shares.describe(
            localized(
                "Where images came from: {list}",
                [
                    "list": LoadSource.allCases.filter { statistics.counts[$0] != nil }.map {
                        counted(
                            "{source} {count} load", "{source} {count} loads", count: statistics.counts[$0, default: 0],
                            ["source": $0.title])
                    }.joined(separator: ", ")
                ]))
        show(statistics.formats)
        throughput.show([LineChart.Line(color: .blue, values: statistics.throughput)])
        let peak = statistics.throughput.max() ?? 0
        let text =
            peak == 0
            ? localized("No transfers yet.")
            : localized(
                "{total} in total, at a peak of {rate}",
                ["total": Amount.bytes(statistics.wireByteCount), "rate": Amount.rate(peak)])
        throughputNote.text = text
        throughput.describe(localized("Throughput: {text}", ["text": text]))
    }

    private func show(_ formats: [LoadStatistics.FormatTime]) {
        let longest = max(formats.map(\.high).max() ?? 0, 1e-6)
        for name in Set(decodingRows.keys).subtracting(formats.map(\.name)) {
            if let row = decodingRows.removeValue(forKey: name) { gtk_box_remove(decoding.as(), row.widget.widget) }
        }
        for format in formats {
            let row = decodingRows[format.name] ?? BarRow(format.name, .orange)
            if decodingRows.updateValue(row, forKey: format.name) == nil { decoding.append(row.widget) }
            row.show(
                localized(
                    "{median}, 95 %: {high}",
                    ["median": Amount.duration(format.median), "high": Amount.duration(format.high)]),
                format.median / longest, light: format.high / longest,
                detail: counted("{count} image", "{count} images", count: format.count))
        }
        decoding.isVisible = !formats.isEmpty
        noDecoding.isVisible = formats.isEmpty
    }

    private func show(_ sizes: TierSizes) {
        memory.show(sizes.memory, of: sizes.memoryLimit)
        disk.show(Int(sizes.disk), of: sizes.diskLimit.map { Int($0) })
        pixels.show(Int(sizes.pixels), of: sizes.pixelLimit.map { Int($0) })
    }

    private func showQueues(_ samples: [QueueSample]) {
        let values = [samples.map(\.loads), samples.map(\.decoding), samples.map(\.transfers)]
        let colors: [ChartColor] = [.blue, .orange, .green]
        queues.show(
            zip(colors, values).map { LineChart.Line(color: $0, values: $1.map { Double($0) }) })
        for (legend, values) in zip(queueLegend, values) {
            legend.show(
                localized("now {now}, peak {peak}", ["now": values.last ?? 0, "peak": values.max() ?? 0]),
                isVisible: true)
        }
        queues.describe(
            localized(
                "Work in progress: {list}",
                [
                    "list": zip(queueLegend, values).map {
                        localized(
                            "{title} {now}, peak {peak}",
                            ["title": $0.title, "now": $1.last ?? 0, "peak": $1.max() ?? 0])
                    }.joined(separator: "; ")
                ]))
    }
}

/// A line of a legend: a color, what it stands for, and a value.
@MainActor final class ChartLegend {
    let widget: ObjectPointer
    let title: String
    private let value = ObjectPointer.label("", "numeric", "dim-label").set("xalign", 1.0)

    init(_ title: String, _ color: ChartColor) {
        self.title = title
        let name = ObjectPointer.label(title).expanding(vertically: false)
        widget = .row(spacing: 8, [ColorSwatch(color).widget, name, value])
    }

    func show(_ text: String, isVisible: Bool) {
        if value.text != text { value.text = text }
        widget.isVisible = isVisible
    }
}

/// A title, a value and a bar.
@MainActor final class BarRow {
    let widget: ObjectPointer
    private let title: String
    private let value = ObjectPointer.label("", "numeric", "caption").set("xalign", 1.0)
    private let detail = ObjectPointer.label("", "dim-label", "caption")
    private let bar: BarChart

    init(_ title: String, _ color: ChartColor) {
        self.title = title
        bar = BarChart(color)
        let name = ObjectPointer.label(title).expanding(vertically: false)
        widget = .column(spacing: 4, [.row(spacing: 8, [name, value]), bar.widget, detail])
    }

    /// - Parameters:
    ///   - fraction: of the bar, and of the lighter one behind it, from 0 to 1.
    ///   - detail: a line below the bar.
    func show(_ text: String, _ fraction: Double, light: Double = 0, detail: String = "") {
        if value.text != text { value.text = text }
        if self.detail.text != detail { self.detail.text = detail }
        self.detail.isVisible = !detail.isEmpty
        bar.show(fraction, light: light)
        bar.describe("\(title): \(text)")
    }

    /// Shows bytes.
    func show(_ count: Int, of limit: Int?) {
        bar.widget.isVisible = limit != nil
        guard let limit, limit > 0 else { return show(localized("{size}, no limit", ["size": Amount.bytes(count)]), 0) }
        show(
            localized("{part} of {whole}", ["part": Amount.bytes(count), "whole": Amount.bytes(limit)]),
            Double(count) / Double(limit))
    }
}
