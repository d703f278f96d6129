import CWebImageAdwaita
import CWebImageGTK
import GTKObjects
import WebImageGTK

/// The bars of a load: an axis, and a row for each bar with its title, its duration and what happened.
///
/// The rows are those of a list, so that the keyboard and assistive technologies reach each of them.
@MainActor final class TraceChart {
    let widget: ObjectPointer
    private let list = ObjectPointer(gtk_list_box_new()).style("boxed-list")

    init(_ timeline: TraceTimeline) {
        let title = ObjectPointer.label(localized("Timeline"), "heading")
        let note = ObjectPointer.label(
            timeline.hasJoined
                ? localized("This load joined work that was already in progress") : localized("Time since the start"),
            "dim-label", "caption")
        widget = .column(spacing: 6, [title, note, list])
        gtk_list_box_set_selection_mode(list.opaque, GTK_SELECTION_NONE)
        list.setAccessibleLabel(localized("Timeline"))
        append(TraceAxis(timeline).widget, label: Self.axisLabel(timeline))
        for bar in timeline.bars { append(Self.row(bar, timeline), label: Self.label(bar)) }
    }

    private func append(_ child: ObjectPointer, label: String) {
        let row = ObjectPointer(gtk_list_box_row_new())
        gtk_list_box_row_set_child(row.as(), child.widget)
        gtk_list_box_row_set_activatable(row.as(), 0)
        row.setAccessibleLabel(label)
        gtk_list_box_append(list.opaque, row.widget)
    }

    private static func row(_ bar: TraceTimeline.Bar, _ timeline: TraceTimeline) -> ObjectPointer {
        let title = ObjectPointer.label(bar.title, bar.level == 0 ? "heading" : "caption-heading").expanding(
            vertically: false)
        let duration = ObjectPointer.label(bar.duration > 0 ? Amount.duration(bar.duration) : "", "caption", "numeric")
        let row = ObjectPointer.column(
            spacing: 4, [.row(spacing: 6, [title, duration]), TraceBarView(bar, timeline).widget])
        if !bar.fact.isEmpty { row.append(.label(bar.fact, "caption", "dim-label")) }
        row.set("margin-start", 12 + 12 * bar.level).set("margin-end", 12).margins(vertical: 8)
        gtk_widget_set_tooltip_text(row.widget, tooltip(bar))
        return row
    }

    /// The exact times.
    static func tooltip(_ bar: TraceTimeline.Bar) -> String {
        let values = ["title": bar.title, "start": Amount.duration(bar.start), "time": Amount.duration(bar.duration)]
        return bar.duration > 0
            ? localized("{title}: at {start}, for {time}", values) : localized("{title}: at {start}", values)
    }

    /// The text for assistive technologies.
    static func label(_ bar: TraceTimeline.Bar) -> String { tooltip(bar) + (bar.fact.isEmpty ? "" : ". " + bar.fact) }

    private static func axisLabel(_ timeline: TraceTimeline) -> String {
        localized(
            "From {start} to {end}",
            ["start": Amount.duration(timeline.start), "end": Amount.duration(timeline.end)])
    }
}

/// Places times in the width of a widget. All rows have the same axis, however far they are indented.
private struct TraceScale {
    let timeline: TraceTimeline
    let width: Double

    func position(_ time: Double) -> Double {
        (time - timeline.start) / (timeline.end - timeline.start) * width
    }
}

/// The times at the top.
@MainActor private final class TraceAxis: Canvas {
    private let timeline: TraceTimeline

    init(_ timeline: TraceTimeline) {
        self.timeline = timeline
        super.init(role: GTK_ACCESSIBLE_ROLE_PRESENTATION)
        widget.style("caption").style("numeric").margins(horizontal: 12, vertical: 6)
    }

    override func measure(_ orientation: GtkOrientation, for length: Int) -> (least: Int, natural: Int) {
        orientation == GTK_ORIENTATION_HORIZONTAL ? (100, 200) : (Int(lineHeight) + 4, Int(lineHeight) + 4)
    }

    override func draw(into snapshot: OpaquePointer) {
        let scale = TraceScale(timeline: timeline, width: Double(width))
        for tick in timeline.ticks(atMost: max(1, width / 80)) {
            let x = scale.position(tick)
            fill(x, Double(height) - 4, 1, 4, dimTextColor(), in: snapshot)
            drawText(Amount.duration(tick), x: x, y: 0, anchor: 0.5, dimTextColor(0.8), in: snapshot)
        }
    }
}

/// The bar of a row.
@MainActor private final class TraceBarView: Canvas {
    private let bar: TraceTimeline.Bar
    private let timeline: TraceTimeline

    init(_ bar: TraceTimeline.Bar, _ timeline: TraceTimeline) {
        (self.bar, self.timeline) = (bar, timeline)
        super.init(role: GTK_ACCESSIBLE_ROLE_PRESENTATION)
    }

    override func measure(_ orientation: GtkOrientation, for length: Int) -> (least: Int, natural: Int) {
        orientation == GTK_ORIENTATION_HORIZONTAL ? (80, 200) : (10, 10)
    }

    override func draw(into snapshot: OpaquePointer) {
        let inset = Double(12 * bar.level)
        let scale = TraceScale(timeline: timeline, width: Double(width) + inset)
        let place = { (time: Double) in scale.position(time) - inset }
        let height = Double(height)
        fill(0, height / 2, Double(width), 1, dimTextColor(0.15), in: snapshot)
        if timeline.hasJoined { fill(place(0), 0, 1, height, dimTextColor(), in: snapshot) }
        // A decision takes no time, and is visible nevertheless.
        let length = max(4, place(bar.end) - place(bar.start))
        let start = min(max(place(bar.start), 0), Double(width) - length)
        fill(max(0, start), 0, min(length, Double(width)), height, color(bar.kind.color), radius: 3, in: snapshot)
    }
}
